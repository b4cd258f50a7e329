"""One term of leadership: the reader of changes, and what is done from time to time."""

import asyncio
from collections.abc import Sequence

from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.history.intake import HistoryIntake
from workers.history.observations import HistoryLost
from workers.history.statements import SQL
from workers.history.tables import HistoryTables

_LOOK_S = 60.0
"""The longest time until the comments are read again: a notification of a change of the schema may be missed."""
_BUSY_S = 1.0
_EXPIRE_S = 3600.0


class HistoryTerm:
    """The work of a leader."""

    def __init__(self, leadership: Leadership, connection: NatsConnection, keys: Sequence[bytes]) -> None:
        self._leadership = leadership
        self._tables = HistoryTables(leadership)
        self._intake = HistoryIntake(connection, leadership, self._tables, keys)

    def change(self) -> None:
        """The schema may be another one."""
        self._intake.change()

    async def run(self) -> None:
        """Work until the leadership is lost. Raises: LeadershipLost, DatabaseError."""
        await self._leadership.work(self._intake.run, self._look_again, self._expire)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_BUSY_S if self._tables.has_busy else _LOOK_S)
            self._intake.change()

    async def _expire(self) -> None:
        while True:
            try:
                await self._leadership.ask(SQL["expire"])
            except DatabaseError as error:  # a reader held a partition; the next round drops it
                observe(HistoryLost(f"old versions stay for another hour: SQLSTATE {error.code}"))
            await asyncio.sleep(_EXPIRE_S)
