"""The connections of one data pool: shared between callers, used last in first out.

A request that finds no free connection of its caller's share waits, for a time, in a queue that is fair to callers and bounded
(broker/requests/fair_queue.py); one that would wait in vain is refused at once. The caller is that of the request that the running task
serves (broker/requests/current_request.py). Making, settling and closing connections is in workers/database/connections.py: a connection
is given out only when it is known to be settled. A long value keeps its connection until it is over
(workers/database/long_value.py), and quick reads share one where others are busy (workers/database/groups.py). When the server
is gone and no connection is left, callers fail at once.
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
from workers.database.connections import OpenConnections, PoolEvent, PoolTimes
from workers.database.errors import Disconnected, PoolBusy, PoolTimeout
from workers.database.groups import Groups
from workers.database.interactive import Transaction
from workers.database.long_value import LongValue
from workers.database.pipeline import Pipeline
from workers.database.row_body import BodySpace
from workers.database.session import Decision, Found, Rows, Sessions, Work
from workers.database.traced import traced
from workers.database.transaction import perform, perform_long

_ALONE = 2
"""Connections that are in use before reads share one."""
_TIMES = PoolTimes()
_SWEEP_S = 0.1
"""How often requests that wait are looked through."""


class PoolState(NamedTuple):
    """How many connections are open, how many of them idle, and how many callers wait."""

    open: int
    idle: int
    waiting: int


class Pool(Sessions):
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
    ) -> None:
        if size < 1:
            raise ValueError("a pool needs at least one connection")
        self._prepared, self._acquire_timeout, self._name = prepared, acquire_timeout, name
        self._connections = OpenConnections(
            self, url, size, prepared=prepared, times=times, on_event=on_event, body_space=body_space
        )
        self._idle = self._connections.idle
        self._queue: FairQueue[asyncio.Future[Pipeline]] = FairQueue(size, max_waiting)
        self._loop = asyncio.get_running_loop()
        self._sweeping: asyncio.TimerHandle | None = None
        self._groups = Groups(self)

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
    ) -> Self:
        """Open a pool of at most `size` connections and make the first.

        A server that is away is no error: callers get `Disconnected` until it is there. `prepared=False` is for poolers
        that do not keep prepared statements. `max_waiting` bounds the queue, `body_space` what answers may
        take on disk, and `name` is that of the queue in the metrics.
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
        )
        await pool._connections.connect()
        pool._connections.reap()
        return pool

    @property
    def state(self) -> PoolState:
        """Give the present numbers, for health checks and metrics."""
        return PoolState(len(self._connections.open), len(self._idle), self._queue.waiting)

    @property
    def is_refused(self) -> bool:
        """Whether the server refused the last attempt to connect, and no connection is left: callers fail now."""
        return self._connections.refusal is not None and not self._connections.open

    async def run(self, work: Work, decide: Decision | None = None) -> list[Rows]:
        """Run one transaction; give the rows of each statement (see `Sessions`)."""
        pipeline = self._take() or await self._acquire()
        try:
            if STATE.tracing is not None:
                return await traced(STATE.tracing, work.statements, perform(pipeline, work, decide))
            return await perform(pipeline, work, decide)
        finally:
            self._connections.take_back(pipeline)

    async def run_long(self, work: Work) -> Found:
        """Run one transaction that only reads; its last value may come while it arrives (see `Sessions`)."""
        is_crowded = self._prepared and len(self._connections.open) - len(self._idle) >= _ALONE
        if is_crowded and self._groups.is_quick(work):
            sharing: Awaitable[Found | None] = self._groups.run(work, _caller_key())
            if STATE.tracing is not None:
                sharing = traced(STATE.tracing, work.statements, sharing)
            shared = await sharing
            if shared is not None:
                return shared
        pipeline = self._take() or await self._acquire()
        long: LongValue | None = None
        began = self._loop.time()
        try:
            doing = perform_long(pipeline, work)
            if STATE.tracing is not None:
                doing = traced(STATE.tracing, work.statements, doing)
            found = await doing
            long = found[1]
            if work.may_share:
                self._groups.note(work, self._loop.time() - began)
        finally:
            if long is None:
                self._connections.take_back(pipeline)
        if long is not None:
            long.when_over(partial(self._connections.take_back, pipeline))
        return found

    @asynccontextmanager
    async def transaction(self, settings: Sequence[tuple[str, str]] = ()) -> AsyncIterator[Transaction]:
        """Give a transaction for a block, with its settings (`workers/database/interactive.py`).

        The block's end commits, an exception rolls back. Raises, at the first statement: as `run`.
        """
        transaction = Transaction(self._lend, settings)
        try:
            try:
                yield transaction
            except BaseException:
                await transaction.roll_back()
                raise
            await transaction.commit()
        finally:
            if transaction.pipeline is not None:
                self._connections.take_back(transaction.pipeline)

    def lend(self, caller_key: str) -> Pipeline | None:
        """Give a connection to a group of reads, if one is free now that this caller may have."""
        return self._take_for(caller_key) if self._idle else None

    async def lend_later(self, caller_key: str) -> Pipeline:
        """Wait for a connection of a caller's share. Raises: PoolTimeout, Disconnected."""
        return self.lend(caller_key) or await self._wait(caller_key, math.inf)

    def held(self, caller_key: str) -> int:
        """Return how many connections a caller has."""
        return self._queue.held(caller_key)

    def take_back(self, pipeline: Pipeline) -> None:
        """Take back what was lent."""
        self._connections.take_back(pipeline)

    async def close(self, grace: float = 5.0) -> None:
        """Refuse new work, let what runs finish within `grace` seconds, and close every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._connections.is_closed = True
        self.fail_waiting(Disconnected("the pool is closed"))
        await self._connections.close(grace)

    # What the connections call (connections.ConnectionOwner)

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a connection."""
        return self._queue.waiting

    def share(self, size: int) -> None:
        """Share so many connections between callers."""
        self._queue.places = size

    def give_up_place(self, pipeline: Pipeline) -> None:
        """Note that the caller that had this connection does not use it any more."""
        if pipeline.holder is not None:
            self._queue.release(pipeline.holder, pipeline.taken_at, self._loop.time())
            pipeline.holder = None

    def serve_waiting(self) -> None:
        """Give idle connections to requests that wait, in turn."""
        while self._queue.waiting and self._idle:
            now = self._loop.time()
            entry = self._queue.next(now)
            if entry is None:
                return
            if entry.item.done():  # its task was cancelled a moment ago
                self._queue.release(entry.key, now, now)
                continue
            pipeline = self._idle.pop()
            pipeline.holder, pipeline.taken_at = entry.key, now
            observe_connection_wait(self._name, now - entry.since)
            entry.item.set_result(pipeline)

    def fail_waiting(self, error: Disconnected) -> None:
        """Fail the requests that wait: there is no connection."""
        for entry in self._queue.clear():
            if not entry.item.done():
                entry.item.set_exception(Disconnected(error.message, error.code))

    # Taking

    def _take(self) -> Pipeline | None:
        """Take an idle connection for the request that is served, if there is one that its caller may have."""
        if not self._idle:
            return None
        request = CURRENT.get()
        return self._take_for(PLATFORM if request is None else request.caller_key)

    def _take_for(self, caller_key: str) -> Pipeline | None:
        now = self._loop.time()
        if not self._queue.take(caller_key, now):
            return None
        pipeline = self._idle.pop()
        pipeline.holder, pipeline.taken_at = caller_key, now
        return pipeline

    async def _lend(self) -> Pipeline:
        return self._take() or await self._acquire()

    async def _acquire(self) -> Pipeline:
        """Wait for a connection for the request that is served. Raises: as `_wait`."""
        request = CURRENT.get()
        if request is None:
            return await self._wait(PLATFORM, math.inf)
        return await self._wait(request.caller_key, request.deadline)

    async def _wait(self, caller_key: str, deadline: float) -> Pipeline:
        """Wait for a connection of a caller's share. Raises: PoolTimeout, Disconnected."""
        connections = self._connections
        if connections.is_closed:
            raise Disconnected("the pool is closed")
        if connections.refusal is not None and not connections.open:
            raise Disconnected(connections.refusal.message, connections.refusal.code)
        now = self._loop.time()
        waiter: asyncio.Future[Pipeline] = self._loop.create_future()
        try:
            entry = self._queue.wait(
                caller_key, waiter, now, longest_s=self._acquire_timeout, deadline=deadline
            )
        except QueueFull as full:
            raise self._refusal(full) from None
        connections.grow()
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(_SWEEP_S, self._sweep)
        try:
            return await waiter
        except BaseException:
            self._queue.discard(entry)
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                connections.take_back(waiter.result())  # cancelled in the moment the connection came
            raise

    def _sweep(self) -> None:
        """Refuse the requests that will not get a connection in time."""
        self._sweeping = None
        for entry, full in self._queue.late(self._loop.time()):
            if not entry.item.done():
                entry.item.set_exception(self._refusal(full))
        if self._queue.waiting:
            self._sweeping = self._loop.call_later(_SWEEP_S, self._sweep)

    def _refusal(self, full: QueueFull) -> PoolTimeout:
        observe(ConnectionRefused(self._name, full.reason))
        return PoolTimeout() if full.reason == "waited" else PoolBusy(full.reason, full.retry_after_s)


def _caller_key() -> str:
    request = CURRENT.get()
    return PLATFORM if request is None else request.caller_key
