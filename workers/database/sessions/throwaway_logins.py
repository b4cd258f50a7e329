"""Throwaway logins: sessions for work that might run code of a tenant, each a member of one role only.

`set role` in a superuser's session does not help, because any code that runs can say `reset role`; in a session of a throwaway
login that gains nothing (`superuser.py` lists the ways in which a tenant's code could run).

A throwaway login has a random password known to this process, an end of validity, and an advisory lock that the session
which created it holds. It is dropped at the end. If the process is killed, the next call of `login_as` drops it.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import asyncpg

from workers.database.sessions.leadership import close
from workers.database.sessions.passwords import STOP_LOGGING, verifier
from workers.database.sessions.superuser import CONNECT_S, open_session
from workers.database.sessions.urls import login_url
from workers.sql.compose import quoted
from workers.sql.files import read_statements

LOGIN_PREFIX = "headwater_login_"
LOGIN_LASTS_S = 3600.0
"""Seconds for which a throwaway login can open connections; open ones continue until it is dropped."""

_STATEMENTS = read_statements("workers.database.sessions", "throwaway_logins.sql")
_QUERY_S = 30.0
_LOGIN_LOCK = 0x686C6F67  # "hlog": the class of the locks of throwaway logins
_CONNECTIONS = 16
_LOADS_NOTHING = {"local_preload_libraries": ""}


class UnknownRole(Exception):
    """The role to log in for does not exist."""


@dataclass(frozen=True, slots=True)
class _Role:
    """A role that a login is created for; `startup` are settings for the startup message, `later` those that must be set after it."""

    name: str
    version: int
    database: str
    startup: Mapping[str, str] = field(repr=False)  # a project may keep secrets in the settings of a role
    later: Mapping[str, str] = field(repr=False)


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
    """Yield a session whose login is a member of `role` only, and which runs as `role`, with that role's own settings.

    `url` names the database (its login and password are replaced, so a superuser's URL works); `settings` outrank those of
    the role. The session is closed and the login dropped afterwards. Servers before Postgres 17 always fire event triggers.
    Raises: UnknownRole; asyncpg.PostgresError, OSError, TimeoutError or ValueError as the driver does.
    """
    described = await _describe(superuser, role)
    async with _throwaway(superuser, described, lasts_s) as (login, password):
        if not fires_event_triggers and described.version >= 170000:
            await superuser.execute(f"alter role {quoted(login)} set event_triggers = off", timeout=_QUERY_S)
        startup = {**_LOADS_NOTHING, **described.startup, **(settings or {}), "role": role}
        connection = await open_session(login_url(url, login, password), startup, CONNECT_S)
        try:
            for name, value in described.later.items():
                with contextlib.suppress(
                    asyncpg.PostgresError
                ):  # what the role may not set, or what is not a setting any more
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

    The role is a startup option of the URL, so no `set role` is needed. The role's own settings are not added, because the tools
    choose theirs; `superuser_settings` are settings that only a superuser may set. Raises: as `login_as`.
    """
    described = await _describe(superuser, role)
    async with _throwaway(superuser, described, lasts_s) as (login, password):
        for name, value in (superuser_settings or {}).items():
            await superuser.execute(f"alter role {quoted(login)} set {quoted(name)} = {quoted(value)}")
        yield login_url(url, login, password, settings={**_LOADS_NOTHING, **(settings or {}), "role": role})


async def drop_leftover_logins(superuser: asyncpg.Connection) -> list[str]:
    """Drop the throwaway logins of this database whose creators no longer hold their locks; return their names."""
    logins = await superuser.fetch(_STATEMENTS["logins"], timeout=_QUERY_S)
    if not logins:
        return []
    held = {row[0] for row in await superuser.fetch(_STATEMENTS["held"], _LOGIN_LOCK, timeout=_QUERY_S)}
    left_behind = [row[0] for row in logins if _lock_of(row[0]) not in held]
    for login in left_behind:
        await _drop(superuser, login, is_ours=False)
    return left_behind


async def _describe(superuser: asyncpg.Connection, role: str) -> _Role:
    row = await superuser.fetchrow(_STATEMENTS["describe_role"], role, timeout=_QUERY_S)
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
    """Yield name and password of a login that may become `role` and no other role; drop it at the end."""
    if superuser.is_in_transaction():
        raise RuntimeError("a login that is not committed cannot log in: create it outside a transaction")
    await drop_leftover_logins(superuser)
    login = f"{LOGIN_PREFIX}{role.database}_{secrets.token_hex(8)}"
    password = secrets.token_urlsafe(24)
    await superuser.execute(_STATEMENTS["hold"], _LOGIN_LOCK, _lock_of(login))
    try:
        async with superuser.transaction():
            await superuser.execute(STOP_LOGGING)
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
    """Terminate the sessions of a login and drop it, with what it may own by now; release its lock if it is ours.

    If the connection is lost, `drop_leftover_logins` of the next process drops the login.
    """
    name = quoted(login)
    try:
        await superuser.execute(f"alter role {name} nologin", timeout=_QUERY_S)
        await superuser.fetch(_STATEMENTS["end_sessions"], login, timeout=_QUERY_S)
        async with superuser.transaction():
            await superuser.execute(_STATEMENTS["one_at_a_time"], _LOGIN_LOCK, timeout=_QUERY_S)
            await superuser.execute(
                await superuser.fetchval(_STATEMENTS["revoke_connect"], login), timeout=_QUERY_S
            )
        try:
            await superuser.execute(f"drop role {name}", timeout=_QUERY_S)
        except asyncpg.DependentObjectsStillExistError:
            # Its session said `set role none` and created something where any role may.
            await superuser.execute(f"drop owned by {name} cascade", timeout=_QUERY_S)
            await superuser.execute(f"drop role {name}", timeout=_QUERY_S)
    except asyncpg.UndefinedObjectError:
        pass  # it was not created
    except asyncpg.DependentObjectsStillExistError:
        pass  # it also owns something in another database of the server; it cannot log in any more
    except (asyncpg.InterfaceError, asyncpg.PostgresConnectionError, OSError, TimeoutError):
        return
    if not is_ours:
        return
    with contextlib.suppress(asyncpg.InterfaceError, OSError):
        await superuser.execute(_STATEMENTS["let_go"], _LOGIN_LOCK, _lock_of(login))


def _lock_of(login: str) -> int:
    """Return the second number of a login's lock: 31 bits of its random part."""
    return int(login.rpartition("_")[2][:8], 16) & 0x7FFFFFFF
