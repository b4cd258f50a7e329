"""The open connections of one pool: made when they are wanted, settled after a caller left, replaced when they break or age.

When the server is gone and no connection is left, one attempt after another is made in the background, ever slower up to a
second apart. Who may use a connection, and who waits, is the pool's business (workers/database/pool.py), which is called back.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from workers.database import wire
from workers.database.errors import DatabaseError, Disconnected
from workers.database.long_value import Patience
from workers.database.pipeline import Pipeline
from workers.database.row_body import BodySpace

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25
"""Seconds between attempts to connect while the server is gone."""
_GOODBYE_S = 2.0
"""How long closing connections may take to leave."""


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


class ConnectionOwner(Protocol):
    """The pool that shares the connections between callers."""

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a connection."""
        ...

    def share(self, size: int) -> None:
        """Share so many connections between callers: the server may allow fewer than the settings."""
        ...

    def give_up_place(self, pipeline: Pipeline) -> None:
        """Note that the caller that had this connection does not use it any more."""
        ...

    def serve_waiting(self) -> None:
        """Give idle connections to requests that wait."""
        ...

    def fail_waiting(self, error: Disconnected) -> None:
        """Fail the requests that wait: there is no connection."""
        ...


class OpenConnections:
    """At most `size` connections to one database. `idle` are those that are in no use, the last used one last."""

    def __init__(
        self,
        owner: ConnectionOwner,
        url: str,
        size: int,
        *,
        prepared: bool,
        times: PoolTimes,
        on_event: Callable[[PoolEvent], None] | None,
        body_space: BodySpace,
    ) -> None:
        self.open: set[Pipeline] = set()
        self.idle: list[Pipeline] = []
        self.refusal: Disconnected | None = None
        """Why the last attempt to connect failed."""
        self.is_closed = False
        self._owner = owner
        self._url, self._size, self._prepared, self._times = url, size, prepared, times
        self._on_event = on_event
        self._patience = Patience(times.patience, times.settle)
        self._body_space = body_space
        self._loop = asyncio.get_running_loop()
        self._connects: set[asyncio.Task[None]] = set()
        self._settles: set[asyncio.Task[None]] = set()
        self._pause = _FIRST_PAUSE
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_drained = asyncio.Event()

    async def connect(self) -> None:
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
        self.open.add(pipeline)
        pipeline.patience = self._patience
        pipeline.body_space = self._body_space
        self.refusal, self._pause = None, _FIRST_PAUSE
        self._owner.share(self._size)
        pipeline.born_at = self._loop.time() - random.random() * self._times.lifetime / 10
        self._observe(PoolEventKind.CONNECTED)
        if self.is_closed:
            self._retire(pipeline)
        else:
            self._make_idle(pipeline)

    def reap(self) -> None:
        """Close what was idle for long or is old; from time to time."""
        now = self._loop.time()
        for pipeline in list(self.idle):
            is_idle = now - pipeline.idle_since > self._times.idle and len(self.open) > 1
            if is_idle or now - pipeline.born_at > self._times.lifetime:
                self._retire(pipeline)
        self._timers["reap"] = self._loop.call_later(self._times.idle / 3, self.reap)

    def take_back(self, pipeline: Pipeline) -> None:
        """Take a connection back from a caller: it is idle, if it is fit for that."""
        if pipeline.lost is not None:
            return
        if not pipeline.is_settled:
            task = self._loop.create_task(self._settle(pipeline))
            self._settles.add(task)
            task.add_done_callback(self._settles.discard)
        elif (
            self.is_closed
            or pipeline.is_suspect
            or self._loop.time() - pipeline.born_at > self._times.lifetime
        ):
            self._retire(pipeline)
        else:
            self._make_idle(pipeline)

    async def close(self, grace: float) -> None:
        """Let what runs finish within `grace` seconds, and close every connection."""
        self.is_closed = True
        everyone = list(self.open)
        for timer in self._timers.values():
            timer.cancel()
        for pipeline in list(self.idle):
            self._retire(pipeline)
        self._note_drained()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._is_drained.wait()
        for task in (*self._connects, *self._settles):
            task.cancel()
        for pipeline in list(self.open):
            pipeline.terminate("the pool is closed")
        await asyncio.gather(*self._connects, *self._settles, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                await asyncio.gather(*(pipeline.closed() for pipeline in everyone))

    def grow(self) -> None:
        """Connect for those that wait, unless the server refused just now."""
        if self.is_closed or self.refusal is not None:
            return
        room = self._size - len(self.open) - len(self._connects)
        wanted = max(self._owner.waiting, not self.open) - len(self._connects)
        for _ in range(min(room, wanted)):
            self._start_connecting()

    def _make_idle(self, pipeline: Pipeline) -> None:
        """Let a settled connection be used by the next one."""
        pipeline.idle_since = self._loop.time()
        self.idle.append(pipeline)
        self._owner.give_up_place(pipeline)
        self._owner.serve_waiting()

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
            self.take_back(pipeline)
        else:
            pipeline.terminate("the connection could not be settled")

    def _start_connecting(self) -> None:
        task = self._loop.create_task(self.connect())
        self._connects.add(task)
        task.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[None]) -> None:
        self._connects.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._refused(Disconnected(str(error)))
        self._note_drained()

    def _refused(self, error: Disconnected) -> None:
        """Rest a while before the next attempt; without any connection, callers fail meanwhile."""
        self.refusal = error
        self._observe(PoolEventKind.REFUSED, error.message)
        if self.open:
            self._owner.share(len(self.open))
        else:
            self._owner.fail_waiting(error)
        if not self.is_closed and "retry" not in self._timers:
            self._timers["retry"] = self._loop.call_later(self._pause * random.uniform(0.8, 1.2), self._retry)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _retry(self) -> None:
        del self._timers["retry"]
        if not self._connects and (self._owner.waiting or not self.open):
            self._start_connecting()
        elif self.open:
            self.refusal = None

    def _forget(self, pipeline: Pipeline) -> None:
        """Strike a connection that is lost off the lists."""
        if pipeline not in self.open:
            return
        self.open.discard(pipeline)
        if pipeline in self.idle:
            self.idle.remove(pipeline)
        if not self.is_closed and pipeline.lost is not None:
            self._observe(PoolEventKind.LOST, pipeline.lost.message)
        self._owner.give_up_place(pipeline)
        if self.refusal is not None and not self.open:
            self._owner.fail_waiting(self.refusal)
        self._owner.serve_waiting()
        self.grow()
        self._note_drained()

    def _retire(self, pipeline: Pipeline) -> None:
        """Close a connection that is in no use."""
        self.open.discard(pipeline)
        if pipeline in self.idle:
            self.idle.remove(pipeline)
        self._owner.give_up_place(pipeline)
        pipeline.close()
        self._observe(PoolEventKind.RETIRED)
        if self._owner.waiting:
            self._owner.serve_waiting()
            self.grow()
        self._note_drained()

    def _note_drained(self) -> None:
        if self.is_closed and not self.open and not self._connects:
            self._is_drained.set()

    def _observe(self, kind: PoolEventKind, message: str = "") -> None:
        if self._on_event is not None:
            self._on_event(PoolEvent(kind, message))
