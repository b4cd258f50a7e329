"""Attack: a role reads a secret of the platform somewhere in the database, or reads what opens a value that is stored encrypted.

Every secret that the platform makes is searched for in everything that each role can read: the rows of all relations (catalogs,
settings, sources of functions, `pg_stat_activity`), results of functions, large objects; and in what a reader gets from operations
and from metrics. It counts as found as plain text, in base64 and in hexadecimal; and so does any JWT that a key of the platform signed.
"""

import base64
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from jwt.exceptions import InvalidTokenError

from schemas.database_logins import DEVELOPER, MANAGEMENT, READER, VIEWER, login_passwords
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.tree import Db, Settings
from tests.attacks.client import Received, send
from tests.attacks.probe import as_login, run_sql, superuser_url
from tests.platform import Platform
from workers.auth.model.vault import CannotOpen, SealPurpose, read_vault
from workers.settings.sealed_values import CannotOpenSettings, SettingsSealer
from workers.storage.model.s3_keyring import sealer_of

_PASSWORD, _SMTP_PASSWORD, _FUNCTION_SECRET = (
    f"{name}-{uuid.uuid4().hex}" for name in ("user", "smtp", "function")
)
_NOT_RUN = ("logs.tail",)
"""Operations that wait."""
_JWT = re.compile(r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}")
_READERS = ("supabase_read_only_user", "anon", "authenticated", "service_role", "postgres")
"""Roles whose SQL is run by clients, readers and agents; the login of each is in `login_of`."""

_READ_ALL = r"""
\set ON_ERROR_STOP off
\set VERBOSITY terse
set role {role};
set statement_timeout = '60s';
select pg_catalog.format('select pg_catalog.to_jsonb(t) from (select %s from %I.%I) as t',
  pg_catalog.string_agg(pg_catalog.format('%I', a.attname), ', '), n.nspname, c.relname)
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
join pg_catalog.pg_attribute as a on a.attrelid = c.oid and (a.attnum > 0 or a.attname in ('oid')) and not a.attisdropped
where c.relkind in ('r', 'v', 'm', 'p', 'f', 't')
  and pg_catalog.has_schema_privilege(n.oid, 'usage')
  and pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')
group by n.nspname, c.relname
\gexec
select pg_catalog.format('select pg_catalog.to_jsonb(t) from %I.%I() as t', n.nspname, p.proname)
from pg_catalog.pg_proc as p join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
where n.nspname in ('headwater', 'auth', 'storage', 'vault', 'realtime', 'graphql', 'extensions', 'net', 'cron', 'public')
  and p.pronargs = 0 and p.prokind = 'f'
  and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'void'::regtype)
  and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_function_privilege(p.oid, 'execute')
\gexec
select pg_catalog.encode(pg_catalog.lo_get(oid), 'hex') from pg_catalog.pg_largeobject_metadata;
select name, pg_catalog.current_setting(name, true) from (
  select pg_catalog.split_part(pg_catalog.unnest(setconfig), '=', 1) as name from pg_catalog.pg_db_role_setting
  union values ('app.settings.jwt_secret'), ('pgrst.jwt_secret'), ('request.jwt.claims')) as s;
show all;
"""


@dataclass
class PlatformSecrets:
    """Secrets of a running platform by name, and the token of a program with the rights of a reader."""

    secrets: dict[str, str]
    reader: str


@pytest.fixture(scope="module")
def planted(target: Platform) -> Iterator[PlatformSecrets]:
    """Have the platform make every kind of secret, and return all of them."""
    tokens = {rights: _administrator_token(target, rights) for rights in ("owner", "reader")}
    email = f"{uuid.uuid4().hex[:8]}@example.com"
    added = target.command("admin", "add", email)
    assert added.returncode == 0, added.stderr
    link = re.findall(r"https?://\S+", added.stdout)[-1]
    _change(target, tokens["owner"], {"auth.email.smtp.pass": _SMTP_PASSWORD})
    assert target.command("secrets", "set", f"PLANTED={_FUNCTION_SECRET}").returncode == 0
    pair = json.loads(target.command("storage", "keys", "create", "-o", "json").stdout)
    yield PlatformSecrets(
        {
            **_stored_secrets(target),
            **_user_secrets(target),
            **{f"token of an administrator ({rights})": token for rights, token in tokens.items()},
            "link of an administrator": re.split(r"[=/#?]", link)[-1],
            "password of the mail server": _SMTP_PASSWORD,
            "secret of functions": _FUNCTION_SECRET,
            "secret of an S3 key": pair["secret_access_key"],
        },
        tokens["reader"],
    )
    target.command("storage", "keys", "delete", pair["access_key_id"])
    target.command("secrets", "unset", "PLANTED")
    target.command("admin", "remove", email)
    _operate(
        target,
        tokens["owner"],
        "settings.reset",
        version=_version(target, tokens["owner"]),
        keys=["auth.email.smtp.pass"],
    )


def _stored_secrets(target: Platform) -> dict[str, str]:
    """Return the secrets of the data folder and of the settings."""
    secrets = {
        f"password of {name}": text
        for name, text in json.loads((target.data / "passwords.json").read_text()).items()
    }
    for path in (target.data / "sealing.key", *target.data.rglob("vault.key")):
        if path.exists():
            secrets |= {f"{path.name} {number}": line for number, line in enumerate(path.read_text().split())}
    names = ("JWT_SECRET", "SERVICE_ROLE_KEY", "SECRET_KEY", "S3_PROTOCOL_ACCESS_KEY_SECRET")
    secrets |= {name: target.values[name] for name in names if target.values.get(name)}
    return {name: text for name, text in secrets.items() if len(text) >= 16}


def _user_secrets(target: Platform) -> dict[str, str]:
    """Sign a user up, enrol a second factor and make links; return the secrets of all of it."""
    email = f"{uuid.uuid4().hex}@example.com"
    session = _ok(send(target, "POST", "/auth/v1/signup", {"email": email, "password": _PASSWORD}))
    bearer = {"authorization": f"Bearer {session['access_token']}"}
    factor = _ok(send(target, "POST", "/auth/v1/factors", {"factor_type": "totp"}, bearer))
    made = _ok(
        send(
            target, "POST", "/auth/v1/admin/generate_link", {"type": "recovery", "email": email},
            {"authorization": f"Bearer {target.values['SERVICE_ROLE_KEY']}"}, key="SERVICE_ROLE_KEY",
        )
    )  # fmt: skip
    link = parse_qs(urlsplit(made["action_link"]).query)["token"][0]
    return {
        "password of a user": _PASSWORD,
        "access token": session["access_token"],
        "refresh token": session["refresh_token"],
        "secret of an authenticator app": factor["totp"]["secret"],
        "one-time link": link,
    }


def _ok(answer: Received) -> Any:
    assert answer.status < 300, answer.body
    return answer.json


def _administrator_token(target: Platform, rights: str) -> str:
    done = target.command("admin", "token", f"t{uuid.uuid4().hex[:8]}", "--rights", rights, "--write")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def _operate(target: Platform, token: str, name: str, **arguments: object) -> Any:
    answer = send(
        target, "POST", f"/management/v1/operations/{name}", arguments, {"authorization": f"Bearer {token}"}
    )
    return _ok(answer)


def _version(target: Platform, token: str) -> int:
    return int(_operate(target, token, "settings.list", prefix="auth.email.smtp")["version"])


def _change(target: Platform, token: str, values: dict[str, object]) -> None:
    _operate(target, token, "settings.change", version=_version(target, token), values=values)


def login_of(target: Platform, role: str) -> str:
    """Return the URL of the login that runs the SQL of a role."""
    kept = json.loads((target.data / "passwords.json").read_text())
    passwords = login_passwords(Settings(db=Db(management_password=Secret(kept[MANAGEMENT]))))
    match role:
        case "supabase_read_only_user":
            return as_login(target.values["DB_URL"], READER, passwords[READER].reveal())
        case "postgres":
            return as_login(target.values["DB_URL"], DEVELOPER, passwords[DEVELOPER].reveal())
    return as_login(target.values["DB_URL"], VIEWER, passwords[VIEWER].reveal())


def _forms(text: str) -> set[str]:
    """Return how a secret may be written: as it is, in hexadecimal, and in base64 at each place of three."""
    data = text.encode()
    forms = {text, data.hex(), data.hex().upper()}
    if re.fullmatch(r"(?:[0-9a-f]{2}){16,}", text):
        forms.add(base64.b64encode(bytes.fromhex(text)).decode().rstrip("="))
    for shift in range(3):
        coded = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
        middle = coded[(0, 2, 3)[shift] : len(coded) - (2 if (shift + len(data)) % 3 else 0)]
        forms |= {middle, middle.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= 12}


def _found(text: str, secrets: dict[str, str]) -> list[str]:
    """Return the names of the secrets that a text contains, and the claims of each JWT in it that the platform's secret signed."""
    names = [name for name, secret in secrets.items() if any(form in text for form in _forms(secret))]
    for token in set(_JWT.findall(text)):
        try:
            claims = jwt.decode(
                token, secrets["JWT_SECRET"], algorithms=["HS256"], options={"verify_aud": False}
            )
        except InvalidTokenError:
            continue
        if claims.get("role") != "anon":  # the public key
            names.append(f"a token of {claims.get('role')}")
    return sorted(names)


def _all_that(target: Platform, role: str) -> str:
    """Return everything that a role reads by SQL."""
    done = run_sql(login_of(target, role), _READ_ALL.replace("{role}", role), check=False)
    assert '"relname": "pg_class"' in done.stdout, done.stderr[:2000]
    assert "app.settings.jwt_exp" in done.stdout
    return done.stdout + done.stderr


@pytest.mark.parametrize("role", _READERS)
def test_no_role_reads_a_secret_of_the_platform(
    target: Platform, planted: PlatformSecrets, role: str
) -> None:
    text = _all_that(target, role)

    assert _found(f"before {planted.secrets['JWT_SECRET']} after", planted.secrets) == ["JWT_SECRET"]
    assert _found(text, planted.secrets) == []


def test_operations_of_a_reader_and_metrics_show_no_secret(
    target: Platform, planted: PlatformSecrets
) -> None:
    """Whatever a reader may run without arguments, the logs among them."""
    headers = {"authorization": f"Bearer {planted.reader}"}
    document = send(target, "GET", "/management/v1/openapi.json", headers=headers)
    names = [path.rpartition("/")[2] for path in document.json["paths"] if "/operations/" in path]
    answers = {}
    for name in names:
        arguments = {"limit": 1000} if name == "logs.search" else {}
        if name not in _NOT_RUN:
            answer = send(target, "POST", f"/management/v1/operations/{name}", arguments, headers)
            if answer.status == 200:
                answers[name] = answer.body.decode(errors="replace")
    answers["metrics"] = send(target, "GET", "/metrics").body.decode()

    assert {"logs.search", "settings.list", "metrics", "catalog.schemas"} & answers.keys() >= {
        "logs.search",
        "settings.list",
        "metrics",
    }
    assert {name: found for name, text in answers.items() if (found := _found(text, planted.secrets))} == {}


def test_the_signing_secret_opens_nothing_that_is_stored(target: Platform, planted: PlatformSecrets) -> None:
    """A project may expose the signing secret (`db.expose_jwt_secret`): even then it decrypts nothing beside it."""
    del planted
    known = Auth(jwt_secret=Secret(target.values["JWT_SECRET"]))
    rows = _stored_rows(target)

    assert _opened(rows, target.sealing_settings) == {"settings", "factor", "s3"}  # the values are there
    assert _opened(rows, known) == set()


def _stored_rows(target: Platform) -> dict[str, list[Any]]:
    url, texts = superuser_url(target), {
        "settings": "select json_build_array(version, sealed) from headwater.stored_settings",
        "factor": "select json_build_array(id, secret) from auth.mfa_factors where secret is not null",
        "s3": "select json_build_array(access_key_id, secret) from storage.s3_access_keys where secret <> ''",
    }  # fmt: skip
    return {
        kind: [json.loads(line) for line in run_sql(url, sql).stdout.splitlines()]
        for kind, sql in texts.items()
    }


def _opened(rows: dict[str, list[Any]], auth: Auth) -> set[str]:
    """Return the kinds of which a value can be opened with keys of these settings."""
    vault, sealer, keyring, opened = read_vault(auth), SettingsSealer(auth), sealer_of(auth), set()
    for kind, values in rows.items():
        for name, sealed in values:
            try:
                match kind:
                    case "settings":
                        sealer.open(name, sealed)
                    case "factor":
                        vault.open(sealed, uuid.UUID(name), SealPurpose.FACTOR)
                    case _ if keyring.open(name, sealed) is None:
                        continue
                opened.add(kind)
            except (CannotOpen, CannotOpenSettings):
                continue
    return opened
