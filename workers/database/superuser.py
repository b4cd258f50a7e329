"""Superuser sessions that run no code of a tenant, and sessions logged in as another role for what might.

Who a tenant is: role `postgres` (owner of the database and of most of its schemas) and whoever writes what is run as it. A
tenant's code reaches a superuser's session by four ways; each has its wall here:

- Names. Settings stored for the database (`alter database ... set search_path`) would decide what an unqualified name
  means. A startup parameter outranks them, so the path is `pg_catalog, pg_temp` from the first statement on, the driver's
  own included. `settle` sets back what else is stored and checks the result.
- Triggers. `session_replication_role` is `origin`; `event_triggers` is `off` (Postgres 17 and later: before, the platform
  makes event triggers of tenants call a guarded copy, platform/0015). A superuser's statements must not touch tables on
  which a tenant can make triggers: such work is done in a session of `login_as`.
- `set role` in a superuser's session is no wall: any code that runs says `reset role`. `login_as` makes a throwaway login
  instead, which is a member of one role and of nothing else; for its session `reset role` gains nothing.
- Files of a tenant (migrations, seeds, dumps) run in sessions of `login_as`, never in ours.

A throwaway login has a random password known to this process, an end of validity, and a lock that the session holds which
made it. It is dropped at the end; what a killed process left behind, the next call of `login_as` drops.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import asyncpg

from workers.database.assertions import BE_QUIET, verifier
from workers.database.leader import close
from workers.database.urls import login_url, startup_options
from workers.sql.compose import quoted
from workers.sql.files import read_statements

LOGIN_PREFIX = "headwater_login_"
CONNECT_S = 30.0
LOGIN_LASTS_S = 3600.0
"""How long a throwaway login can open connections; open ones live on until its end."""

_STATEMENTS = read_statements("workers.database", "superuser.sql")
_QUESTION_S = 30.0
_LOGIN_LOCK = 0x686C6F67  # "hlog": the class of the locks of throwaway logins
_CONNECTIONS = 16
FIXED = {
    "search_path": "pg_catalog, pg_temp",
    "role": "none",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "array_nulls": "on",
    "quote_all_identifiers": "off",
    "transform_null_equals": "off",
    "row_security": "on",
    "check_function_bodies": "on",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "default_table_access_method": "heap",
    "default_tablespace": "",
    "temp_tablespaces": "",
    "local_preload_libraries": "",
    "password_encryption": "scram-sha-256",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "timezone_abbreviations": "Default",
    "bytea_output": "hex",
    "xmloption": "content",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
}
"""What everybody may set, and an owner of the database could have stored for it. Each changes what a statement means; `role`
none: that of the login."""
_FIXED_BY_SUPERUSER = {"session_replication_role": "origin", "lo_compat_privileges": "off"}
_LOADS_NOTHING = {"local_preload_libraries": ""}
_SINCE_17 = {"event_triggers": "off", "transaction_timeout": "0"}


class NotSuperuser(Exception):
    """The URL is that of a login which is no superuser. The text names it."""


class UnsafeSession(Exception):
    """The server did not give the session the settings that it was asked for."""


class UnknownRole(Exception):
    """There is no such role to log in for."""


@dataclass(frozen=True, slots=True)
class _Role:
    """A role that a login is made for; `startup` are settings that can be given at the start, `later` those that cannot."""

    name: str
    version: int
    database: str
    startup: Mapping[str, str] = field(repr=False)  # a project may keep secrets in the settings of a role
    later: Mapping[str, str] = field(repr=False)


async def connect_as_superuser(url: str, *, timeout_s: float = CONNECT_S) -> asyncpg.Connection:
    """Open a superuser session in which no code of a tenant runs; the caller closes it.

    Raises: NotSuperuser; UnsafeSession; asyncpg.PostgresError, OSError, TimeoutError or ValueError as the driver does.
    """
    return await _connect(url, timeout_s, needs_superuser=True)


async def connect_with_fixed_settings(url: str, *, timeout_s: float = CONNECT_S) -> asyncpg.Connection:
    """Open a session as `connect_as_superuser` does if the login is a superuser, else one with what it may fix.

    For questions that any login may ask (the doctor's). Raises: as `connect_as_superuser`, but NotSuperuser.
    """
    return await _connect(url, timeout_s, needs_superuser=False)


def superuser_options(server_version: int) -> str:
    """Return PGOPTIONS for a tool of libpq that runs as superuser: the settings of `connect_as_superuser`.

    `server_version` is `server_version_num`.
    """
    since_17 = _SINCE_17 if server_version >= 170000 else {}
    return startup_options({**FIXED, **_FIXED_BY_SUPERUSER, **since_17})


@contextlib.asynccontextmanager
async def login_as(
    superuser: asyncpg.Connection,
    url: str,
    role: str,
    *,
    settings: Mapping[str, str] | None = None,
    lasts_s: float = LOGIN_LASTS_S,
    fires_event_triggers: bool = True,
) -> AsyncIterator[asyncpg.Connection]:
    """Yield a session whose login is a member of `role` alone, and which runs as `role`, with that role's own settings.

    `url` names the database (that of a superuser will do: login and password are replaced); `settings` outrank those of the
    role. The session is ended and the login dropped afterwards. Servers before Postgres 17 fire event triggers always.
    Raises: UnknownRole; asyncpg.PostgresError, OSError, TimeoutError or ValueError as the driver does.
    """
    described = await _describe(superuser, role)
    async with _throwaway(superuser, described, lasts_s) as (login, password):
        if not fires_event_triggers and described.version >= 170000:
            await superuser.execute(
                f"alter role {quoted(login)} set event_triggers = off", timeout=_QUESTION_S
            )
        own = {**_LOADS_NOTHING, **described.startup, **(settings or {}), "role": role}
        connection = await _open(login_url(url, login, password), own, CONNECT_S)
        try:
            for name, value in described.later.items():
                with contextlib.suppress(
                    asyncpg.PostgresError
                ):  # what the role may not set, or is no setting any more
                    await connection.execute("select pg_catalog.set_config($1, $2, false)", name, value)
            yield connection
        finally:
            await asyncio.shield(close(connection))


@contextlib.asynccontextmanager
async def login_url_as(
    superuser: asyncpg.Connection,
    url: str,
    role: str,
    *,
    settings: Mapping[str, str] | None = None,
    superuser_settings: Mapping[str, str] | None = None,
    lasts_s: float = LOGIN_LASTS_S,
) -> AsyncIterator[str]:
    """Yield a URL whose sessions are those of `login_as`, for programs that connect themselves (`pg_restore`).

    The role is a startup option of the URL, so nothing has to say `set role`. Settings of the role are not added: the tools
    choose their own; `superuser_settings` are such as only a superuser may give. Raises: as `login_as`.
    """
    described = await _describe(superuser, role)
    async with _throwaway(superuser, described, lasts_s) as (login, password):
        for name, value in (superuser_settings or {}).items():
            await superuser.execute(f"alter role {quoted(login)} set {quoted(name)} = {quoted(value)}")
        yield login_url(url, login, password, settings={**_LOADS_NOTHING, **(settings or {}), "role": role})


async def drop_leftover_logins(superuser: asyncpg.Connection) -> list[str]:
    """Drop the throwaway logins of this database whose makers are gone; return their names."""
    logins = await superuser.fetch(_STATEMENTS["logins"], timeout=_QUESTION_S)
    if not logins:
        return []
    held = {row[0] for row in await superuser.fetch(_STATEMENTS["held"], _LOGIN_LOCK, timeout=_QUESTION_S)}
    left_behind = [row[0] for row in logins if _lock_of(row[0]) not in held]
    for login in left_behind:
        await _drop(superuser, login, is_ours=False)
    return left_behind


async def _connect(url: str, timeout_s: float, *, needs_superuser: bool) -> asyncpg.Connection:
    fixed = {**FIXED, **_FIXED_BY_SUPERUSER}
    try:
        connection = await _open(url, {**fixed, **_SINCE_17}, timeout_s)
    except asyncpg.UndefinedObjectError:  # an older server knows no such setting
        connection = await _open(url, fixed, timeout_s)
    except asyncpg.InsufficientPrivilegeError:  # no superuser
        connection = await _open(url, FIXED, timeout_s)
    return await _settled(connection, needs_superuser=needs_superuser)


async def _open(url: str, settings: Mapping[str, str], timeout_s: float) -> asyncpg.Connection:
    return await asyncpg.connect(
        url, timeout=timeout_s, statement_cache_size=0, server_settings=dict(settings)
    )


async def _settled(connection: asyncpg.Connection, *, needs_superuser: bool) -> asyncpg.Connection:
    """Return the connection once its settings are what they should be; else close it and say why."""
    try:
        row = await connection.fetchrow(_STATEMENTS["settle"], timeout=_QUESTION_S)
        assert row is not None  # a query without FROM has one row
        _check(row, connection.get_server_version().major, needs_superuser=needs_superuser)
    except BaseException:
        await close(connection)
        raise
    return connection


def _check(row: asyncpg.Record, major: int, *, needs_superuser: bool) -> None:
    if needs_superuser and not row["is_superuser"]:
        raise NotSuperuser(f"role {row['login']} is no superuser")
    expected = {"role": row["login"], "search_path": FIXED["search_path"]}
    if row["is_superuser"]:
        expected["session_replication_role"] = "origin"
        if major >= 17:
            expected["event_triggers"] = "off"
    for name, value in expected.items():
        if row[name] != value:
            raise UnsafeSession(f"the session has {name} = {row[name]}, not {value}")


async def _describe(superuser: asyncpg.Connection, role: str) -> _Role:
    row = await superuser.fetchrow(_STATEMENTS["describe_role"], role, timeout=_QUESTION_S)
    if row is None:
        raise UnknownRole(f"there is no role {role}")
    stored = dict(entry.partition("=")[::2] for entry in row["settings"])
    for_users = {name.lower() for name in row["user_settings"]}
    startup = {name: value for name, value in stored.items() if "." in name or name.lower() in for_users}
    later = {name: value for name, value in stored.items() if name not in startup}
    return _Role(role, row["version"], row["database"], startup, later)


@contextlib.asynccontextmanager
async def _throwaway(
    superuser: asyncpg.Connection, role: _Role, lasts_s: float
) -> AsyncIterator[tuple[str, str]]:
    """Yield name and password of a login that may become `role` and nothing else; drop it at the end."""
    if superuser.is_in_transaction():
        raise RuntimeError("a login that is not committed cannot log in: make it outside of a transaction")
    await drop_leftover_logins(superuser)
    login = f"{LOGIN_PREFIX}{role.database}_{secrets.token_hex(8)}"
    password = secrets.token_urlsafe(24)
    await superuser.execute(_STATEMENTS["hold"], _LOGIN_LOCK, _lock_of(login))
    try:
        async with superuser.transaction():
            await superuser.execute(BE_QUIET)
            await superuser.execute(_STATEMENTS["one_at_a_time"], _LOGIN_LOCK)
            for statement, arguments in (
                ("create_login", (login, _CONNECTIONS, lasts_s, verifier(password))),
                ("grant_role", (role.name, login, role.version)),
                ("grant_connect", (login,)),
            ):
                await superuser.execute(await superuser.fetchval(_STATEMENTS[statement], *arguments))
        yield login, password
    finally:
        await asyncio.shield(_drop(superuser, login))


async def _drop(superuser: asyncpg.Connection, login: str, *, is_ours: bool = True) -> None:
    """End the sessions of a login and drop it, with what it may have come to own; give its lock back if it is ours.

    A connection that is gone leaves the login to `drop_leftover_logins` of the next process.
    """
    name = quoted(login)
    try:
        await superuser.execute(f"alter role {name} nologin", timeout=_QUESTION_S)
        await superuser.fetch(_STATEMENTS["end_sessions"], login, timeout=_QUESTION_S)
        async with superuser.transaction():
            await superuser.execute(_STATEMENTS["one_at_a_time"], _LOGIN_LOCK, timeout=_QUESTION_S)
            await superuser.execute(
                await superuser.fetchval(_STATEMENTS["revoke_connect"], login), timeout=_QUESTION_S
            )
        try:
            await superuser.execute(f"drop role {name}", timeout=_QUESTION_S)
        except asyncpg.DependentObjectsStillExistError:
            # Its session said `set role none` and made something where everybody may.
            await superuser.execute(f"drop owned by {name} cascade", timeout=_QUESTION_S)
            await superuser.execute(f"drop role {name}", timeout=_QUESTION_S)
    except asyncpg.UndefinedObjectError:
        pass  # it was not made
    except asyncpg.DependentObjectsStillExistError:
        pass  # it owns something in another database of the server, too; it cannot log in any more
    except (asyncpg.InterfaceError, asyncpg.PostgresConnectionError, OSError, TimeoutError):
        return
    if not is_ours:
        return
    with contextlib.suppress(asyncpg.InterfaceError, OSError):
        await superuser.execute(_STATEMENTS["let_go"], _LOGIN_LOCK, _lock_of(login))


def _lock_of(login: str) -> int:
    """Return the second number of a login's lock: 31 bits of its random part."""
    return int(login.rpartition("_")[2][:8], 16) & 0x7FFFFFFF
