"""Operations on the project as a whole: what it is, its API keys, and logins of its database that last minutes."""

import hashlib
import hmac
import time
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.database_logins import MANAGEMENT, login_passwords
from schemas.keys.legacy_keys import legacy_key
from schemas.keys.secret import Secret
from schemas.keys.secret_record import SecretRecord
from schemas.settings.tree import Settings
from workers.database.sessions.passwords import verifier
from workers.database.transactions.interactive import statement
from workers.management.areas.project.ref import project_ref
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "project.sql")
_WINDOW_S = 300
_USUAL_PORT = 5432
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_LOGINS = {False: "cli_login_postgres", True: "cli_login_supabase_read_only_user"}
_SHOWN_CHARACTERS = 15


class ProjectDescription(Struct, frozen=True):
    """The project: its ref, its name (`project_id` of config.toml), and its database. `created_at`: ISO 8601."""

    ref: str
    name: str
    created_at: str
    postgres_version: str
    postgres_major: int
    database: str
    database_host: str
    database_port: int


class ApiKey(Struct, frozen=True):
    """An API key. `kind`: legacy, publishable or secret; `value` is null for a key that this operation does not show."""

    name: str
    kind: str
    prefix: str
    value: str | None = None


class LoginRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A login to open: `read_only` has the role `supabase_read_only_user` instead of `postgres`."""

    read_only: bool = False


class DatabaseLogin(SecretRecord, Struct, frozen=True):
    """A login of the database. Its password is valid for `lasts_s` seconds; a session that is open then stays open."""

    login: str
    password: str
    lasts_s: int


class _DatabaseFacts(Struct, frozen=True):
    database: str
    version: str
    major: int
    created_at: str


async def describe(context: OperationContext, arguments: NoArguments) -> ProjectDescription:
    """Return what the project is, and where its database is for clients."""
    del arguments
    [rows] = await context.database.read(
        statement(_SQL["facts"]), timeout_s=context.settings.statement_timeout_s
    )
    [facts] = decode_rows(rows, _DatabaseFacts)
    host, port = database_address(context.configuration)
    return ProjectDescription(
        await project_ref(context),
        context.configuration.project_id,
        facts.created_at,
        facts.version,
        facts.major,
        facts.database,
        host,
        port,
    )


def database_address(settings: Settings) -> tuple[str, int]:
    """Return host and port of Postgres for clients; the host is empty if it equals the gateway's. Raises: ManagementError."""
    if configured := settings.management.database_address:
        try:
            parts = urlsplit(f"//{configured}")
            return parts.hostname or "", parts.port or _USUAL_PORT
        except ValueError:
            raise ManagementError(
                500,
                "invalid_address",
                "management.database_address must be a host and a port, as in db.example.org:5432",
            ) from None
    parts = urlsplit(settings.db.url.reveal() if settings.db.url else "")
    host = parts.hostname or ""
    if not host:  # the embedded server, through its socket
        return "", parts.port or settings.db.port
    return "" if host in _THIS_MACHINE else host, parts.port or _USUAL_PORT


async def api_keys(context: OperationContext, arguments: NoArguments) -> list[ApiKey]:
    """Return the API keys; the values of those that pass all policies are left out."""
    del arguments
    return [
        key if key.name in ("anon", "publishable") else ApiKey(key.name, key.kind, key.prefix)
        for key in _keys(context.configuration)
    ]


async def reveal_api_keys(context: OperationContext, arguments: NoArguments) -> list[ApiKey]:
    """Return all API keys with their values."""
    del arguments
    return _keys(context.configuration)


def _keys(settings: Settings) -> list[ApiKey]:
    auth = settings.auth
    secret = auth.jwt_secret.reveal()
    values = {
        "anon": ("legacy", auth.anon_key or legacy_key(secret, "anon")),
        "service_role": ("legacy", auth.service_role_key or legacy_key(secret, "service_role")),
        "publishable": ("publishable", auth.publishable_key),
        "secret": ("secret", auth.secret_key),
    }
    keys = {
        name: (kind, key.reveal() if isinstance(key, Secret) else key) for name, (kind, key) in values.items()
    }
    return [
        ApiKey(name, kind, "" if kind == "legacy" else key[:_SHOWN_CHARACTERS], key)
        for name, (kind, key) in keys.items()
        if key
    ]


async def open_login(context: OperationContext, arguments: LoginRequest) -> DatabaseLogin:
    """Set the password of a login for the official command line, and return it.

    Requests of the same five minutes get the same password, so that programs which ask at the same time do not take it from
    each other.
    """
    window = time.time() // _WINDOW_S
    lasts_s = round((window + 2) * _WINDOW_S - time.time())
    login = _LOGINS[arguments.read_only]
    key = login_passwords(context.configuration)[MANAGEMENT].reveal().encode()
    password = hmac.new(key, f"{login} {window:.0f}".encode(), hashlib.sha256).hexdigest()
    await _set_login(context, login, verifier(password), lasts_s)
    context.after = {"login": login, "lasts_s": lasts_s}
    return DatabaseLogin(login, password, lasts_s)


async def close_logins(context: OperationContext, arguments: NoArguments) -> Done:
    """Remove the passwords of the logins for the official command line. Open sessions stay open."""
    del arguments
    for login in _LOGINS.values():
        await _set_login(context, login, "", 0)
    return Done()


async def _set_login(context: OperationContext, login: str, stored: str, lasts_s: int) -> None:
    own = await context.database.own()
    async with own.transaction() as transaction:
        await transaction.run(statement(_SQL["set_login"], login, stored, str(lasts_s)))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "project.describe",
            "Describe the project",
            NoArguments,
            ProjectDescription,
            Right.READER,
            describe,
        ),
        Operation(
            "project.api_keys",
            "List the API keys; those that pass all policies without their values",
            NoArguments,
            list[ApiKey],
            Right.READER,
            api_keys,
        ),
        Operation(
            "project.reveal_api_keys",
            "Show all API keys",
            NoArguments,
            list[ApiKey],
            Right.OWNER,
            reveal_api_keys,
            changes=True,  # what it shows can write, so a token that only reads does not get it, and it leaves an audit row
            is_confirmed=True,
        ),
        Operation(
            "project.open_login",
            "Open a login of the database that lasts minutes",
            LoginRequest,
            DatabaseLogin,
            Right.DEVELOPER,
            open_login,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "project.close_logins",
            "Remove the passwords of the logins that last minutes",
            NoArguments,
            Done,
            Right.DEVELOPER,
            close_logins,
            changes=True,
        ),
    ]
