"""Superuser sessions that run no code of a tenant. Work that might run some is done in sessions of throwaway logins (`throwaway_logins.py`).

The tenant is role `postgres` (owner of the database and of most of its schemas) and whoever writes SQL that runs as it. A
tenant's code can get into a superuser's session in four ways. Each is blocked:

- Names. Settings stored for the database (`alter database ... set search_path`) would decide what an unqualified name
  means. A startup parameter outranks them, so the path is `pg_catalog, pg_temp` from the first statement on, including the
  driver's own. `settle` resets what else is stored and checks the result.
- Triggers. `session_replication_role` is `origin`; `event_triggers` is `off` (Postgres 17 and later; for older servers, the
  platform makes tenants' event triggers call a guarded copy, platform/0015). A superuser's statements must not touch
  tables on which a tenant can create triggers: such work is done in a session of `login_as`.
- `set role` in a superuser's session does not help: any code that runs can say `reset role`. `login_as` creates a throwaway
  login instead, which is a member of one role only; in its session `reset role` gains nothing.
- Files of a tenant (migrations, seeds, dumps) run in sessions of `login_as` only.
"""

from collections.abc import Mapping

import asyncpg

from workers.database.sessions.leadership import close
from workers.database.sessions.urls import startup_options
from workers.sql.files import read_statements

CONNECT_S = 30.0

_STATEMENTS = read_statements("workers.database.sessions", "superuser.sql")
_QUERY_S = 30.0
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
"""Settings that any login may set and that an owner of the database could have stored for it. Each changes what a statement
means. `role` none is the login's own role."""
_FIXED_BY_SUPERUSER = {"session_replication_role": "origin", "lo_compat_privileges": "off"}
_SINCE_17 = {"event_triggers": "off", "transaction_timeout": "0"}


class NotSuperuser(Exception):
    """The login of the URL is not a superuser. The text names it and the attributes that it lacks."""


class UnsafeSession(Exception):
    """The session does not have the settings that were requested for it."""


async def connect_as_superuser(url: str, *, timeout_s: float = CONNECT_S) -> asyncpg.Connection:
    """Open a superuser session in which no code of a tenant runs. The caller closes it.

    Raises: NotSuperuser; UnsafeSession; asyncpg.PostgresError, OSError, TimeoutError or ValueError as the driver does.
    """
    return await _connect(url, timeout_s, needs_superuser=True)


async def connect_with_fixed_settings(url: str, *, timeout_s: float = CONNECT_S) -> asyncpg.Connection:
    """Open a session as `connect_as_superuser` does if the login is a superuser, else one with the settings that it may set.

    For queries that any login may run (`headwater doctor`). Raises: as `connect_as_superuser`, except NotSuperuser.
    """
    return await _connect(url, timeout_s, needs_superuser=False)


def superuser_options(server_version: int) -> str:
    """Return PGOPTIONS for a libpq tool that runs as superuser: the settings of `connect_as_superuser`.

    `server_version` is `server_version_num`.
    """
    since_17 = _SINCE_17 if server_version >= 170000 else {}
    return startup_options({**FIXED, **_FIXED_BY_SUPERUSER, **since_17})


async def _connect(url: str, timeout_s: float, *, needs_superuser: bool) -> asyncpg.Connection:
    fixed = {**FIXED, **_FIXED_BY_SUPERUSER}
    try:
        connection = await open_session(url, {**fixed, **_SINCE_17}, timeout_s)
    except asyncpg.UndefinedObjectError:  # an older server does not have these settings
        connection = await open_session(url, fixed, timeout_s)
    except asyncpg.InsufficientPrivilegeError:  # not a superuser
        connection = await open_session(url, FIXED, timeout_s)
    return await _settled(connection, needs_superuser=needs_superuser)


async def open_session(url: str, settings: Mapping[str, str], timeout_s: float) -> asyncpg.Connection:
    """Open a session with settings in its startup message. It caches no statements. Raises: as the driver does."""
    return await asyncpg.connect(
        url, timeout=timeout_s, statement_cache_size=0, server_settings=dict(settings)
    )


async def _settled(connection: asyncpg.Connection, *, needs_superuser: bool) -> asyncpg.Connection:
    """Return the connection once its settings are as requested; otherwise close it and raise."""
    try:
        row = await connection.fetchrow(_STATEMENTS["settle"], timeout=_QUERY_S)
        assert row is not None  # a query without FROM has one row
        _check(row, connection.get_server_version().major, needs_superuser=needs_superuser)
    except BaseException:
        await close(connection)
        raise
    return connection


def _check(row: asyncpg.Record, major: int, *, needs_superuser: bool) -> None:
    if needs_superuser and not row["is_superuser"]:
        raise NotSuperuser(f"role {row['login']} is no superuser (it lacks {', '.join(row['lacks'])})")
    expected = {"role": row["login"], "search_path": FIXED["search_path"]}
    if row["is_superuser"]:
        expected["session_replication_role"] = "origin"
        if major >= 17:
            expected["event_triggers"] = "off"
    for name, value in expected.items():
        if row[name] != value:
            raise UnsafeSession(f"the session has {name} = {row[name]}, not {value}")
