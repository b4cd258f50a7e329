"""The outbox -> NATS: a row is deleted when the stream has its event, in the transaction that holds its lock.

At least once, in order for each object, nothing lost: what cannot be published stays where it is. The worker looks when
it has answered a request that may have changed something (`wake`), and now and then for what others changed: plain SQL,
or a worker that has died. With nothing to do that is one small query every two seconds.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from broker.nats.connection import Connection
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.storage_events import StorageEvent
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.interactive import Transaction
from workers.database.pool import Pool
from workers.storage.events import outbox
from workers.storage.events.observations import StorageEventDropped, StorageEventsDelayed
from workers.storage.events.outbox import Depth, Row, Unreadable, read_event
from workers.storage.events.publish import publish_events

_SETTINGS = (("search_path", "storage"), ("statement_timeout", "30s"))
_FAILURES = (DatabaseError, Disconnected, PoolTimeout, Unavailable)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 2.0
_GATHER_S = 0.01
"""Requests that end within this time share a look."""
_MEASURE_S = 10.0


class Drain:
    """Tells events. `prepare` makes what they are published to: the stream, and who must be there before the first."""

    def __init__(
        self, database: Pool, connection: Connection, prepare: Callable[[], Awaitable[None]]
    ) -> None:
        self._database, self._connection, self._prepare = database, connection, prepare
        self._woken = asyncio.Event()
        self._is_prepared = False
        self._complaint = ""
        self._measured_at = float("-inf")
        self.depth = Depth()
        """What waited when it was last looked at, at most ten seconds ago."""

    def wake(self) -> None:
        """Look soon: something may have been written."""
        self._woken.set()

    async def run(self) -> None:
        """Tell events until cancelled."""
        pause = _FIRST_PAUSE_S
        while True:
            if await self._try():
                is_woken = await self._rest(pause)
                pause = _FIRST_PAUSE_S if is_woken else min(pause * 2, _LONGEST_PAUSE_S)

    async def turn(self) -> bool:
        """Tell one batch; tell whether that was all there is.

        Raises: Unavailable, DatabaseError, Disconnected, PoolTimeout; then what was not told is still there.
        """
        if not self._is_prepared:
            await self._prepare()
            self._is_prepared = True
        async with self._database.transaction(_SETTINGS) as transaction:
            taken = await outbox.take(transaction)
            reason = await self._tell(transaction, taken.rows) if taken.rows else ""
        if reason:
            self._is_prepared = False  # the stream may be gone
            raise Unavailable(reason)
        return taken.is_all

    async def _tell(self, transaction: Transaction, rows: Sequence[Row]) -> str:
        """Publish what rows tell, and forget those that are told; say why some are not."""
        events, ended = _read(rows)
        told = await publish_events(self._connection, events)
        ended.extend(told.sequences)
        if ended:
            await outbox.forget(transaction, ended)
        return told.reason

    async def measure(self) -> None:
        """Look at what waits. Raises: DatabaseError, Disconnected, PoolTimeout."""
        async with self._database.transaction(_SETTINGS) as transaction:
            self.depth = await outbox.measure(transaction)

    async def _try(self) -> bool:
        """Tell one batch; tell whether there is nothing more to do now."""
        try:
            try:
                is_all = await self.turn()
                self._complaint = ""
                return is_all
            finally:
                await self._measure_at_times()
        except _FAILURES as error:
            self._complain(error)
            return True

    async def _measure_at_times(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._measured_at + _MEASURE_S:
            self._measured_at = now
            await self.measure()

    async def _rest(self, pause: float) -> bool:
        """Wait for a while, or until something may be there; tell which."""
        try:
            async with asyncio.timeout(pause * random.uniform(0.75, 1.25)):
                await self._woken.wait()
        except TimeoutError:
            return False
        await asyncio.sleep(_GATHER_S)
        self._woken.clear()
        return True

    def _complain(self, error: Exception) -> None:
        """Tell what keeps events back, once."""
        # Words of the database may hold values; those of the broker hold none.
        reason = str(error) if isinstance(error, Unavailable) else type(error).__name__
        if reason != self._complaint:
            self._complaint = reason
            observe(StorageEventsDelayed(reason))


def _read(rows: Sequence[Row]) -> tuple[list[StorageEvent], list[int]]:
    """Give the events of rows, and the ids of those that tell none."""
    events: list[StorageEvent] = []
    wrong: list[int] = []
    for row in rows:
        try:
            events.append(read_event(row))
        except Unreadable as error:
            observe(StorageEventDropped(row.event, row.id, str(error)))
            wrong.append(row.id)
    return events, wrong
