"""Runs a script in a session of its own: commands as psql would send them, on a connection that is closed afterwards.

The script is sent as one simple query: a single command may be anything (VACUUM, CALL of a procedure that commits), several
run as one transaction unless they contain transaction commands. Rows are thrown away; the result is the tag of the last
command.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import asyncpg

from workers.database.errors import Disconnected
from workers.database.sessions.leadership import close, database_error_of

_CONNECT_S = 10.0
_STOP_S = 3.0
"""How long a script may take to stop after its time limit."""
_CHECK_CLIENT = ("client_connection_check_interval", "5s")
"""Ends the session of a killed process during its statement instead of after it, where the server's system supports that."""


async def run_script(
    url: str,
    script: str,
    *,
    role: str,
    name: str,
    settings: Iterable[tuple[str, str]] = (),
    timeout_s: float | None = None,
    on_start: Callable[[int], Awaitable[None]] | None = None,
) -> str:
    """Run commands as `role`, which the login of `url` may become, and return the tag of the last (`SELECT 1`).

    The session starts as `role`, so RESET ROLE returns to it too. `settings` that the role may not set are skipped;
    `on_start` gets the process id of the session before the script runs. Cancelling stops the script.
    Raises: DatabaseError if a command fails; Disconnected if the connection cannot be opened or breaks; TimeoutError.
    """
    connection = await connect_as(url, role, name)
    try:
        for setting, value in (*settings, _CHECK_CLIENT):
            await _set(connection, setting, value)
        if on_start is not None:
            await on_start(connection.get_server_pid())
        async with asyncio.timeout(timeout_s):
            return await _execute(connection, script)
    except asyncpg.PostgresError as error:
        if connection.is_closed() and error.sqlstate in ("57P01", "57P02", "57P03"):
            raise Disconnected(str(error), error.sqlstate) from None
        raise database_error_of(error) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
        if isinstance(error, TimeoutError):
            raise
        raise Disconnected("the connection to the database was lost") from None
    finally:
        await asyncio.shield(_stop(connection, url))


async def _execute(connection: asyncpg.Connection, script: str) -> str:
    try:
        return str(await connection.execute(script))
    except (
        AttributeError
    ):  # raised by the driver for a script of only blanks and comments, which returns no tag
        return ""


async def connect_as(url: str, role: str, name: str, *, statement_cache_size: int = 0) -> asyncpg.Connection:
    """Open a session that starts as `role`, so RESET ROLE returns to it too. Raises: Disconnected."""
    try:
        return await asyncpg.connect(
            url,
            timeout=_CONNECT_S,
            statement_cache_size=statement_cache_size,
            server_settings={"role": role, "application_name": name},
        )
    except asyncpg.PostgresError as error:
        raise Disconnected(str(error), error.sqlstate) from None
    except (asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise Disconnected(f"no connection to the database: {type(error).__name__}") from None


async def _stop(connection: asyncpg.Connection, url: str) -> None:
    """Close the connection. If its script does not stop on request (it may not have started by then), terminate its session."""
    pid = connection.get_server_pid()
    if await close(connection, _STOP_S):
        return
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        another = await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
        try:
            await another.execute("select pg_catalog.pg_terminate_backend($1)", pid)
        finally:
            await close(another)


async def _set(connection: asyncpg.Connection, name: str, value: str) -> None:
    """Set a default of the role; skip a setting that the role may not change or that does not exist any more."""
    try:
        await connection.execute("select pg_catalog.set_config($1, $2, false)", name, value)
    except asyncpg.PostgresError:
        return
