"""The connections of one data pool: grown when asked for, reused last in first out, replaced when they break or age.

Who finds no free connection waits in line, for a time, and in a line of bounded length. A connection is given out only
when it is known to be settled: one that a caller was cancelled on is first told to stop and asked whether it did, and
dropped if it does not answer. A long value keeps its connection until it is over (workers/database/long_value.py), and
quick reads share one where others are busy (workers/database/groups.py). When the server is gone and no connection is
left, callers fail at once while one attempt after another is made in the background, up to a quarter of a second apart.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Self

from broker.tracing import STATE
from workers.database import wire
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.groups import Groups
from workers.database.interactive import Transaction
from workers.database.long_value import LongValue, Patience
from workers.database.pipeline import Pipeline
from workers.database.session import Decision, Found, Rows, Sessions, Work
from workers.database.traced import traced
from workers.database.transaction import perform, perform_long

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25
"""Seconds between attempts to connect while the server is gone."""
_GOODBYE_S = 2.0
"""How long closing connections may take to leave."""
_ALONE = 2
"""Connections that are in use before reads share one."""


class PoolEventKind(StrEnum):
    """What happened to a connection of the pool."""

    CONNECTED = "connected"
    REFUSED = "refused"
    """A connection could not be made."""
    LOST = "lost"
    """A connection broke, or the server ended it."""
    RETIRED = "retired"
    """Closed by the pool: too old, idle, or not to be trusted."""
    CANCELLED = "cancelled"
    """A caller went away; what ran was stopped and the connection is in use again."""
    DROPPED = "dropped"
    """A caller went away and the connection could not be settled in time."""
    NOTICE = "notice"
    """The server sent a notice."""


@dataclass(frozen=True, slots=True)
class PoolEvent:
    """Something to observe. `message` holds no SQL values but those a notice of the user's own code shows."""

    kind: PoolEventKind
    message: str = ""


class PoolState(NamedTuple):
    """How many connections are open, how many of them idle, and how many callers wait."""

    open: int
    idle: int
    waiting: int


@dataclass(frozen=True, slots=True)
class PoolTimes:
    """Limits of a pool, in seconds."""

    connect: float = 10.0
    lifetime: float = 1800.0
    """A connection is replaced after this, up to a tenth earlier so that they do not all go at once."""
    idle: float = 30.0
    """An idle connection is closed after this; one always stays."""
    settle: float = 5.0
    """How long a connection may take to stop when its caller went away."""
    patience: float = 10.0
    """A long value of which nothing is taken for so long is lost, and its connection closed."""


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
    ) -> None:
        if size < 1:
            raise ValueError("a pool needs at least one connection")
        self._url, self._size, self._prepared = url, size, prepared
        self._acquire_timeout, self._max_waiting, self._times = acquire_timeout, max_waiting, times
        self._on_event = on_event
        self._patience = Patience(times.patience, times.settle)
        self._loop = asyncio.get_running_loop()
        self._open: set[Pipeline] = set()
        self._idle: list[Pipeline] = []
        self._waiting: deque[asyncio.Future[Pipeline]] = deque()
        self._connects: set[asyncio.Task[None]] = set()
        self._settles: set[asyncio.Task[None]] = set()
        self._refusal: Disconnected | None = None
        self._pause = _FIRST_PAUSE
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_closed = False
        self._is_drained = asyncio.Event()
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
        times: PoolTimes = PoolTimes(),
        on_event: Callable[[PoolEvent], None] | None = None,
    ) -> Self:
        """Open a pool of at most `size` connections and make the first.

        A server that is away is no error: callers get `Disconnected` until it is there. `prepared=False` is for poolers
        that do not keep prepared statements. `max_waiting` bounds the line of callers.
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
        )
        await pool._connect()
        pool._reap()
        return pool

    @property
    def state(self) -> PoolState:
        """Give the present numbers, for health checks and metrics."""
        return PoolState(len(self._open), len(self._idle), sum(not each.done() for each in self._waiting))

    @property
    def is_refused(self) -> bool:
        """Whether the server refused the last attempt to connect, and no connection is left: callers fail now."""
        return self._refusal is not None and not self._open

    async def run(self, work: Work, decide: Decision | None = None) -> list[Rows]:
        """Run one transaction; give the rows of each statement (see `Sessions`)."""
        pipeline = self._idle.pop() if self._idle else await self._acquire()
        try:
            if STATE.tracing is not None:
                return await traced(STATE.tracing, work.statements, perform(pipeline, work, decide))
            return await perform(pipeline, work, decide)
        finally:
            self._release(pipeline)

    async def run_long(self, work: Work) -> Found:
        """Run one transaction that only reads; its last value may come while it arrives (see `Sessions`)."""
        is_crowded = self._prepared and len(self._open) - len(self._idle) >= _ALONE
        if is_crowded and self._groups.is_quick(work):
            sharing: Awaitable[Found | None] = self._groups.run(work)
            if STATE.tracing is not None:
                sharing = traced(STATE.tracing, work.statements, sharing)
            shared = await sharing
            if shared is not None:
                return shared
        pipeline = self._idle.pop() if self._idle else await self._acquire()
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
                self._release(pipeline)
        if long is not None:
            long.when_over(partial(self._release, pipeline))
        return found

    @asynccontextmanager
    async def transaction(self, settings: Sequence[tuple[str, str]] = ()) -> AsyncIterator[Transaction]:
        """Give a transaction for a block, with its settings (`workers/database/interactive.py`).

        The block's end commits, an exception rolls back. Raises, at the first statement: as `run`.
        """
        transaction = Transaction(self.lend_later, settings)
        try:
            try:
                yield transaction
            except BaseException:
                await transaction.roll_back()
                raise
            await transaction.commit()
        finally:
            if transaction.pipeline is not None:
                self._release(transaction.pipeline)

    def lend(self) -> Pipeline | None:
        """Give a connection to a group of reads, if one is free now."""
        return self._idle.pop() if self._idle else None

    async def lend_later(self) -> Pipeline:
        """Wait in line for a connection. Raises: PoolTimeout, Disconnected."""
        return self._idle.pop() if self._idle else await self._acquire()

    def take_back(self, pipeline: Pipeline) -> None:
        """Take back what was lent."""
        self._release(pipeline)

    async def close(self, grace: float = 5.0) -> None:
        """Refuse new work, let what runs finish within `grace` seconds, and close every connection."""
        self._is_closed = True
        everyone = list(self._open)
        for timer in self._timers.values():
            timer.cancel()
        self._fail_waiting(Disconnected("the pool is closed"))
        for pipeline in list(self._idle):
            self._retire(pipeline)
        self._note_drained()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._is_drained.wait()
        for task in (*self._connects, *self._settles):
            task.cancel()
        for pipeline in list(self._open):
            pipeline.terminate("the pool is closed")
        await asyncio.gather(*self._connects, *self._settles, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                await asyncio.gather(*(pipeline.closed() for pipeline in everyone))

    async def _acquire(self) -> Pipeline:
        """Wait in line for a connection."""
        if self._is_closed:
            raise Disconnected("the pool is closed")
        if self._refusal is not None and not self._open:
            raise Disconnected(self._refusal.message, self._refusal.code)
        if len(self._waiting) >= self._max_waiting:
            raise PoolTimeout
        waiter: asyncio.Future[Pipeline] = self._loop.create_future()
        self._waiting.append(waiter)
        self._grow()
        timer = self._loop.call_later(self._acquire_timeout, _expire, waiter)
        try:
            return await waiter
        except BaseException:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._release(waiter.result())  # cancelled in the moment the connection came
            raise
        finally:
            timer.cancel()

    def _release(self, pipeline: Pipeline) -> None:
        """Take a connection back from a caller: to the next one, if it is fit for that."""
        if pipeline.lost is not None:
            return
        if not pipeline.is_settled:
            task = self._loop.create_task(self._settle(pipeline))
            self._settles.add(task)
            task.add_done_callback(self._settles.discard)
        elif (
            self._is_closed
            or pipeline.is_suspect
            or self._loop.time() - pipeline.born_at > self._times.lifetime
        ):
            self._retire(pipeline)
        else:
            self._hand_out(pipeline)

    def _hand_out(self, pipeline: Pipeline) -> None:
        """Give a settled connection to whoever has waited longest, or lay it aside."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(pipeline)
                return
        pipeline.idle_since = self._loop.time()
        self._idle.append(pipeline)

    async def _settle(self, pipeline: Pipeline) -> None:
        """Stop what a caller left running, make sure of it, and take the connection back."""
        try:
            async with asyncio.timeout(self._times.settle):
                while left := pipeline.unanswered:
                    await pipeline.cancel()
                    if pipeline.unanswered == left:  # else that one ended meanwhile, and the next runs
                        await pipeline.ready()
                # A cancel request that came late hits this command instead of the next caller's.
                await pipeline.command("reset all" if pipeline.status == wire.IDLE else "rollback")
        except (TimeoutError, OSError, DatabaseError, Disconnected) as error:
            self._observe(PoolEventKind.DROPPED, str(error) or type(error).__name__)
            pipeline.terminate("the connection could not be settled")
            return
        self._observe(PoolEventKind.CANCELLED)
        if pipeline.is_settled:
            self._release(pipeline)
        else:
            pipeline.terminate("the connection could not be settled")

    def _grow(self) -> None:
        """Connect for those who wait, unless the server refused just now."""
        if self._is_closed or self._refusal is not None:
            return
        room = self._size - len(self._open) - len(self._connects)
        wanted = max(len(self._waiting), not self._open) - len(self._connects)
        for _ in range(min(room, wanted)):
            self._start_connecting()

    def _start_connecting(self) -> None:
        task = self._loop.create_task(self._connect())
        self._connects.add(task)
        task.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[None]) -> None:
        self._connects.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._refused(Disconnected(str(error)))
        self._note_drained()

    async def _connect(self) -> None:
        """Make one connection and put it to use."""
        try:
            pipeline = await Pipeline.connect(
                self._url,
                prepared=self._prepared,
                timeout=self._times.connect,
                on_lost=self._forget,
                on_notice=lambda fields: self._observe(PoolEventKind.NOTICE, fields.get("M", "")),
            )
        except Disconnected as error:
            self._refused(error)
            return
        self._open.add(pipeline)
        pipeline.patience = self._patience
        self._refusal, self._pause = None, _FIRST_PAUSE
        pipeline.born_at = self._loop.time() - random.random() * self._times.lifetime / 10
        self._observe(PoolEventKind.CONNECTED)
        if self._is_closed:
            self._retire(pipeline)
        else:
            self._hand_out(pipeline)

    def _refused(self, error: Disconnected) -> None:
        """Rest a while before the next attempt; without any connection, callers fail meanwhile."""
        self._refusal = error
        self._observe(PoolEventKind.REFUSED, error.message)
        if not self._open:
            self._fail_waiting(error)
        if not self._is_closed and "retry" not in self._timers:
            self._timers["retry"] = self._loop.call_later(self._pause * random.uniform(0.8, 1.2), self._retry)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _retry(self) -> None:
        del self._timers["retry"]
        if not self._connects and (self._waiting or not self._open):
            self._start_connecting()
        elif self._open:
            self._refusal = None

    def _forget(self, pipeline: Pipeline) -> None:
        """Strike a connection that is lost off the lists."""
        if pipeline not in self._open:
            return
        self._open.discard(pipeline)
        if pipeline in self._idle:
            self._idle.remove(pipeline)
        if not self._is_closed and pipeline.lost is not None:
            self._observe(PoolEventKind.LOST, pipeline.lost.message)
        if self._refusal is not None and not self._open:
            self._fail_waiting(self._refusal)
        self._grow()
        self._note_drained()

    def _retire(self, pipeline: Pipeline) -> None:
        """Close a connection that nobody uses."""
        self._open.discard(pipeline)
        if pipeline in self._idle:
            self._idle.remove(pipeline)
        pipeline.close()
        self._observe(PoolEventKind.RETIRED)
        if self._waiting:
            self._grow()
        self._note_drained()

    def _reap(self) -> None:
        """Close what was idle for long or is old; from time to time."""
        now = self._loop.time()
        for pipeline in list(self._idle):
            is_idle = now - pipeline.idle_since > self._times.idle and len(self._open) > 1
            if is_idle or now - pipeline.born_at > self._times.lifetime:
                self._retire(pipeline)
        self._timers["reap"] = self._loop.call_later(self._times.idle / 3, self._reap)

    def _fail_waiting(self, error: Disconnected) -> None:
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(Disconnected(error.message, error.code))

    def _note_drained(self) -> None:
        if self._is_closed and not self._open and not self._connects:
            self._is_drained.set()

    def _observe(self, kind: PoolEventKind, message: str = "") -> None:
        if self._on_event is not None:
            self._on_event(PoolEvent(kind, message))


def _expire(waiter: "asyncio.Future[Pipeline]") -> None:
    if not waiter.done():
        waiter.set_exception(PoolTimeout())
