"""Branches of a running platform: nothing of one is seen in the other, and a branch sends nothing in its parent's name.

One parent with a mail server, webhooks, jobs and an object store's receiver, all listeners of the test; one branch of it, made while rows are
written, and started under the parent's environment.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest

from tests.platform import Platform, headwater, platform, state_of
from tests.platforms.test_schedules import Listener
from tests.workers.management.operations.conftest import administrator
from workers.auth.model.vault import CannotOpen, SealPurpose, read_vault

pytestmark = [pytest.mark.process_group("branches"), pytest.mark.timeout(300)]

_WAIT_S = 60.0
_SCHEMA = """
create extension if not exists pg_cron; create extension if not exists pg_net;
create table public.notes (id int primary key, text text);
create table public.firsts (id int primary key); create table public.seconds (id int primary key);
create table public.ticks (at timestamptz default clock_timestamp());
create index on public.seconds (id desc);
grant select on public.notes to anon;
insert into public.notes select number, 'before' from generate_series(1, 10) as number;
select vault.create_secret('s3cret', 'third-party');
create function public.tell() returns trigger language plpgsql as
  $$begin perform net.http_post('LISTENER/row', jsonb_build_object('text', new.text)); return new; end$$;
create trigger tell after insert on public.notes for each row execute function public.tell();
select cron.schedule('tick', '1 seconds', 'insert into public.ticks default values');
"""


class MailServer:
    """Counts who connects, and says nothing: a mail that is sent here is never delivered."""

    def __init__(self) -> None:
        self.connections = 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                self.connections += 1
                connection.close()


@dataclass(frozen=True)
class Pair:
    """A platform and its branch; what was acknowledged when the branch's creation began; the receivers of the parent."""

    parent: Platform
    branch: Platform
    acknowledged: int
    signed_up: dict[str, Any]
    authenticator: dict[str, Any]
    """A factor of the user, with its secret."""
    mails: MailServer
    posts: Listener


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    mails, posts = MailServer(), Listener()
    environment = {
        "HEADWATER_AUTH_EMAIL_SMTP_HOST": "127.0.0.1",
        "HEADWATER_AUTH_EMAIL_SMTP_PORT": str(mails.port),
        "HEADWATER_AUTH_EMAIL_SMTP_ADMIN_EMAIL": "parent@example.com",
        "HEADWATER_STORAGE_WEBHOOK_URL": f"{posts.url}/storage",
        "HEADWATER_NET_ALLOW": posts.url.removeprefix("http://"),
        "HEADWATER_AUTH_EMAIL_ENABLE_CONFIRMATIONS": "false",
    }
    with platform(environment=environment) as parent:
        parent.psql(_SCHEMA.replace("LISTENER", posts.url))
        parent.wait_for_catalog("notes")
        _call(parent, "POST", "/storage/v1/bucket", {"name": "files", "public": True})
        _call(parent, "POST", "/storage/v1/object/files/old", b"of the parent" * 1000)
        signed_up = _call(
            parent, "POST", "/auth/v1/signup", {"email": "a@example.com", "password": "a long password"}
        )
        authenticator = _enrolled(parent, signed_up["access_token"])
        _subscribe(parent)
        owner = administrator(parent, "owner", "--rights", "owner", "--write")
        owner.run("settings.change", version=0, values={"api.max_rows": 3})
        with _writer(parent) as acknowledged:
            _until(lambda: acknowledged() > 50)
            began_with = acknowledged()
            _command(parent, environment, "branch", "create", "preview")
        _command(
            parent,
            environment,
            "start",
            "--branch",
            "preview",
            "--detach",
            "--project",
            str(parent.data.parent),
        )
        data = parent.data / "branches" / "preview"
        try:
            pid, values = state_of(data)
            branch = Platform(data, int(values["API_URL"].rpartition(":")[2]), pid, values, environment)
            branch.wait_for_catalog("notes")
            yield Pair(parent, branch, began_with, signed_up, authenticator, mails, posts)
        finally:
            headwater("stop", "--data", str(data))
            mails.server.close()
            posts.server.shutdown()
            posts.server.server_close()


def _enrolled(one: Platform, access_token: str) -> dict[str, Any]:
    """Begin to use an authenticator app, and return the factor with its secret."""
    headers = {
        "apikey": one.values["ANON_KEY"],
        "Authorization": f"Bearer {access_token}",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(f"{one.url}/auth/v1/factors", b'{"factor_type": "totp"}', headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


def _subscribe(one: Platform) -> None:
    """Make a subscription as a superuser, which reads another server's slot."""
    password = json.loads((one.data / "passwords.json").read_text())["database"]
    place = urlsplit(one.values["DB_URL"]).netloc.rpartition("@")[2]
    with psycopg.connect(
        f"postgresql://supabase_admin:{password}@{place}/postgres", autocommit=True
    ) as connection:
        connection.execute(
            "create subscription theirs connection 'host=127.0.0.1 port=1 dbname=x' publication x with (connect = false)"
        )


def _command(parent: Platform, environment: Mapping[str, str], *words: str) -> str:
    done = headwater(*words, "--data", str(parent.data), environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def _writer(parent: Platform) -> Iterator[Callable[[], int]]:
    """Write pairs of rows, each in one transaction, until the block ends; yield what returns the last acknowledged one."""
    last, stop = [0], threading.Event()

    def write() -> None:
        with psycopg.connect(parent.values["DB_URL"], autocommit=False) as connection:
            while not stop.is_set():
                number = last[0] + 1
                connection.execute("insert into public.firsts values (%s)", (number,))
                connection.execute("insert into public.seconds values (%s)", (number,))
                connection.commit()
                last[0] = number

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield lambda: last[0]
    finally:
        stop.set()
        thread.join()


def _call(one: Platform, method: str, path: str, body: object = None, key: str = "SERVICE_ROLE_KEY") -> Any:
    status, answer = _status(one, method, path, body, one.values[key])
    assert status < 300, (path, status, answer)
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def _status(one: Platform, method: str, path: str, body: object, key: str) -> tuple[int, bytes]:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    kind = "text/plain" if isinstance(body, bytes) else "application/json"
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": kind}
    request = urllib.request.Request(one.url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # between two looks at the condition; `_WAIT_S` ends it


def _value(one: Platform, sql: str) -> str:
    done = one.command("psql", "-Atc", sql)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_copy_of_a_database_under_load_is_of_one_moment(pair: Pair):
    firsts, highest = map(int, _value(pair.branch, "select count(*), max(id) from firsts").split("|"))
    seconds = _value(pair.branch, "select count(*), max(id), sum(id) from seconds")
    by_index = _value(
        pair.branch, "set enable_seqscan = off; select count(*), max(id), sum(id) from seconds where id > 0"
    )

    assert firsts == highest >= pair.acknowledged
    assert seconds == by_index.splitlines()[-1]
    assert seconds.startswith(f"{firsts}|{highest}|")


def test_rows_of_one_are_not_seen_in_the_other(pair: Pair):
    pair.parent.psql("insert into notes values (100, 'parent')")
    pair.branch.psql(
        "insert into notes values (101, 'branch'); update notes set text = 'changed' where id = 1"
    )

    assert (
        _value(pair.parent, "select id, text from notes where id in (1, 100, 101) order by id")
        == "1|before\n100|parent"
    )
    assert (
        _value(pair.branch, "select id, text from notes where id in (1, 100, 101) order by id")
        == "1|changed\n101|branch"
    )


def test_files_are_shared_until_one_changes_them(pair: Pair):
    stored = [path for path in (pair.parent.data / "storage" / "objects").rglob("*") if path.is_file()]
    path = "/storage/v1/object/files/"

    assert {file.stat().st_nlink for file in stored} == {2}
    assert _call(pair.branch, "GET", f"{path}old") == b"of the parent" * 1000
    _call(pair.branch, "PUT", f"{path}old", b"of the branch")
    _call(pair.branch, "POST", f"{path}new", b"only in the branch")
    assert _call(pair.branch, "GET", f"{path}old") == b"of the branch"
    assert _call(pair.parent, "GET", f"{path}old") == b"of the parent" * 1000
    assert _status(pair.parent, "GET", f"{path}new", None, pair.parent.values["SERVICE_ROLE_KEY"])[0] in (
        400,
        404,
    )
    _call(pair.parent, "DELETE", f"{path}old")
    assert _call(pair.branch, "GET", f"{path}old") == b"of the branch"


def test_keys_tokens_and_sessions_of_the_parent_are_refused(pair: Pair):
    parent, branch = pair.parent.values, pair.branch.values
    for name in ("SERVICE_ROLE_KEY", "ANON_KEY", "SECRET_KEY", "PUBLISHABLE_KEY"):
        assert _status(pair.branch, "GET", "/rest/v1/notes", None, parent[name])[0] == 401, name
        assert _status(pair.parent, "GET", "/rest/v1/notes", None, branch[name])[0] == 401, name
    refreshed = _status(
        pair.branch, "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": pair.signed_up["refresh_token"]},
        branch["ANON_KEY"],
    )  # fmt: skip

    assert refreshed[0] == 400
    assert _value(pair.branch, "select count(*) from auth.sessions") == "0"
    passwords = [json.loads((one.data / "passwords.json").read_text()) for one in (pair.parent, pair.branch)]
    assert not {*passwords[0].values()} & {*passwords[1].values()}
    assert not {
        parent[name] for name in ("JWT_SECRET", "S3_PROTOCOL_ACCESS_KEY_ID", "DB_URL", "BROKER_URL")
    } & set(branch.values())
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(
            pair.branch.values["DB_URL"].replace(branch["DB_URL"].split(":")[2].split("@")[0], "postgres")
        )


def test_users_sign_in_with_their_passwords(pair: Pair):
    answer = _call(
        pair.branch, "POST", "/auth/v1/token?grant_type=password", {"email": "a@example.com", "password": "a long password"}, "ANON_KEY"
    )  # fmt: skip

    assert answer["user"]["email"] == "a@example.com"


def test_authenticator_apps_of_users_go_on_under_the_branchs_key(pair: Pair):
    id, secret = UUID(pair.authenticator["id"]), pair.authenticator["totp"]["secret"]
    keys = [read_vault(one.sealing_settings) for one in (pair.parent, pair.branch)]
    sealed = [
        _value(one, f"select secret from auth.mfa_factors where id = '{id}'")
        for one in (pair.parent, pair.branch)
    ]

    assert [key.open(text, id, SealPurpose.FACTOR) for key, text in zip(keys, sealed, strict=True)] == [
        secret,
        secret,
    ]
    with pytest.raises(CannotOpen):
        keys[0].open(sealed[1], id, SealPurpose.FACTOR)


def test_subscriptions_of_the_parent_are_not_the_branchs(pair: Pair):
    assert _value(pair.parent, "select count(*) from pg_stat_subscription where subname = 'theirs'") == "1"
    assert _value(pair.branch, "select count(*) from pg_stat_subscription") == "0"
    assert _value(pair.branch, "show max_logical_replication_workers") == "0"


def test_the_branch_sends_no_mail_of_the_parent(pair: Pair):
    _status(pair.parent, "POST", "/auth/v1/otp", {"email": "b@example.com"}, pair.parent.values["ANON_KEY"])
    _until(lambda: pair.mails.connections)
    pair.parent.psql("delete from auth.users where email = 'b@example.com'")
    _call(pair.branch, "POST", "/auth/v1/otp", {"email": "c@example.com"}, "ANON_KEY")
    _until(lambda: _caught(pair.branch))

    assert _caught(pair.branch) == ["c@example.com"]
    assert _says_nothing_of(pair.branch.data / "logs", str(pair.mails.port))


def _caught(one: Platform) -> list[str]:
    """Return the addresses of the mails in the mail catcher."""
    address = f"{one.values['MAILPIT_URL']}/api/v1/messages"
    with pytest.raises(urllib.error.HTTPError, match="401"):  # a function of another branch has no key
        urllib.request.urlopen(address, timeout=30)
    login = {"authorization": f"Bearer {one.values['MAILPIT_KEY']}"}
    with urllib.request.urlopen(urllib.request.Request(address, headers=login), timeout=30) as answer:
        return [mail["To"][0]["Address"] for mail in json.loads(answer.read())["messages"]]


def _says_nothing_of(logs: Path, text: str) -> bool:
    return not any(text in path.read_text(errors="replace") for path in logs.iterdir())


def test_the_branch_runs_no_job_and_sends_no_webhook_of_the_parent(pair: Pair):
    _until(lambda: not pair.posts.heard.empty())  # that of the parent's upload
    ticks = _value(pair.branch, "select count(*) from ticks")
    pair.branch.psql("insert into notes values (200, 'said by the branch')")
    _call(pair.branch, "POST", "/storage/v1/object/files/silent", b"of the branch")
    pair.parent.psql("insert into notes values (201, 'said by the parent')")
    now = int(_value(pair.parent, "select count(*) from ticks"))
    _until(lambda: int(_value(pair.parent, "select count(*) from ticks")) > now + 2)
    heard = []
    while not any("said by the parent" in str(post) for post in heard):
        heard.append(pair.posts.next())
    heard += list(pair.posts.heard.queue)

    assert not any("said by the branch" in str(post) or "silent" in str(post) for post in heard)
    assert _value(pair.branch, "select count(*) from ticks") == ticks
    assert _value(pair.branch, "select count(*) from net.http_request_queue where url like '%/row'") != "0"
    assert _value(pair.branch, "select count(*) from cron.job") == "1"


def test_administrators_and_secrets_stay_with_the_parent_and_settings_come_along(pair: Pair):
    owner = administrator(pair.parent, "another", "--rights", "owner")
    request = urllib.request.Request(
        f"{pair.branch.url}/management/v1/operations/settings.list", b"{}",
        {"authorization": f"Bearer {owner.token}", "content-type": "application/json"},
    )  # fmt: skip
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)

    assert refused.value.code == 401
    refused.value.close()
    assert (
        len(_call(pair.branch, "GET", "/rest/v1/notes")) == 3
    )  # api.max_rows as an administrator of the parent changed it
    assert _value(pair.branch, "select count(*) from vault.secrets") == "0"
    assert _value(pair.parent, "select decrypted_secret from vault.decrypted_secrets") == "s3cret"
    assert (pair.parent.data / "postgres" / "vault.key").read_bytes() != (
        pair.branch.data / "postgres" / "vault.key"
    ).read_bytes()


def test_the_branch_is_listed_with_its_address(pair: Pair):
    listed = json.loads(_command(pair.parent, {}, "branch", "list", "-o", "json"))

    assert [(one["name"], one["is_running"], one["api_url"]) for one in listed] == [
        ("preview", True, pair.branch.url)
    ]
    assert listed[0]["shared_bytes"] > 0


def test_the_parent_keeps_nothing_of_a_copy(pair: Pair):
    assert (
        _value(
            pair.parent, "select count(*) from pg_replication_slots where slot_name like 'headwater_branch%'"
        )
        == "0"
    )
    assert not list((pair.parent.data / "branches").glob(".*-*"))


def test_a_killed_creation_leaves_nothing_that_a_branch_could_be(pair: Pair):
    argv = [
        sys.executable,
        "-m",
        "services.cli.main",
        "branch",
        "create",
        "killed",
        "--data",
        str(pair.parent.data),
    ]
    creation = subprocess.Popen(
        argv, env={**os.environ, **pair.parent.environment}, stdout=subprocess.DEVNULL
    )
    drafts = pair.parent.data / "branches"
    _until(lambda: list(drafts.glob(".making-killed-*/postgres/data/base/*/*")))
    creation.send_signal(signal.SIGKILL)
    creation.wait()
    names = [one["name"] for one in json.loads(_command(pair.parent, {}, "branch", "list", "-o", "json"))]
    _command(pair.parent, pair.parent.environment, "branch", "create", "killed")
    draft = f"{drafts}/.making-killed-{creation.pid}"
    _until(lambda: _command(pair.parent, {}, "branch", "list") and not list(drafts.glob(".*-*")))

    assert "killed" not in names
    assert not any(draft in text for text in _command_lines())
    deleted = headwater("branch", "delete", "killed", "--yes", "--data", str(pair.parent.data))
    assert "its database, its users, its files and its keys" in deleted.stdout
    assert not (drafts / "killed").exists()
    assert _call(pair.parent, "GET", "/rest/v1/notes?id=eq.1")[0]["text"] == "before"


def _command_lines() -> list[str]:
    texts = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            texts.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return texts


def test_what_cannot_be_branched_is_refused_with_a_reason(pair: Pair, tmp_path: Path):
    def refused(*words: str, **environment: str) -> str:
        done = headwater(*words, "--data", str(pair.parent.data), environment=environment)
        assert done.returncode == 2, done.stdout + done.stderr
        return done.stderr

    assert "There is a branch preview already" in refused("branch", "create", "preview")
    assert "cannot be the name" in refused("branch", "create", "main")
    assert "cannot be the name" in refused("branch", "create", "../x")
    assert "There is no branch other" in refused("status", "--branch", "other")
    assert "there are: preview" in refused("branch", "delete", "other", "--yes")
    assert "has a Postgres and a NATS server of its own" in refused(
        "start", "--branch", "preview", "--database-url", "postgresql://postgres@127.0.0.1/postgres"
    )
    nowhere = headwater("start", "--branch", "any", "--data", str(tmp_path / "none"))
    assert "There is no platform" in nowhere.stderr
    assert not (tmp_path / "none").exists()
    inner = headwater("branch", "create", "inner", "--data", str(pair.branch.data))
    assert "is a branch itself" in inner.stderr


def test_a_masked_branch_has_masks_from_its_first_start_or_is_not_made(pair: Pair):
    address = pair.signed_up["user"]["email"]
    assert pair.parent.command("history", "on", "notes").returncode == 0
    pair.parent.psql(
        f"create table public.people (address text); insert into public.people values ('{address}')"
    )

    def create(name: str, *words: str, **rules: str) -> subprocess.CompletedProcess[str]:
        environment = {"HEADWATER_BRANCHES_MASK": json.dumps(rules)}
        return headwater(
            "branch", "create", name, *words, "--data", str(pair.parent.data), environment=environment
        )

    wrong = create("masked", **{"public.people.adress": "email"})
    assert (wrong.returncode, '"public.people.adress": there is no such column' in wrong.stderr) == (2, True)
    assert not (pair.parent.data / "branches" / "masked").exists()
    made = create("masked", **{"public.people.address": "email"})
    assert made.returncode == 0, made.stderr
    assert "Masked: 1 columns, accounts" in made.stdout + made.stderr
    kept = create("kept", "--keep-accounts", **{"public.people.address": "hash"})
    assert kept.returncode == 0, kept.stderr

    named = ("--data", str(pair.parent.data), "--branch")
    for name, is_kept in (("masked", False), ("kept", True)):
        started = headwater("start", "--detach", "--pool", "none", "--edge", "none", *named, name)
        try:
            assert started.returncode == 0, started.stderr
            sql = (
                "select u.email, p.address = u.email, (select count(*) from headwater_history.versions)"
                " from public.people p, auth.users u"
            )
            [email, is_equal, versions] = (
                headwater("psql", "-Atc", sql, *named, name).stdout.strip().split("|")
            )
            assert (email == address, is_equal, versions) == (is_kept, "f" if is_kept else "t", "0")
        finally:
            headwater("stop", *named, name)
    [noted] = administrator(pair.parent, "audit", "--rights", "owner").run(
        "audit.list", operation="branches.keep_accounts"
    )["rows"]
    assert noted["after"] == {"branch": "kept", "accounts": "not masked"}


def test_a_branch_of_a_stopped_platform_is_made_by_its_first_start(tmp_path: Path):
    tmp_path.chmod(0o711)
    with platform("--pool", "none", "--edge", "none") as parent:
        parent.psql("create table notes (id int); insert into notes values (1)")
        assert parent.command("stop").returncode == 0
        environment = {"HEADWATER_BRANCH": "git"}
        project = parent.data.parent / "project"
        project.mkdir()
        for words in (("init", "-q", "-b", "main"), ("checkout", "-q", "-b", "feature/More Notes")):
            name = words[:1] + words[1:]
            subprocess.run(["git", "-C", str(project), *name[:-1], name[-1].replace(" ", "_")], check=True)
        named = ("--data", str(parent.data), "--project", str(project))
        started = headwater(
            "start", "--detach", "--pool", "none", "--edge", "none", *named, environment=environment
        )
        try:
            assert started.returncode == 0, started.stdout + started.stderr
            assert "Created the branch feature-more-notes" in started.stdout
            counted = headwater("psql", "-Atc", "select count(*) from notes", *named, environment=environment)
            assert counted.stdout.strip() == "1"
            assert [path.name for path in (parent.data / "branches").glob("[!.]*")] == ["feature-more-notes"]
            tablespace = parent.data / "postgres" / "data" / "pg_tblspc" / "16999"
            tablespace.symlink_to(tmp_path)
            refused = headwater("branch", "create", "spaces", "--data", str(parent.data))
            tablespace.unlink()
            assert refused.returncode == 2
            assert "tablespaces" in refused.stderr
            assert not list((parent.data / "branches").glob(".*-*"))
        finally:
            headwater("stop", *named, environment=environment)
            shutil.rmtree(project)
