"""Outbox to NATS: publish events, and delete a row in the transaction that locked it once the stream has acknowledged
its event.

Delivery is at least once, in order for each object, without loss: what cannot be published stays in the table. The
worker polls when it has answered a request that may have changed something (`wake`), and at intervals for changes by
plain SQL or by a worker that died. When idle that is one small query every two seconds.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.storage_events import StorageEvent
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.interactive import Transaction
from workers.storage.events import outbox
from workers.storage.events.observations import StorageEventDropped, StorageEventsDelayed
from workers.storage.events.outbox import OutboxDepth, OutboxRow, UnreadableRow, read_event
from workers.storage.events.publish import publish_events

_SETTINGS = (("search_path", "storage"), ("statement_timeout", "30s"))
_FAILURES = (DatabaseError, Disconnected, PoolTimeout, Unavailable)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 2.0
_GATHER_S = 0.01
"""Requests that end within this time share one poll."""
_SPACING_S = 0.1
"""Polls that requests cause begin at least so far apart: under load a poll takes many events instead of two or three."""
_MEASURE_S = 10.0


class OutboxDrain:
    """Publishes events. `prepare` creates the stream, and the consumers that must exist before its first event."""

    def __init__(
        self, database: ConnectionPool, connection: NatsConnection, prepare: Callable[[], Awaitable[None]]
    ) -> None:
        self._database, self._connection, self._prepare = database, connection, prepare
        self._woken = asyncio.Event()
        self._is_prepared = False
        self._reported = ""
        self._measured_at = self._polled_at = float("-inf")
        self.depth = OutboxDepth()
        """Waiting events at the last measurement, at most ten seconds ago."""

    def wake(self) -> None:
        """Poll soon: something may have been written."""
        self._woken.set()

    async def run(self) -> None:
        """Publish events until cancelled."""
        pause = _FIRST_PAUSE_S
        while True:
            if await self._try():
                is_woken = await self._rest(pause)
                pause = _FIRST_PAUSE_S if is_woken else min(pause * 2, _LONGEST_PAUSE_S)

    async def turn(self) -> bool:
        """Publish one batch; return whether the outbox is empty then.

        Raises: Unavailable, DatabaseError, Disconnected, PoolTimeout; then the unpublished rows stay.
        """
        if not self._is_prepared:
            await self._prepare()
            self._is_prepared = True
        async with self._database.transaction(_SETTINGS) as transaction:
            # The locks on the rows last until the events are acknowledged and deleted: no other worker publishes them.
            claimed = await outbox.claim_rows(transaction)
            reason = await self._publish(transaction, claimed.rows) if claimed.rows else ""
        if reason:
            self._is_prepared = False  # the stream may be gone
            raise Unavailable(reason)
        return claimed.is_all

    async def _publish(self, transaction: Transaction, rows: Sequence[OutboxRow]) -> str:
        """Publish the events of rows and delete the published rows; return why some failed."""
        events, ended = _read(rows)
        result = await publish_events(self._connection, events)
        ended.extend(result.sequences)
        if ended:
            await outbox.delete_rows(transaction, ended)
        return result.reason

    async def measure(self) -> None:
        """Measure the waiting events. Raises: DatabaseError, Disconnected, PoolTimeout."""
        async with self._database.transaction(_SETTINGS) as transaction:
            self.depth = await outbox.measure(transaction)

    async def _try(self) -> bool:
        """Publish one batch; return whether nothing more can be done now."""
        try:
            try:
                is_all = await self.turn()
                self._reported = ""
                return is_all
            finally:
                await self._measure_at_times()
        except _FAILURES as error:
            self._report(error)
            return True

    async def _measure_at_times(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._measured_at + _MEASURE_S:
            self._measured_at = now
            await self.measure()

    async def _rest(self, pause: float) -> bool:
        """Wait for a pause, or until woken; return whether it was woken."""
        try:
            async with asyncio.timeout(pause * random.uniform(0.75, 1.25)):
                await self._woken.wait()
        except TimeoutError:
            return False
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(_GATHER_S, self._polled_at + _SPACING_S - loop.time()))
        self._woken.clear()
        self._polled_at = loop.time()
        return True

    def _report(self, error: Exception) -> None:
        """Report why events are delayed; a repeated reason is reported once."""
        # Messages of the database may contain values; those of the broker do not.
        reason = str(error) if isinstance(error, Unavailable) else type(error).__name__
        if reason != self._reported:
            self._reported = reason
            observe(StorageEventsDelayed(reason))


def _read(rows: Sequence[OutboxRow]) -> tuple[list[StorageEvent], list[int]]:
    """Return the events of rows, and the ids of unreadable rows."""
    events: list[StorageEvent] = []
    wrong: list[int] = []
    for row in rows:
        try:
            events.append(read_event(row))
        except UnreadableRow as error:
            observe(StorageEventDropped(row.event, row.id, str(error)))
            wrong.append(row.id)
    return events, wrong
