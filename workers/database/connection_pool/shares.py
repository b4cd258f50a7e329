"""Which caller gets a connection of a pool, and which callers wait for one.

A request whose caller already uses its share of connections waits in a bounded queue that is fair to callers
(broker/requests/fair_queue.py). A request that would certainly time out there fails at once. The caller is that of the
request that the running task serves (broker/requests/current_request.py).

Hot path: `take`, once a transaction.
"""

import asyncio
import math
from collections.abc import Callable

from broker.observability.observations import ConnectionRefused
from broker.observability.observe import observe, observe_connection_wait
from broker.requests.current_request import CURRENT
from broker.requests.fair_queue import PLATFORM, FairQueue, QueueFull
from workers.database.connection_pool.open_connections import ConnectionOwner, OpenConnections
from workers.database.errors import Disconnected, PoolBusy, PoolTimeout
from workers.database.protocol.postgres_connection import PostgresConnection

_STARVED_FOR_S = 30.0
"""How long a caller that found no connection counts as one that needs one: callers that fail at once do not wait."""
_LATE_CHECK_S = 0.1
"""Seconds between checks for waiting requests that time out."""


class ConnectionShares:
    """Shares the connections of one pool between callers. `name` is the queue's name in the metrics."""

    def __init__(
        self,
        name: str,
        size: int,
        connect: Callable[[ConnectionOwner], OpenConnections],
        *,
        acquire_timeout: float,
        max_waiting: int,
    ) -> None:
        self._name, self._acquire_timeout = name, acquire_timeout
        self._needed_at = -math.inf
        """When a caller last found no idle connection."""
        self._loop = asyncio.get_running_loop()
        self._queue: FairQueue[asyncio.Future[PostgresConnection]] = FairQueue(size, max_waiting)
        self._late_timer: asyncio.TimerHandle | None = None
        self.connections = connect(self)
        self._idle = self.connections.idle

    @property
    def used(self) -> int:
        """Number of connections that callers use."""
        return self._queue.used

    @property
    def is_starved(self) -> bool:
        """Whether callers need a connection, or needed one a moment ago, and none is open."""
        if self.connections.open or self.connections.is_closed:
            return False
        return self._queue.waiting > 0 or self._loop.time() - self._needed_at < _STARVED_FOR_S

    async def close(self, grace: float) -> None:
        """Fail the requests that wait, wait up to `grace` seconds for running ones, and close every connection."""
        if self._late_timer is not None:
            self._late_timer.cancel()
        self.connections.is_closed = True
        self.fail_waiting(Disconnected("the pool is closed"))
        await self.connections.close(grace)

    # Taking a connection

    def take(self) -> PostgresConnection | None:
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

    async def take_or_wait(self) -> PostgresConnection:
        """Take a connection for the current request, or wait for one. Raises: PoolTimeout, Disconnected."""
        return self.take() or await self.acquire()

    async def acquire(self) -> PostgresConnection:
        """Wait for a connection for the current request. Raises: PoolTimeout, Disconnected."""
        request = CURRENT.get()
        if request is None:
            return await self._wait(PLATFORM, math.inf)
        return await self._wait(request.caller_key, request.deadline)

    async def _wait(self, caller_key: str, deadline: float) -> PostgresConnection:
        """Wait for a connection of a caller's share. Raises: PoolTimeout, Disconnected."""
        connections = self.connections
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
        observe(ConnectionRefused(self._name, full.reason))
        return PoolTimeout() if full.reason == "waited" else PoolBusy(full.reason, full.retry_after_s)

    # Lending to groups of reads (shared_reads.ConnectionLender)

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
        self.connections.take_back(connection)

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
            observe_connection_wait(self._name, now - entry.since)
            entry.item.set_result(connection)

    def fail_waiting(self, error: Disconnected) -> None:
        """Fail the waiting requests: no connection can be opened."""
        for entry in self._queue.clear():
            if not entry.item.done():
                entry.item.set_exception(Disconnected(error.message, error.code))
