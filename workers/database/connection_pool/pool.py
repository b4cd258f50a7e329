"""The connection pool: runs transactions on connections that callers share fairly, last in first out.

- A request whose caller already uses its share of connections waits in a bounded queue that is fair to callers
  (broker/requests/fair_queue.py). A request that would certainly time out there fails at once. The caller is that of the
  request that the running task serves (broker/requests/current_request.py).
- A connection is handed out only when it is settled: no exchange under way, no open transaction (open_connections.py opens,
  settles and closes them).
- A long value occupies its connection until it has ended (protocol/long_value.py).
- Quick reads share one connection while others are busy (shared_reads.py).
- If the server does not answer and no connection is open, callers fail at once.

Hot path: `run` and `run_long`, each with one synchronous `_take` and one exchange.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple, Self

from broker.observability.observations import ConnectionRefused
from broker.observability.observe import observe, observe_connection_wait
from broker.observability.tracing import STATE
from broker.requests.current_request import CURRENT
from broker.requests.fair_queue import PLATFORM, FairQueue, QueueFull
from workers.database.connection_pool.open_connections import OpenConnections, PoolEvent, PoolTimes
from workers.database.connection_pool.shared_reads import SharedReads
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout, ServerSilent
from workers.database.protocol.long_value import LongValue
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.protocol.row_body import BodySpace
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import (
    CommitDecision,
    RowsAndLongValue,
    TransactionRunner,
    TransactionSpec,
)
from workers.database.transactions.perform import perform, perform_long
from workers.database.transactions.repeat import repeat_if_ended
from workers.database.transactions.sql_span import in_sql_span
from workers.database.transactions.statement_lines import StatementLines
from workers.database.transactions.unknown_outcome import or_unknown

_SHARING_FROM = 2
"""Number of busy connections from which on reads share one."""
_TIMES = PoolTimes()
_STARVED_FOR_S = 30.0
"""How long a caller that found no connection counts as one that needs one: callers that fail at once do not wait."""
_LATE_CHECK_S = 0.1
"""Seconds between checks for waiting requests that time out."""


ReadElsewhere = Callable[[TransactionSpec], Awaitable[RowsAndLongValue | None]]
"""Runs a read on another server; None if it must run on this pool's."""


class PoolState(NamedTuple):
    """Numbers of open connections, idle ones among them, and waiting requests."""

    open: int
    idle: int
    waiting: int


class ConnectionPool(TransactionRunner):
    """Connections to one database."""

    def __init__(
        self,
        url: str,
        size: int,
        *,
        prepared: bool,
        acquire_timeout: float,
        max_waiting: int,
        times: PoolTimes,
        on_event: Callable[[PoolEvent], None] | None,
        body_space: BodySpace,
        name: str,
        shows_statements: bool = False,
    ) -> None:
        if size < 1:
            raise ValueError("a connection pool needs at least one connection")
        self.size = size
        """The largest number of connections."""
        self._prepared, self._acquire_timeout, self.name = prepared, acquire_timeout, name
        self._needed_at = -math.inf
        """When a caller last found no idle connection."""
        self._lines = StatementLines(name, shows_text=shows_statements)
        self._connections = OpenConnections(
            self, url, size, prepared=prepared, times=times, on_event=on_event, body_space=body_space
        )
        self._idle = self._connections.idle
        self._queue: FairQueue[asyncio.Future[PostgresConnection]] = FairQueue(size, max_waiting)
        self._loop = asyncio.get_running_loop()
        self._late_timer: asyncio.TimerHandle | None = None
        self._shared_reads = SharedReads(self)
        self.read_elsewhere: ReadElsewhere | None = None
        """Where `run_long` runs reads first that may run on a replica."""

    @classmethod
    async def open(
        cls,
        url: str,
        size: int,
        *,
        prepared: bool = True,
        acquire_timeout: float = 10.0,
        max_waiting: int = 1024,
        times: PoolTimes = _TIMES,
        on_event: Callable[[PoolEvent], None] | None = None,
        body_space: BodySpace | None = None,
        name: str = "database",
        shows_statements: bool = False,
    ) -> Self:
        """Open a pool of at most `size` connections and its first connection.

        A server that does not answer is not an error here: callers get `Disconnected` until it does. `prepared=False` is for
        poolers that do not keep prepared statements. `max_waiting` limits the queue, `body_space` the bytes of responses on
        disk; `name` is the queue's name in the metrics. `shows_statements`: log lines may show the statements, because they contain no values.
        Raises: ValueError if the URL cannot be read.
        """
        pool = cls(
            url,
            size,
            prepared=prepared,
            acquire_timeout=acquire_timeout,
            max_waiting=max_waiting,
            times=times,
            on_event=on_event,
            body_space=body_space or BodySpace(),
            name=name,
            shows_statements=shows_statements,
        )
        await pool._connections.connect()
        pool._connections.reap()
        return pool

    @property
    def state(self) -> PoolState:
        """The current numbers, for health checks and metrics."""
        return PoolState(len(self._connections.open), len(self._idle), self._queue.waiting)

    @property
    def is_refused(self) -> bool:
        """Whether the last attempt to connect failed and no connection is open, so that callers fail."""
        return self._connections.outage is not None

    @property
    def outage(self) -> int | None:
        """A number that names the present outage (`is_refused`); None while there is none. Equal: no connection in between."""
        return self._connections.outage

    @property
    def is_starved(self) -> bool:
        """Whether callers need a connection, or needed one a moment ago, and none is open."""
        if self._connections.open or self._connections.is_closed:
            return False
        return self._queue.waiting > 0 or self._loop.time() - self._needed_at < _STARVED_FOR_S

    @property
    def unanswered_since(self) -> float | None:
        """Since when the caller of the oldest exchange under way has had its connection; None without one."""
        return min(
            (connection.acquired_at for connection in self._connections.open if connection.is_busy),
            default=None,
        )

    def expect_answers(self) -> None:
        """Begin to note whether any connection receives something (silence_watch.py)."""
        for connection in self._connections.open:
            connection.was_heard = False

    @property
    def was_answered(self) -> bool:
        """Whether any connection received something since `expect_answers`."""
        return any(connection.was_heard for connection in self._connections.open)

    def give_up_connections(self, error: ServerSilent) -> int:
        """End all connections with an error, because the server is silent; return how many there were."""
        return self._connections.give_up(error)

    @property
    def connect_state(self) -> str:
        """The state of the pool's connecting, for the log; it contains no error text of the server."""
        state = self._connections.state
        return f"{type(state).__name__}, attempts under way: {state.attempts}"

    async def run(self, spec: TransactionSpec, decide: CommitDecision | None = None) -> list[Rows]:
        """Run one transaction and return the rows of each statement (see `TransactionRunner`)."""
        if decide is not None:
            return await self._run(spec, decide)
        return await repeat_if_ended(lambda: self._run(spec, None))

    async def _run(self, spec: TransactionSpec, decide: CommitDecision | None) -> list[Rows]:
        connection = self._take() or await self._acquire()
        started_at = self._loop.time()
        try:
            running = perform(connection, spec, decide)
            if STATE.tracing is not None:
                running = in_sql_span(STATE.tracing, spec.statements, running)
            rows = await (running if spec.read_only else or_unknown(running))
            self._lines.ended(spec.statements, self._loop.time() - started_at)
            return rows
        except DatabaseError as error:
            self._lines.failed(spec.statements, self._loop.time() - started_at, error)
            raise
        finally:
            self._connections.take_back(connection)

    async def run_long(self, spec: TransactionSpec) -> RowsAndLongValue:
        """Run one transaction that only reads; its last value may be long (see `TransactionRunner`)."""
        if self.read_elsewhere is not None and spec.may_run_on_replica:
            elsewhere = await self.read_elsewhere(spec)
            if elsewhere is not None:
                return elsewhere
        is_crowded = self._prepared and len(self._connections.open) - len(self._idle) >= _SHARING_FROM
        if is_crowded and self._shared_reads.is_quick(spec):
            sharing: Awaitable[RowsAndLongValue | None] = self._shared_reads.run(spec, _caller_key())
            if STATE.tracing is not None:
                sharing = in_sql_span(STATE.tracing, spec.statements, sharing)
            sharing_since = self._loop.time()
            try:
                shared = await sharing
            except DatabaseError as error:
                self._lines.failed(spec.statements, self._loop.time() - sharing_since, error)
                raise
            if shared is not None:
                self._lines.ended(spec.statements, self._loop.time() - sharing_since)
                return shared
        return await repeat_if_ended(lambda: self._run_long(spec))

    async def _run_long(self, spec: TransactionSpec) -> RowsAndLongValue:
        connection = self._take() or await self._acquire()
        long: LongValue | None = None
        started_at = self._loop.time()
        try:
            running = perform_long(connection, spec)
            if STATE.tracing is not None:
                running = in_sql_span(STATE.tracing, spec.statements, running)
            result = await running
            long = result[1]
            duration_s = self._loop.time() - started_at
            self._lines.ended(spec.statements, duration_s)
            if spec.may_share:
                self._shared_reads.note(spec, duration_s)
        except DatabaseError as error:
            self._lines.failed(spec.statements, self._loop.time() - started_at, error)
            raise
        finally:
            if long is None:
                self._connections.take_back(connection)
        if long is not None:
            long.when_over(partial(self._connections.take_back, connection))
        return result

    @asynccontextmanager
    async def transaction(
        self, settings: Sequence[tuple[str, str]] = (), *, is_snapshot: bool = False
    ) -> AsyncIterator[Transaction]:
        """Yield a transaction with its settings (transactions/interactive.py). `is_snapshot`: it only reads, all of it one snapshot.

        The end of the block commits, an exception rolls back. Raises, at the first statement: as `run`.
        """
        transaction = Transaction(
            self._take_or_wait, self._connections.take_back, settings, self._lines, is_snapshot=is_snapshot
        )
        try:
            try:
                yield transaction
            except BaseException:
                await transaction.roll_back()
                raise
            await or_unknown(transaction.commit())
        finally:
            if transaction.connection is not None:
                self._connections.take_back(transaction.connection)

    def lend(self, caller_key: str) -> PostgresConnection | None:
        """Take a connection for a group of reads, if the caller's share has one free now."""
        return self._take_for(caller_key) if self._idle else None

    async def lend_later(self, caller_key: str) -> PostgresConnection:
        """Wait for a connection of a caller's share for a group of reads. Raises: PoolTimeout, Disconnected."""
        return self.lend(caller_key) or await self._wait(caller_key, math.inf)

    def held(self, caller_key: str) -> int:
        """Return how many connections a caller uses."""
        return self._queue.held(caller_key)

    def take_back(self, connection: PostgresConnection) -> None:
        """Take back the connection of a group of reads."""
        self._connections.take_back(connection)

    async def close(self, grace: float = 5.0) -> None:
        """Reject new transactions, wait up to `grace` seconds for running ones, and close every connection."""
        if self._late_timer is not None:
            self._late_timer.cancel()
        self._connections.is_closed = True
        self.fail_waiting(Disconnected("the pool is closed"))
        await self._connections.close(grace)

    # Called by the open connections (open_connections.ConnectionOwner)

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a connection."""
        return self._queue.waiting

    def share(self, size: int) -> None:
        """Set how many connections are shared between callers."""
        self._queue.slots = size

    def give_up_place(self, connection: PostgresConnection) -> None:
        """Note that the caller of this connection no longer uses it."""
        if connection.holder is not None:
            self._queue.release(connection.holder, connection.acquired_at, self._loop.time())
            connection.holder = None

    def serve_waiting(self) -> None:
        """Assign idle connections to waiting requests, in the queue's order."""
        while self._queue.waiting and self._idle:
            now = self._loop.time()
            entry = self._queue.next(now)
            if entry is None:
                return
            if entry.item.done():  # its task was cancelled, and has not left the queue yet
                self._queue.release(entry.key, now, now)
                continue
            connection = self._idle.pop()
            connection.holder, connection.acquired_at = entry.key, now
            observe_connection_wait(self.name, now - entry.since)
            entry.item.set_result(connection)

    def fail_waiting(self, error: Disconnected) -> None:
        """Fail the waiting requests: no connection can be opened."""
        for entry in self._queue.clear():
            if not entry.item.done():
                entry.item.set_exception(Disconnected(error.message, error.code))

    # Taking a connection

    def _take(self) -> PostgresConnection | None:
        """Take an idle connection for the current request, if its caller's share allows one."""
        if not self._idle:
            return None
        request = CURRENT.get()
        return self._take_for(PLATFORM if request is None else request.caller_key)

    def _take_for(self, caller_key: str) -> PostgresConnection | None:
        now = self._loop.time()
        if not self._queue.take(caller_key, now):
            return None
        connection = self._idle.pop()
        connection.holder, connection.acquired_at = caller_key, now
        return connection

    async def _take_or_wait(self) -> PostgresConnection:
        return self._take() or await self._acquire()

    async def _acquire(self) -> PostgresConnection:
        """Wait for a connection for the current request. Raises: as `_wait`."""
        request = CURRENT.get()
        if request is None:
            return await self._wait(PLATFORM, math.inf)
        return await self._wait(request.caller_key, request.deadline)

    async def _wait(self, caller_key: str, deadline: float) -> PostgresConnection:
        """Wait for a connection of a caller's share. Raises: PoolTimeout, Disconnected."""
        connections = self._connections
        if connections.is_closed:
            raise Disconnected("the pool is closed")
        now = self._needed_at = self._loop.time()
        if connections.connect_error is not None and not connections.open:
            raise Disconnected(connections.connect_error.message, connections.connect_error.code)
        waiter: asyncio.Future[PostgresConnection] = self._loop.create_future()
        try:
            entry = self._queue.wait(
                caller_key, waiter, now, longest_s=self._acquire_timeout, deadline=deadline
            )
        except QueueFull as full:
            raise self._timeout_error(full) from None
        connections.grow()
        if self._late_timer is None:
            self._late_timer = self._loop.call_later(_LATE_CHECK_S, self._fail_late)
        try:
            return await waiter
        except BaseException:
            self._queue.discard(entry)
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                connections.take_back(
                    waiter.result()
                )  # cancelled in the same loop iteration in which the connection was assigned
            raise

    def _fail_late(self) -> None:
        """Fail the requests that will not get a connection in time."""
        self._late_timer = None
        for entry, full in self._queue.late(self._loop.time()):
            if not entry.item.done():
                entry.item.set_exception(self._timeout_error(full))
        if self._queue.waiting:
            self._late_timer = self._loop.call_later(_LATE_CHECK_S, self._fail_late)

    def _timeout_error(self, full: QueueFull) -> PoolTimeout:
        observe(ConnectionRefused(self.name, full.reason))
        return PoolTimeout() if full.reason == "waited" else PoolBusy(full.reason, full.retry_after_s)


def _caller_key() -> str:
    request = CURRENT.get()
    return PLATFORM if request is None else request.caller_key
