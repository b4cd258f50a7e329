"""Leadership: the one process that holds an advisory lock on the database leads; all others stand by.

The lock belongs to a session of its own, which answers the leader's questions and hears notices too. When the session
ends, for whatever reason, so does the leadership, at once: work done under it is cancelled, and what the leader would still
write fails. So two leaders never write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import asyncpg

from workers.database.errors import DatabaseError, Disconnected, unstorable_text

_TRY_EVERY_S = 1.0
_CONNECT_S = 10.0
_ANSWER_S = 60.0
_CLOSE_S = 2.0
_PROBE_S = 30.0
"""A silent session is asked for a sign of life this often."""


class LeadershipLost(Exception):
    """The session that holds the lock has ended, or answers no more."""


class Leadership:
    """Being the leader: a session with the lock."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()
        self._lost = asyncio.Event()
        connection.add_termination_listener(lambda _: self._lost.set())

    @property
    def is_busy(self) -> bool:
        """Whether a question is underway."""
        return self._turn.locked()

    async def ask(
        self,
        statement: str,
        *values: object,
        timeout: float | None = _ANSWER_S,
    ) -> list[Any]:
        """Ask the database, one question at a time. Raises: DatabaseError; LeadershipLost if there was no answer."""
        try:
            async with self._turn, asyncio.timeout(timeout):
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

    async def listen(self, channel: str, hear: Callable[[], None]) -> None:
        """Call back at each notice on a channel. Raises: LeadershipLost, DatabaseError."""
        try:
            async with self._turn, asyncio.timeout(_ANSWER_S):
                await self._connection.add_listener(channel, lambda *_: hear())
        except asyncpg.PostgresError as error:
            raise database_error_of(error) from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            raise LeadershipLost(f"no answer from the database: {type(error).__name__}") from None

    async def work(self, *tasks: Callable[[], Awaitable[None]]) -> None:
        """Work until one task ends or the leadership is lost; then the others are cancelled.

        Raises: LeadershipLost; what a task raises.
        """
        lost = asyncio.create_task(self._lost.wait())
        running = [asyncio.ensure_future(task()) for task in (*tasks, self._probe)]
        try:
            await asyncio.wait([lost, *running], return_when=asyncio.FIRST_COMPLETED)
            for each in running:
                if each.done():
                    each.result()
            if self._lost.is_set():
                raise LeadershipLost("the session of the leader has ended")
        finally:
            for task in (lost, *running):
                task.cancel()
            await asyncio.gather(lost, *running, return_exceptions=True)

    async def _probe(self) -> None:
        """Notice that the session is silent where the network keeps that to itself."""
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
    """Become the leader of a lock, however long it takes, and work; the lock is given back at the end.

    `name` is that of the session in `pg_stat_activity`; `on_wait` is called once when another leads.
    Raises: Disconnected if there is no session to be had, LeadershipLost, DatabaseError; what `work` raises.
    """
    connection = await _connect(url, {"application_name": name, **(settings or {})})
    try:
        leadership = Leadership(connection)
        told = False
        while not (await leadership.ask("select pg_catalog.pg_try_advisory_lock($1, $2)", *lock))[0][0]:
            if not told:
                told = True
                on_wait()
            await asyncio.sleep(_TRY_EVERY_S)
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
    """Close a connection in order if the server still listens, else without it; tell which."""
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
    """Give a driver's error as the one that the rest of the house knows."""
    return DatabaseError(
        error.sqlstate or "XX000",
        getattr(error, "message", None) or str(error),
        getattr(error, "detail", None),
        getattr(error, "hint", None),
        severity=getattr(error, "severity_en", None) or "ERROR",
        context=getattr(error, "context", None),
    )
