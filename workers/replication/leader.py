"""Leadership: the one process that holds an advisory lock on the database leads; all others stand by.

The lock belongs to a session of its own, which answers the leader's questions too. When the session ends, for whatever
reason, so does the leadership, at once: work done under it is cancelled.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from workers.replication.slot import STATEMENTS
from workers.replication.stream import SESSION

_SPACE = 0x68776368
"""First half of the lock's number; the second is made of the slot's name."""
_TRY_EVERY_S = 1.0
_CONNECT_S = 10.0
_CLOSE_S = 2.0


class LeadershipLost(Exception):
    """The session that holds the lock has ended."""


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

    async def ask(self, statement: str, *values: object) -> list[Any]:
        """Ask the database. Raises: asyncpg.PostgresError, OSError, asyncpg.InterfaceError when the session ended."""
        async with self._turn:
            return await self._connection.fetch(statement, *values)

    async def work(self, *tasks: Callable[[], Awaitable[None]]) -> None:
        """Work until one task ends or the leadership is lost; then the others are cancelled.

        Raises: LeadershipLost; what a task raises.
        """
        lost = asyncio.create_task(self._lost.wait())
        running = [asyncio.ensure_future(task()) for task in tasks]
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


async def lead(
    url: str, slot: str, work: Callable[[Leadership], Awaitable[None]], on_wait: Callable[[], None]
) -> None:
    """Become the leader, however long it takes, and work; the lock is given back at the end.

    `on_wait` is called once when another leads. Raises: asyncpg.PostgresError, OSError, TimeoutError; what `work` raises.
    """
    connection = await asyncpg.connect(
        url,
        timeout=_CONNECT_S,
        statement_cache_size=0,
        server_settings={
            **SESSION,
            "application_name": "headwater changes leader",
            "tcp_user_timeout": "20000",
        },
    )
    try:
        number = zlib.crc32(slot.encode()) - 2**31
        told = False
        while not await connection.fetchval(STATEMENTS["try_lead"], _SPACE, number):
            if not told:
                told = True
                on_wait()
            await asyncio.sleep(_TRY_EVERY_S)
        await work(Leadership(connection))
    finally:
        await _close(connection)


async def _close(connection: asyncpg.Connection) -> None:
    try:
        async with asyncio.timeout(_CLOSE_S):
            await connection.close()
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()
