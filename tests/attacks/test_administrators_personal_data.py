"""Attack: code of the project, in a reader's session, looks for addresses, tokens, sessions and factors of administrators.

The role of readers reads none of these tables. What they hold must be of no use to who has a dump or a copy of the database either.
"""

import hashlib
import json
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field

import pyotp
import pytest

from tests.attacks.probe import run_sql, superuser_url
from tests.attacks.test_administrators_sql import Program
from tests.platform import Platform

_PASSWORD = "a long enough password"
_TRAP = """
create function public.stolen() returns text language plpgsql as $$
declare
  stolen text := current_user;
  name text;
  part text;
begin
  for name in
    select c.oid::regclass::text from pg_class as c where c.relnamespace = 'headwater'::regnamespace and c.relkind = 'r'
  loop
    execute format('select string_agg(t::text, E''\\n'') from (select * from %s order by ctid desc limit 200) as t', name) into part;
    stolen := concat(stolen, E'\\n', name, E'\\n', part);
  end loop;
  return stolen;
end $$;
create view public.trap as select 1 as id, public.stolen() as stolen
"""
_TABLES = "select relname from pg_class where relnamespace = 'headwater'::regnamespace and relkind = 'r'"


@dataclass
class Victim:
    """An administrator who signed in with a password and an authenticator app; `secrets`: what must not be read, by its kind."""

    target: Platform
    email: str = field(default_factory=lambda: f"Ada.{uuid.uuid4().hex}@Example.com")
    user_agent: str = field(default_factory=lambda: f"Browser {uuid.uuid4().hex}")
    cookie: str = ""
    id: str = ""
    secrets: dict[str, str] = field(default_factory=dict)

    def post(self, path: str, body: object) -> tuple[int, dict[str, object]]:
        """Send a request from the victim's browser; return status and answer."""
        request = urllib.request.Request(
            f"{self.target.url}/management/v1{path}",
            json.dumps(body).encode(),
            {
                "origin": self.target.url,
                "content-type": "application/json",
                "user-agent": self.user_agent,
                "cookie": self.cookie,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                if cookie := response.headers.get("set-cookie"):
                    self.cookie = cookie.partition(";")[0]
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def run(self, operation: str, **arguments: object) -> dict[str, object]:
        """Run an operation, which must succeed."""
        status, answer = self.post(f"/operations/{operation}", arguments)
        assert status == 200, answer
        return answer

    def sign_in(self) -> None:
        """Leave every kind of row: a link, a session, a password, an app, codes, a token, a dismissal, wrong attempts, audit rows."""
        done = self.target.command("admin", "add", self.email, "--rights", "owner")
        assert done.returncode == 0, done.stderr
        self.secrets["unused link"] = done.stdout.strip().rpartition("#")[2]
        again = self.target.command("admin", "reset", self.email)
        assert self.post("/sign-in", {"link": again.stdout.strip().rpartition("#")[2]})[0] == 200
        self.id = str(self.run("account.me")["administrator_id"])
        self.run("account.set_password", password=_PASSWORD)
        self.secrets["app"] = str(self.run("factors.enrol_totp")["secret"])
        added = self.run("factors.confirm_totp", code=pyotp.TOTP(self.secrets["app"]).now())
        codes = added["recovery_codes"]
        assert isinstance(codes, list)
        self.secrets["recovery code"] = codes[0]
        self.secrets["token"] = str(
            self.run("tokens.create", name="ci", rights="owner", may_write=True)["secret"]
        )
        self.run("advisors.dismiss", cache_key="meant_so", reason="it is meant so")
        self.secrets["session"] = self.cookie.partition("=")[2]
        assert self.post("/sign-in", {"email": self.email, "password": "wrong password"})[0] == 401


@pytest.fixture(scope="module")
def victim(target: Platform) -> Victim:
    """An administrator whose data the attacks look for."""
    administrator = Victim(target)
    administrator.sign_in()
    return administrator


@pytest.fixture(scope="module")
def stolen(target: Platform, victim: Victim) -> str:
    """All rows of schema headwater, as they are in a dump of the database."""
    tables = run_sql(superuser_url(target), _TABLES).stdout.split()
    return "\n".join(
        run_sql(superuser_url(target), f"select t::text from headwater.{name} as t").stdout for name in tables
    )


def test_code_in_a_readers_session_reads_no_table_of_administrators(target: Platform) -> None:
    """A function of a view, which runs with the rights of whoever reads the view."""
    programs = []
    for rights in ("developer", "reader"):
        done = target.command("admin", "token", f"t{uuid.uuid4().hex[:8]}", "--rights", rights, "--write")
        programs.append(Program(target.url, done.stdout.strip().splitlines()[-1]))
    developer, reader = programs
    assert developer.call("sql.run", sql=_TRAP, read_only=False)[0] == 200
    status, answer = reader.call("sql.run", sql="select stolen from public.trap")

    assert (status, answer["code"]) == (403, "42501"), answer
    assert "permission denied for table" in answer["message"]


def test_a_dump_has_no_address_and_no_secret_of_administrators(victim: Victim, stolen: str) -> None:
    assert victim.id in stolen  # the rows are there
    assert "account.set_password" in stolen
    small = stolen.lower()
    for kind, value in (
        *victim.secrets.items(),
        ("address", victim.email),
        ("name", victim.email.partition("@")[0]),
        ("user agent", victim.user_agent),
        ("network", "127.0.0.1"),
        ("password hash", "argon2"),
    ):
        assert value.lower() not in small, kind


def test_no_address_can_be_guessed_from_a_digest(victim: Victim, stolen: str) -> None:
    name, network = victim.email.lower(), "127.0.0.1"
    for guess in (
        name,
        network,
        f"email:{name}",
        f"email:{name}:{network}",
        f"network:{network}",
        victim.secrets["app"],
    ):
        for algorithm in (hashlib.sha256, hashlib.md5, hashlib.sha512):
            assert algorithm(guess.encode()).hexdigest() not in stolen, guess


def test_a_stored_digest_opens_nothing(victim: Victim, stolen: str) -> None:
    digest = hashlib.sha256(victim.secrets["token"].encode()).hexdigest()
    assert digest in stolen  # of 160 random bits: it is looked up, and cannot be reversed

    for token in (digest, f"sbp_{digest[:40]}"):
        assert Program(victim.target.url, token).call("account.me")[0] == 401
    session = hashlib.sha256(victim.secrets["session"].encode()).hexdigest()
    intruder = Victim(victim.target, cookie=f"headwater_session={session}")
    assert intruder.post("/operations/account.me", {})[0] == 401
    assert (
        intruder.post(
            "/sign-in", {"link": hashlib.sha256(victim.secrets["unused link"].encode()).hexdigest()}
        )[0]
        == 401
    )


def test_owners_still_see_who_did_what(victim: Victim) -> None:
    rows = victim.run("audit.list", limit=200)["rows"]

    assert isinstance(rows, list)
    signed_in = [row for row in rows if row["operation"] == "sign_in" and row["actor"] == victim.email]
    assert {(row["outcome"], row["address"], row["arguments"]["user_agent"]) for row in signed_in} == {
        ("done", "127.0.0.1", victim.user_agent),
        ("invalid_credentials", "127.0.0.1", victim.user_agent),
    }
    emails = [row["email"] for row in victim.run("administrators.list")]  # type: ignore[call-overload]  # a list of objects
    assert victim.email in emails
