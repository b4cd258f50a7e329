"""The open connections of one pool: opened on demand, settled after a cancelled caller, replaced when they break or age.

A cancelled caller leaves a running exchange or an open transaction behind. Before the connection is used again it is
settled: a cancel request is sent until no exchange is unanswered, then `rollback` or `reset all` runs. That last command
also absorbs a cancel request that arrived late and would otherwise cancel the next caller's statement.

After a failed attempt to connect, the next one is made 50 ms later, then after twice the time, up to 250 ms, with 20 %
jitter, in the background: connect_state.py decides when, this module carries it out. Which caller gets a connection, and which callers wait, is
decided by shares.py, which is called back (`ConnectionOwner`).
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from broker.backoff import Backoff
from workers.database.connection_pool.connect_state import (
    CloseRequested,
    ConnectEvent,
    ConnectionsNeeded,
    ConnectState,
    Failed,
    Open,
    PoolLoad,
    ServerFellSilent,
    Succeeded,
    TimerFired,
    Waiting,
    attempts_to_start,
    transition,
)
from workers.database.errors import DatabaseError, Disconnected
from workers.database.protocol import backend_reader
from workers.database.protocol.long_value import LongValueTimeouts
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.protocol.row_body import BodySpace

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 0.25
"""Seconds between attempts to connect while the server does not answer."""
_CLOSE_S = 2.0
"""How long closed connections may take to leave the event loop."""


class PoolEventKind(StrEnum):
    """What happened to a connection of the pool."""

    CONNECTED = "connected"
    REFUSED = "refused"
    """A connection could not be opened."""
    LOST = "lost"
    """A connection broke, or the server closed it."""
    RETIRED = "retired"
    """Closed by the pool: too old, idle, or in a doubtful state."""
    CANCELLED = "cancelled"
    """A caller was cancelled; its statement was stopped and the connection can be used again."""
    DROPPED = "dropped"
    """A caller was cancelled and the connection could not be settled in time."""
    NOTICE = "notice"
    """The server sent a notice."""


@dataclass(frozen=True, slots=True)
class PoolEvent:
    """An event for the observer. `message` contains no SQL values except those in notices of the user's own code."""

    kind: PoolEventKind
    message: str = ""


@dataclass(frozen=True, slots=True)
class PoolTimes:
    """Limits of a pool, in seconds."""

    connect: float = 10.0
    lifetime: float = 1800.0
    """A connection is replaced after this, up to a tenth earlier so that not all are replaced at once."""
    idle: float = 30.0
    """An idle connection is closed after this; the last one is open for longer."""
    last_idle: float = 60.0
    """The last connection is closed after this: a session takes 2 to 4 MB of the server."""
    settle: float = 5.0
    """How long settling a connection of a cancelled caller may take."""
    long_value_idle: float = 10.0
    """A long value whose reader takes nothing for this long is lost, and its connection closed."""


class ConnectionOwner(Protocol):
    """Whoever shares the connections between callers."""

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a connection."""
        ...

    def share(self, size: int) -> None:
        """Set how many connections are shared between callers; the server may allow fewer than the settings."""
        ...

    def give_up_place(self, connection: PostgresConnection) -> None:
        """Note that the caller of this connection no longer uses it."""
        ...

    def serve_waiting(self) -> None:
        """Assign idle connections to requests that wait."""
        ...

    def fail_waiting(self, error: Disconnected) -> None:
        """Fail the waiting requests: no connection can be opened."""
        ...


class OpenConnections:
    """At most `size` connections to one database. `idle` are the unused ones, the most recently used last."""

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
        self.open: set[PostgresConnection] = set()
        self.idle: list[PostgresConnection] = []
        self.is_closed = False
        self._owner = owner
        self._url, self._size, self._prepared, self._times = url, size, prepared, times
        self._on_event = on_event
        self._long_value_timeouts = LongValueTimeouts(times.long_value_idle, times.settle)
        self._body_space = body_space
        self._loop = asyncio.get_running_loop()
        self._connects: set[asyncio.Task[None]] = set()
        self._settles: set[asyncio.Task[None]] = set()
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._state: ConnectState = Open()
        self._opened = 0
        """How many connections were ever opened."""
        self._retry_timer: asyncio.TimerHandle | None = None
        self._reap_timer: asyncio.TimerHandle | None = None
        self._is_drained = asyncio.Event()

    @property
    def connect_error(self) -> Disconnected | None:
        """Why the last attempt to connect failed; None if it succeeded."""
        return self._state.error

    @property
    def outage(self) -> int | None:
        """A number that names the present outage, from which callers fail at once; None while there is none.

        If two readings are equal, no connection was open between them.
        """
        return self._opened if self._state.error is not None and not self.open else None

    @property
    def state(self) -> ConnectState:
        """Whether and when the pool connects."""
        return self._state

    async def connect(self) -> None:
        """Open the first connection, or schedule the next attempt. Raises: ValueError if the URL cannot be read."""
        self.grow()
        try:
            await asyncio.gather(*self._connects)
        except BaseException:  # the pool is not opened, so no attempt may follow
            self.is_closed = True
            self._handle(CloseRequested())
            raise

    def reap(self) -> None:
        """Close connections that are idle or old; called by a timer, every third of the idle time."""
        now = self._loop.time()
        for connection in list(self.idle):
            limit = self._times.idle if len(self.open) > 1 else self._times.last_idle
            if now - connection.idle_since > limit or now - connection.opened_at > self._times.lifetime:
                self._retire(connection)
        self._reap_timer = self._loop.call_later(self._times.idle / 3, self.reap)

    def take_back(self, connection: PostgresConnection) -> None:
        """Take a connection back from a caller: make it idle, settle it first, or close it."""
        if connection.lost is not None:
            return
        if not connection.is_settled:
            task = self._loop.create_task(self._settle(connection))
            self._settles.add(task)
            task.add_done_callback(self._settles.discard)
        elif (
            self.is_closed
            or connection.must_retire
            or self._loop.time() - connection.opened_at > self._times.lifetime
        ):
            self._retire(connection)
        else:
            self._make_idle(connection)

    async def close(self, grace: float) -> None:
        """Wait up to `grace` seconds for running transactions, then close every connection."""
        self.is_closed = True
        self._handle(CloseRequested())
        all_connections = list(self.open)
        if self._reap_timer is not None:
            self._reap_timer.cancel()
        for connection in list(self.idle):
            self._retire(connection)
        self._note_drained()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._is_drained.wait()
        for task in (*self._connects, *self._settles):
            task.cancel()
        for connection in list(self.open):
            connection.terminate("the pool is closed")
        await asyncio.gather(*self._connects, *self._settles, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await asyncio.gather(*(connection.closed() for connection in all_connections))

    def grow(self) -> None:
        """Open connections for the requests that wait, and one if none is open, unless the last attempt failed."""
        if len(self.open) >= self._size and isinstance(self._state, Open):
            return  # Hot path: no room, which each request that waits finds
        self._handle(ConnectionsNeeded())

    def give_up(self, error: Disconnected) -> int:
        """End all connections, because the server is silent; return how many there were. Callers that wait fail now."""
        connections = list(self.open)
        # First the state: a connection that is lost makes the pool connect, and callers wait, unless there is an error.
        self._handle(ServerFellSilent(error, self._loop.time() + self._backoff.next_s()))
        for connection in connections:
            connection.terminate(error)
        self._owner.fail_waiting(error)
        return len(connections)

    def _make_idle(self, connection: PostgresConnection) -> None:
        """Make a settled connection available to the next request."""
        connection.idle_since = self._loop.time()
        self.idle.append(connection)
        self._owner.give_up_place(connection)
        self._owner.serve_waiting()

    async def _settle(self, connection: PostgresConnection) -> None:
        """Stop what a cancelled caller left running and take the connection back; close it if that takes too long."""
        try:
            async with asyncio.timeout(self._times.settle):
                while left := connection.unanswered:
                    await connection.cancel()
                    if (
                        connection.unanswered == left
                    ):  # otherwise it has already finished and the next exchange is running
                        await connection.wait_for_answer()
                # A cancel request that arrives late cancels this command instead of the next caller's statement.
                await connection.command(
                    "reset all" if connection.status == backend_reader.IDLE else "rollback"
                )
        except (TimeoutError, OSError, DatabaseError, Disconnected) as error:
            self._observe(PoolEventKind.DROPPED, str(error) or type(error).__name__)
            connection.terminate("the connection could not be settled")
            return
        self._observe(PoolEventKind.CANCELLED)
        if connection.is_settled:
            self.take_back(connection)
        else:
            connection.terminate("the connection could not be settled")

    def _handle(self, event: ConnectEvent) -> None:
        """Enter the state that follows an event: set or cancel the timer, and start attempts."""
        before = self._state
        load = PoolLoad(len(self.open), self._owner.waiting, self._size)
        after = self._state = transition(before, event, load)
        if not isinstance(after, Waiting):
            if self._retry_timer is not None:
                self._retry_timer.cancel()
                self._retry_timer = None
        elif self._retry_timer is None:
            self._retry_timer = self._loop.call_at(after.until, self._retry)
        for _ in range(attempts_to_start(before, event, after)):
            task = self._loop.create_task(self._attempt())
            self._connects.add(task)
            task.add_done_callback(self._forget_attempt)

    def _retry(self) -> None:
        self._handle(TimerFired())

    async def _attempt(self) -> None:
        """Try to open one connection. Every attempt ends with exactly one event, whatever its error."""
        try:
            connection = await PostgresConnection.connect(
                self._url,
                prepared=self._prepared,
                timeout=self._times.connect,
                on_lost=self._remove_lost,
                on_notice=lambda fields: self._observe(PoolEventKind.NOTICE, fields.get("M", "")),
            )
        except Disconnected as error:
            self._attempt_failed(error)
        except asyncio.CancelledError:
            self._attempt_failed(Disconnected("the attempt to connect was cancelled"))
            raise
        except Exception as error:
            self._attempt_failed(Disconnected(str(error) or type(error).__name__))
            raise
        else:
            self._attempt_succeeded(connection)

    def _attempt_succeeded(self, connection: PostgresConnection) -> None:
        """Make a new connection available, then open others for the requests that still wait."""
        self.open.add(connection)
        self._opened += 1
        connection.long_value_timeouts = self._long_value_timeouts
        connection.body_space = self._body_space
        self._backoff.reset()
        self._owner.share(self._size)
        connection.opened_at = self._loop.time() - random.random() * self._times.lifetime / 10
        self._observe(PoolEventKind.CONNECTED)
        if self.is_closed:
            self._retire(connection)
        else:
            self._make_idle(connection)
        self._handle(Succeeded())

    def _attempt_failed(self, error: Disconnected) -> None:
        """Schedule the next attempt. Without any open connection, waiting callers fail now."""
        self._handle(Failed(error, self._loop.time() + self._backoff.next_s()))
        if self.is_closed:
            return
        self._observe(PoolEventKind.REFUSED, error.message)
        if self.open:
            self._owner.share(len(self.open))
        else:
            self._owner.fail_waiting(error)

    def _forget_attempt(self, task: asyncio.Task[None]) -> None:
        self._connects.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not log it: the event has reported it
        self._note_drained()

    def _remove_lost(self, connection: PostgresConnection) -> None:
        """Remove a lost connection from the lists."""
        if connection not in self.open:
            return
        self.open.discard(connection)
        if connection in self.idle:
            self.idle.remove(connection)
        if not self.is_closed and connection.lost is not None:
            self._observe(PoolEventKind.LOST, connection.lost.message)
        self._owner.give_up_place(connection)
        if self.connect_error is not None and not self.open:
            self._owner.fail_waiting(self.connect_error)
        self._owner.serve_waiting()
        self.grow()
        self._note_drained()

    def _retire(self, connection: PostgresConnection) -> None:
        """Close an unused connection."""
        self.open.discard(connection)
        if connection in self.idle:
            self.idle.remove(connection)
        self._owner.give_up_place(connection)
        connection.close()
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
