"""One replica: its connections, how far it has replayed the log, and reads on it.

The replica is measured on a connection of its own, so that reads that wait for a connection do not delay the measurement. If it does not
answer for `SILENT_S`, reads that run on it are cancelled, and their callers read on the primary: a stopped machine does not
close its connections.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.positions import parse_lsn
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.replicas.primary_log import EVER, PrimaryLog
from workers.database.transactions.model import RowsAndLongValue, Statement, TransactionSpec
from workers.sql.files import read_statements

STATEMENTS = read_statements("workers.database.replicas", "replicas.sql")
SILENT_S = 2.0
"""Seconds without an answer to the measurement after which a server counts as stopped."""
UNANSWERED = (DatabaseError, Disconnected, PoolTimeout, TimeoutError)
"""What a statement raises on a server that does not answer, or not as expected."""

OpenPool = Callable[[int], Awaitable[ConnectionPool]]
"""Opens a pool of so many connections to one server."""


class ReplicaUsable(Observation, frozen=True):
    """Reads may go to a replica: it follows the primary."""

    replica: str


class ReplicaUnusable(Observation, frozen=True):
    """Reads do not go to a replica any more; they run on the primary."""

    level: ClassVar[str] = "warning"
    replica: str
    reason: str


class ReplicaSilent(Exception):
    """The replica stopped answering while a read ran on it."""


class Replica:
    """One replica. `name` is its host and port."""

    def __init__(self, name: str, open_pool: OpenPool, size: int, log: PrimaryLog) -> None:
        self.name = name
        self.fault: str | None = "it was not measured yet"
        """Why it cannot be read; None if it follows the primary."""
        self.replayed = 0
        self.served = self.retried = 0
        """Reads that it answered, and reads that ran again on the primary."""
        self._contains_until = EVER
        self._open_pool, self._size, self._log = open_pool, size, log
        self._pool: ConnectionPool | None = None
        self._measuring: ConnectionPool | None = None
        self._reads: set[asyncio.Future[RowsAndLongValue]] = set()
        self._loop = asyncio.get_running_loop()

    def lag_s(self) -> float:
        """Return how old its data may be, in seconds; infinite if that is unknown."""
        return self._loop.time() - self._contains_until if self.fault is None else -EVER

    @property
    def load(self) -> int:
        """Number of its connections in use and of requests that wait for one."""
        if self._pool is None:
            return 0
        state = self._pool.state
        return state.open - state.idle + state.waiting

    async def follow(self, period_s: float) -> None:
        """Open the connections, and measure every `period_s` seconds until cancelled."""
        self._pool, self._measuring = await self._open_pool(self._size), await self._open_pool(1)
        while True:
            try:
                async with asyncio.timeout(SILENT_S):
                    fault = await self._measure(self._measuring)
            except TimeoutError:
                fault = f"it did not answer for {SILENT_S:g} s"
                for read in self._reads:
                    read.cancel()
            except UNANSWERED as error:
                fault = str(error)
            self._note(fault)
            await asyncio.sleep(period_s)

    async def read(self, spec: TransactionSpec) -> RowsAndLongValue:
        """Run a transaction that only reads. Raises: as `ConnectionPool.run_long`; ReplicaSilent."""
        if self._pool is None:
            raise Disconnected("the replica is not connected")
        reading = self._loop.create_task(self._pool.run_long(spec))
        self._reads.add(reading)
        try:
            return await reading
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # the caller itself is cancelled
                raise
            raise ReplicaSilent from None
        finally:
            self._reads.discard(reading)

    async def close(self) -> None:
        """Close the connections."""
        for pool in (self._pool, self._measuring):
            if pool is not None:
                with suppress(Disconnected):
                    await pool.close()

    async def _measure(self, pool: ConnectionPool) -> str | None:
        """Read how far it has replayed the log; return why it cannot be read, None if it can."""
        rows = await pool.run(TransactionSpec((), [Statement(STATEMENTS["replica"])]))
        in_recovery, replayed, system, timeline = (
            "" if value is None else value.decode() for value in rows[0][0]
        )
        primary = self._log.identity
        if primary is None:
            return "the primary does not answer"
        if system != primary[0]:
            return "it belongs to another cluster than db.url"
        if in_recovery != "t":
            return "it is not a replica (any more): it was promoted, or it is the primary itself"
        if timeline != primary[1]:
            return f"it follows timeline {timeline}, the primary has {primary[1]}"
        if not replayed:
            return "it has replayed nothing of the log yet"
        self.replayed = parse_lsn(replayed)
        self._contains_until = max(self._contains_until, self._log.contained_until(self.replayed))
        return None

    def _note(self, fault: str | None) -> None:
        if fault is not None:
            self._contains_until = EVER
            if self.fault is None:
                observe(ReplicaUnusable(self.name, fault))
        elif self.fault is not None:
            observe(ReplicaUsable(self.name))
        self.fault = fault
