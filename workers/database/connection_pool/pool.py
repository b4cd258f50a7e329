"""The connection pool: runs transactions on connections that callers share fairly, last in first out.

- Which caller gets a connection, and which callers wait, is decided by shares.py.
- A connection is handed out only when it is settled: no exchange under way, no open transaction (open_connections.py opens,
  settles and closes them).
- A long value occupies its connection until it has ended (protocol/long_value.py).
- Quick reads share one connection while others are busy (shared_reads.py), and writes of one moment wait for the disk together
  (shared_commits.py).
- If the server does not answer and no connection is open, callers fail at once.

Hot path: `run` and `run_long`, each with one synchronous `_take` and one exchange.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple, Self

from broker.observability.tracing import STATE
from broker.requests.current_request import CURRENT
from broker.requests.fair_queue import PLATFORM
from workers.database.connection_pool.open_connections import OpenConnections, PoolEvent, PoolTimes
from workers.database.connection_pool.shared_commits import SharedCommits
from workers.database.connection_pool.shared_reads import SharedReads
from workers.database.connection_pool.shares import ConnectionShares
from workers.database.errors import DatabaseError, ServerSilent, SessionEnded
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
from workers.database.transactions.repeat import ATTEMPTS
from workers.database.transactions.sql_span import in_sql_span
from workers.database.transactions.statement_lines import StatementLines
from workers.database.transactions.unknown_outcome import or_unknown, raise_unknown

_SHARING_FROM = 2
"""Number of busy connections from which on reads share one."""
_TIMES = PoolTimes()


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
        self._prepared, self.name = prepared, name
        self._lines = StatementLines(name, shows_text=shows_statements)
        self._shares = ConnectionShares(
            name,
            size,
            partial(
                OpenConnections,
                url=url,
                size=size,
                prepared=prepared,
                times=times,
                on_event=on_event,
                body_space=body_space,
            ),
            acquire_timeout=acquire_timeout,
            max_waiting=max_waiting,
        )
        self._connections = self._shares.connections
        self._loop = asyncio.get_running_loop()
        self._shared_reads = SharedReads(self._shares)
        self._commits = SharedCommits(self._connections.take_back)
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
        return PoolState(len(self._connections.open), len(self._connections.idle), self._shares.waiting)

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
        return self._shares.is_starved

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
        commits = self._commits
        attempts_left = 1 if decide is not None else ATTEMPTS
        while True:
            attempts_left -= 1
            connection: PostgresConnection | None = self._shares.take() or await self._shares.acquire()
            assert connection is not None
            commits.writing += spec.writes
            started_at = self._loop.time()
            try:
                shared = commits.without_wait(spec) if spec.writes else None
                running = perform(connection, shared or spec, decide)
                if STATE.tracing is not None:
                    running = in_sql_span(STATE.tracing, spec.statements, running)
                rows = await running
                self._lines.ended(spec.statements, self._loop.time() - started_at)
                if shared is not None:
                    stored, connection = commits.stored(connection), None
                    await stored
                return rows
            except DatabaseError as error:
                self._lines.failed(spec.statements, self._loop.time() - started_at, error)
                raise
            except SessionEnded:
                if not attempts_left:
                    raise
            except ServerSilent as error:
                if spec.read_only:
                    raise
                raise_unknown(error)
            finally:
                commits.writing -= spec.writes
                if connection is None:
                    pass
                elif spec.writes:
                    commits.release(connection)
                else:
                    self._connections.take_back(connection)

    async def run_long(self, spec: TransactionSpec) -> RowsAndLongValue:
        """Run one transaction that only reads; its last value may be long (see `TransactionRunner`)."""
        if self.read_elsewhere is not None and spec.may_run_on_replica:
            elsewhere = await self.read_elsewhere(spec)
            if elsewhere is not None:
                return elsewhere
        is_crowded = (
            self._prepared and len(self._connections.open) - len(self._connections.idle) >= _SHARING_FROM
        )
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
        return await self._run_long(spec)

    async def _run_long(self, spec: TransactionSpec) -> RowsAndLongValue:
        attempts_left = ATTEMPTS
        while True:
            attempts_left -= 1
            connection = self._shares.take() or await self._shares.acquire()
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
            except SessionEnded:
                if not attempts_left:
                    raise
                continue
            finally:
                if long is None:
                    self._connections.take_back(connection)
            if long is not None:
                long.when_over(partial(self._connections.take_back, connection))
            return result

    @asynccontextmanager
    async def transaction(
        self,
        settings: Sequence[tuple[str, str]] = (),
        *,
        isolation: str | None = None,
        is_snapshot: bool = False,
        writes: bool = False,
    ) -> AsyncIterator[Transaction]:
        """Yield a transaction with its settings (transactions/interactive.py).

        `isolation`: its level; None: the database's default. `is_snapshot`: it only reads, all of it one snapshot (repeatable read).
        `writes`: as in `TransactionSpec`. The end of the block commits, an exception rolls back. Raises, at the first statement: as `run`.
        """
        transaction = Transaction(
            self._shares.take_or_wait,
            self._connections.take_back,
            settings,
            self._lines,
            isolation="repeatable read" if is_snapshot else isolation,
            read_only=is_snapshot,
            commits=self._commits if writes else None,
        )
        self._commits.writing += writes
        try:
            try:
                yield transaction
            except BaseException:
                await transaction.roll_back()
                raise
            await or_unknown(transaction.commit())
        finally:
            if transaction.connection is not None:
                self._commits.release(transaction.connection)
            self._commits.writing -= writes

    async def close(self, grace: float = 5.0) -> None:
        """Reject new transactions, wait up to `grace` seconds for running ones, and close every connection."""
        await self._shares.close(grace)


def _caller_key() -> str:
    request = CURRENT.get()
    return PLATFORM if request is None else request.caller_key
