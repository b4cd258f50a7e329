"""Leader election by an advisory lock: the process whose session holds the lock leads; all others wait.

Race that this prevents: a former leader writes while a new one already does. The lock belongs to a dedicated session, and
the leader writes through that same session. When the session ends, for whatever reason, the server releases the lock, the
leader's tasks are cancelled, and its remaining writes fail. So two leaders never write. The session also receives
notifications.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import asyncpg

from workers.database.errors import DatabaseError, Disconnected, unstorable_text

_RETRY_S = 1.0
_CONNECT_S = 10.0
_ANSWER_S = 60.0
_CLOSE_S = 2.0
_PROBE_S = 30.0
"""Interval of the check that an idle session still answers."""


class LeadershipLost(Exception):
    """The session that holds the lock has ended, or does not answer any more."""


class Leadership:
    """The session of the leader, which holds the lock."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._query_lock = asyncio.Lock()
        self._lost = asyncio.Event()
        connection.add_termination_listener(lambda _: self._lost.set())

    @property
    def is_busy(self) -> bool:
        """Whether a query is running."""
        return self._query_lock.locked()

    async def ask(
        self,
        statement: str,
        *values: object,
        timeout: float | None = _ANSWER_S,
    ) -> list[Any]:
        """Run one query at a time and return its rows. Raises: DatabaseError; LeadershipLost if there was no answer."""
        try:
            async with self._query_lock, asyncio.timeout(timeout):
                return await self._connection.fetch(statement, *values)
        except asyncpg.PostgresError as error:
            if self._connection.is_closed():
                raise LeadershipLost("the session of the leader was ended") from None
            raise database_error_of(error) from None
        except asyncpg.DataError:
            raise unstorable_text() from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            self._lost.set()
            raise LeadershipLost(f"no answer from the database: {type(error).__name__}") from None

    async def listen(self, channel: str, on_notification: Callable[[], None]) -> None:
        """Call back for each notification on a channel. Raises: LeadershipLost, DatabaseError."""
        try:
            async with self._query_lock, asyncio.timeout(_ANSWER_S):
                await self._connection.add_listener(channel, lambda *_: on_notification())
        except asyncpg.PostgresError as error:
            raise database_error_of(error) from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            raise LeadershipLost(f"no answer from the database: {type(error).__name__}") from None

    async def work(self, *tasks: Callable[[], Awaitable[None]]) -> None:
        """Run tasks until one ends or the leadership is lost; then cancel the others.

        Raises: LeadershipLost; what a task raises.
        """
        lost = asyncio.create_task(self._lost.wait())
        running = [asyncio.ensure_future(task()) for task in (*tasks, self._probe)]
        try:
            await asyncio.wait([lost, *running], return_when=asyncio.FIRST_COMPLETED)
            for task in running:
                if task.done():
                    task.result()
            if self._lost.is_set():
                raise LeadershipLost("the session of the leader has ended")
        finally:
            for unfinished in (lost, *running):
                unfinished.cancel()
            await asyncio.gather(lost, *running, return_exceptions=True)

    async def _probe(self) -> None:
        """Query the server regularly, because a lost network path does not end the session by itself."""
        while True:
            await asyncio.sleep(_PROBE_S)
            if not self.is_busy:
                await self.ask("select 1")


async def lead(
    url: str,
    lock: tuple[int, int],
    work: Callable[[Leadership], Awaitable[None]],
    on_wait: Callable[[], None],
    *,
    name: str,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Wait for a lock without a time limit, run `work` as the leader, and release the lock.

    `name` is the session's application name in `pg_stat_activity`; `on_wait` is called once if another process leads.
    Raises: Disconnected if no session can be opened, LeadershipLost, DatabaseError; what `work` raises.
    """
    connection = await _connect(url, {"application_name": name, **(settings or {})})
    try:
        leadership = Leadership(connection)
        is_waiting = False
        while not (await leadership.ask("select pg_catalog.pg_try_advisory_lock($1, $2)", *lock))[0][0]:
            if not is_waiting:
                is_waiting = True
                on_wait()
            await asyncio.sleep(_RETRY_S)
        await work(leadership)
    finally:
        await close(connection)


async def _connect(url: str, settings: Mapping[str, str]) -> asyncpg.Connection:
    try:
        return await asyncpg.connect(url, timeout=_CONNECT_S, server_settings=dict(settings))
    except asyncpg.PostgresError as error:
        raise Disconnected(str(error), error.sqlstate) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
        raise Disconnected(f"no connection to the database: {type(error).__name__}") from None


async def close(connection: asyncpg.Connection, timeout_s: float = _CLOSE_S) -> bool:
    """Close a connection, or abort it if the server does not answer; return whether it was closed cleanly."""
    try:
        async with asyncio.timeout(timeout_s):
            await connection.close()
    except (
        TimeoutError,
        OSError,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
    ):
        with suppress(asyncpg.InterfaceError):
            connection.terminate()
        return False
    return True


def database_error_of(error: asyncpg.PostgresError) -> DatabaseError:
    """Return a driver's error as DatabaseError."""
    return DatabaseError(
        error.sqlstate or "XX000",
        getattr(error, "message", None) or str(error),
        getattr(error, "detail", None),
        getattr(error, "hint", None),
        severity=getattr(error, "severity_en", None) or "ERROR",
        context=getattr(error, "context", None),
    )
