"""Pipelines quick reads of several requests on one connection.

    reads of one loop iteration --> group (at most `MAX_GROUP`) --> one connection, one write --> replies in order

Reads that arrive in the same loop iteration are sent in one write, each with its own settings and its own Sync. So each is a
transaction of its own, and an error affects only its own request. What is saved are wake-ups and cold caches: few server
processes do the work of many, and each finds the next read in what it has already received.

- Only transactions with `may_share` whose last statement was quick recently (`_QUICK_S`) are shared, and only while other
  connections are busy: below that, separate connections let the server work in parallel.
- A group takes a connection of the share of one of its callers. If none of them may have one now, each caller's reads wait
  as a group of their own, which later reads of that caller may join. When its connection arrives, waiting reads of other
  callers are added if these callers use no more connections than this one.
- A read whose statement is not prepared on the connection, or is stale there, runs alone on another connection.
- A read behind a slow one must not wait for it: if no reply arrives between two checks (`_CHECK_S` apart), all reads behind
  it run alone, on other connections. The server executes their first copies later, and those replies are thrown away, which
  is safe because they only read.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from broker.requests.fair_queue import PLATFORM
from schemas.bounded_cache import BoundedCache
from workers.database.errors import Disconnected, PoolBusy, PoolTimeout, SessionEnded
from workers.database.protocol.exchange import ExchangeReply, PipelinedExchange
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.transactions.model import RowsAndLongValue, TransactionSpec
from workers.database.transactions.perform import messages_for_shared, result_of_shared

MAX_GROUP = 4
"""Reads that share a connection at a time."""

_QUICK_S = 0.005
"""A statement that takes less, measured here, is quick."""
_RISE, _FALL = 1 / 16, 1 / 4
"""Weight of a new measurement in a statement's moving average, for a longer and for a shorter one. A longer time may come from
this process being busy, so it counts little; but one execution of a second keeps its statement unshared for a while."""
_MAX_STATEMENTS = 1000
"""Number of statements whose times are stored."""
_CHECK_S = 0.025
"""Seconds between checks. A read that has blocked others at two checks in a row is slow."""


class _RunAlone(Exception):
    """A read must run on a connection of its own."""


class ConnectionLender(Protocol):
    """Lends connections to groups: the pool."""

    def lend(self, caller_key: str) -> PostgresConnection | None:
        """Return a connection that is free now, if this caller's share allows one."""
        ...

    async def lend_later(self, caller_key: str) -> PostgresConnection:
        """Wait for a connection of this caller's share. Raises: PoolTimeout, Disconnected."""
        ...

    def held(self, caller_key: str) -> int:
        """Return how many connections a caller uses."""
        ...

    def take_back(self, connection: PostgresConnection) -> None:
        """Take a connection back."""
        ...


class _SharedRead:
    """One read. The connection sets `reply`, in which `before` results come before the read's own."""

    __slots__ = ("before", "caller_key", "group", "reply", "spec")

    def __init__(self, spec: TransactionSpec, caller_key: str, reply: asyncio.Future[ExchangeReply]) -> None:
        self.spec = spec
        self.caller_key = caller_key
        self.group: _ReadGroup | None = None
        self.reply = reply
        self.before = 0


class _ReadGroup:
    """Reads that share a connection, in order."""

    __slots__ = ("connection", "reads", "started_at", "unanswered")

    def __init__(self) -> None:
        self.reads: list[_SharedRead] = []
        self.connection: PostgresConnection | None = None
        self.started_at = 0.0
        self.unanswered = -1
        """Number of missing replies at the last check."""


class SharedReads:
    """The groups of shared reads of one pool."""

    def __init__(self, lender: ConnectionLender) -> None:
        self._lender = lender
        self._loop = asyncio.get_running_loop()
        self._collecting: _ReadGroup | None = None
        """Collects the reads of this loop iteration."""
        self._waiting: dict[str, tuple[_ReadGroup, asyncio.Task[None]]] = {}
        """Groups that wait for a connection and are not full, by caller. A newer group of a caller replaces an older one, which no read
        joins any more."""
        self._waiting_tasks: set[asyncio.Task[None]] = set()
        self._running: set[_ReadGroup] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._average_s = BoundedCache[str, float](_MAX_STATEMENTS)

    def is_quick(self, spec: TransactionSpec) -> bool:
        """Return whether a transaction may be shared and its last statement was quick recently; an unknown statement is not quick."""
        is_plain = spec.may_share and spec.isolation is None
        return is_plain and self._average_s.get(spec.statements[-1].text, _QUICK_S) < _QUICK_S

    def note(self, spec: TransactionSpec, seconds: float) -> None:
        """Update the moving average of a statement's time."""
        text = spec.statements[-1].text
        average = self._average_s.get(text)
        if average is None:
            average = seconds
        self._average_s.put(text, average + (seconds - average) * (_RISE if seconds > average else _FALL))

    async def run(self, spec: TransactionSpec, caller_key: str = PLATFORM) -> RowsAndLongValue | None:
        """Run a transaction in a group; return None if it must run on a connection of its own.

        Raises: DatabaseError, Disconnected, PoolTimeout.
        """
        read = _SharedRead(spec, caller_key, self._loop.create_future())
        self._join(read)
        try:
            reply = await read.reply
        except (_RunAlone, SessionEnded):
            return None
        except asyncio.CancelledError:
            _abandon(read.reply)
            raise
        finally:
            group, read.group = read.group, None  # the group holds its reads: a cycle
        result = result_of_shared(spec, reply, read.before)
        if result is None and group is not None and group.connection is not None:
            group.connection.must_retire = True
        return result

    def _join(self, read: _SharedRead) -> None:
        """Add a read to its caller's waiting group, or to the group of this loop iteration."""
        if self._waiting and (waiting := self._waiting.get(read.caller_key)) is not None:
            group = waiting[0]
            group.reads.append(read)
            if len(group.reads) >= MAX_GROUP:
                del self._waiting[read.caller_key]
            return
        if (collecting := self._collecting) is None:
            collecting = self._collecting = _ReadGroup()
            self._loop.call_soon(self._send_or_wait, collecting)
        collecting.reads.append(read)
        if len(collecting.reads) >= MAX_GROUP:
            self._collecting = None

    def _send_or_wait(self, group: _ReadGroup) -> None:
        """Send the group if one of its callers may have a connection; otherwise let each caller's reads wait as a group."""
        if self._collecting is group:
            self._collecting = None
        first = group.reads[0].caller_key
        connection = self._lender.lend(first)
        if connection is not None:
            self._start(group, connection)
            return
        by_caller: dict[str, _ReadGroup] = {}
        for read in group.reads:
            by_caller.setdefault(read.caller_key, _ReadGroup()).reads.append(read)
        for caller_key in by_caller.keys() - {first}:
            connection = self._lender.lend(caller_key)
            if connection is not None:
                self._start(group, connection)
                return
        for caller_key, waiting in by_caller.items():
            task = self._loop.create_task(self._wait(waiting, caller_key))
            self._waiting_tasks.add(task)
            task.add_done_callback(self._waiting_tasks.discard)
            if len(waiting.reads) < MAX_GROUP:
                self._waiting[caller_key] = waiting, task

    async def _wait(self, group: _ReadGroup, caller_key: str) -> None:
        try:
            connection = await self._lender.lend_later(caller_key)
        except (PoolTimeout, Disconnected) as error:
            self._close(group, caller_key)
            for read in group.reads:
                if not read.reply.done():
                    read.reply.set_exception(_copy_of(error))
        else:
            self._close(group, caller_key)
            self._add_waiting_reads(group, self._lender.held(caller_key))
            self._start(group, connection)

    def _close(self, group: _ReadGroup, caller_key: str) -> None:
        waiting = self._waiting.get(caller_key)
        if waiting is not None and waiting[0] is group:
            del self._waiting[caller_key]

    def _add_waiting_reads(self, group: _ReadGroup, caller_connections: int) -> None:
        """Fill a group with waiting reads of other callers that use no more connections than its caller."""
        for caller_key, (other, task) in list(self._waiting.items()):
            room = MAX_GROUP - len(group.reads)
            if room <= 0:
                return
            if self._lender.held(caller_key) > caller_connections:
                continue
            group.reads += other.reads[:room]
            del other.reads[:room]
            if not other.reads:
                del self._waiting[caller_key]
                task.cancel()

    def _start(self, group: _ReadGroup, connection: PostgresConnection) -> None:
        """Send all reads whose statements the connection has prepared; the others run alone."""
        exchanges: list[PipelinedExchange] = []
        reads: list[_SharedRead] = []
        for read in group.reads:
            if read.reply.done():
                continue
            spec = read.spec
            try:
                prepared = messages_for_shared(connection, spec)
            except Exception as error:  # an error in one read's parameters must not fail the group
                read.reply.set_exception(error)
                continue
            if prepared is None:
                read.reply.set_exception(_RunAlone())
                continue
            messages, read.before = prepared
            last, separator = read.before + len(spec.statements) - 1, spec.statements[-1].separator
            read.group = group
            exchanges.append(PipelinedExchange(messages, last, read.reply, separator))
            reads.append(read)
        group.reads = reads
        if not exchanges:
            self._lender.take_back(connection)
            return
        group.connection, group.started_at = connection, self._loop.time()
        try:
            connection.exchange_several(exchanges, partial(self._finish, group))
        except Disconnected:  # the connection has just broken
            _let_run_alone(reads)
            self._lender.take_back(connection)
            return
        self._running.add(group)
        if self._timer is None:
            self._timer = self._loop.call_later(_CHECK_S, self._check_progress)

    def _finish(self, group: _ReadGroup) -> None:
        """Take the connection back: all replies have arrived, or it is lost."""
        self._running.discard(group)
        share = (self._loop.time() - group.started_at) / len(group.reads)
        for read in group.reads:
            self.note(read.spec, share)
        if group.connection is not None:
            self._lender.take_back(group.connection)

    def _check_progress(self) -> None:
        """Make the reads behind a slow read run alone, and return a connection whose reads have all been abandoned."""
        self._timer = None
        for group in list(self._running):
            connection = group.connection
            if connection is None:
                continue
            unanswered = connection.unanswered
            if unanswered != group.unanswered:
                group.unanswered = unanswered
                continue
            _let_run_alone(group.reads[len(group.reads) - unanswered + 1 :])
            if not connection.is_sending_long_value and group.reads[-unanswered].reply.done():
                connection.drop_callback()
                self._finish(group)
        if self._running:
            self._timer = self._loop.call_later(_CHECK_S, self._check_progress)


def _let_run_alone(reads: Sequence[_SharedRead]) -> None:
    for read in reads:
        if not read.reply.done():
            read.reply.set_exception(_RunAlone())


def _abandon(reply: asyncio.Future[ExchangeReply]) -> None:
    """Drop a reply that may have arrived in the loop iteration in which its caller was cancelled."""
    if reply.done() and not reply.cancelled():
        with suppress(Exception):  # read, so that asyncio does not log it as never retrieved
            if (long := reply.result().long) is not None:
                long.abandon()


def _copy_of(error: PoolTimeout | Disconnected) -> Exception:
    """Return a copy of an error: one object raised in many tasks would collect all their tracebacks."""
    match error:
        case PoolBusy():
            return PoolBusy(error.reason, error.retry_after_s)
        case PoolTimeout():
            return PoolTimeout()
        case _:
            return Disconnected(error.message, error.code)
