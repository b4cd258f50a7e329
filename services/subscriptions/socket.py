"""One WebSocket of a GraphQL client: messages in, results out, and its open operations."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec
from aiohttp import WSMsgType, web

from broker.observability.observe import observe, traceback_of
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.settings.graphql import Subscriptions
from schemas.subscriptions import LiveQueryPlan, OperationErrors, RowChangesPlan
from services.middleware.server_name import SERVER
from services.realtime.changes.interface import Feed
from services.realtime.limits import TokenBucket
from services.realtime.protocol.websocket import text_frame
from services.subscriptions import protocol
from services.subscriptions.live_queries import LiveQueries
from services.subscriptions.observations import SlowSubscriber, SubscriptionCrashed
from services.subscriptions.pool_queries import (
    GraphQLSource,
    OperationCaller,
    OperationQueries,
    OperationRejected,
)
from services.subscriptions.protocol import CloseCode, Complete, Init, MessageRejected, Ping, Subscribe
from services.subscriptions.row_changes import RowChanges

_CLOSE_S = 2.0
_STARTS_OVER_S = 10.0
_NO_CHANGES = "Subscriptions need row changes, which are not delivered here (realtime.enabled)"


class CallerRejected(Exception):
    """The client is not authenticated; the message says why."""


@dataclass(frozen=True, slots=True)
class AdmittedCaller:
    """An authenticated caller, and when its token expires (seconds since 1970)."""

    caller: OperationCaller
    expires_at: float


@dataclass(frozen=True, slots=True)
class GraphQLSocketServices:
    """What all sockets of this process share."""

    queries: OperationQueries
    live: LiveQueries | None
    """None: row changes are not delivered."""
    feed: Feed | None
    settings: Subscriptions


@dataclass(slots=True)
class GraphQLSocketStatistics:
    """Counts over all sockets of this process."""

    results: int = 0
    operations: int = 0
    slow: int = 0


class GraphQLSocket:
    """One connection. `admit` returns its caller by the payload of `connection_init`. It raises CallerRejected."""

    def __init__(
        self,
        services: GraphQLSocketServices,
        statistics: GraphQLSocketStatistics,
        admit: Callable[[dict[str, object]], Awaitable[AdmittedCaller]],
    ) -> None:
        self._services, self._settings, self._statistics, self._admit = (
            services,
            services.settings,
            statistics,
            admit,
        )
        self._loop = asyncio.get_running_loop()
        self._caller: OperationCaller | None = None
        self._has_begun = self._is_open = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._starts = TokenBucket(self._settings.max_starts_per_second, _STARTS_OVER_S)
        self._transport: asyncio.Transport | None = None
        self._admitting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._socket = web.WebSocketResponse(
            timeout=_CLOSE_S,
            heartbeat=self._settings.keepalive,
            compress=False,
            max_msg_size=self._settings.max_frame,
            protocols=(protocol.NAME,),
        )
        self._socket.headers["Server"] = SERVER

    @property
    def operations(self) -> int:
        """Return the number of open operations."""
        return len(self._tasks)

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve the socket from the handshake to its end."""
        socket = self._socket
        await socket.prepare(request)
        transport = request.transport
        if transport is None:
            return socket
        self._transport, self._is_open = transport, True
        if socket.ws_protocol != protocol.NAME:
            self.close(CloseCode.NOT_ACCEPTABLE, "Subprotocol not acceptable")
        else:
            self._after(self._settings.init_timeout, self._init_timed_out)
        try:
            while True:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT:
                    self._read(message.data)
                elif message.type is WSMsgType.BINARY:
                    self.close(CloseCode.INVALID, "Messages are texts")
                else:
                    break
        finally:
            await self._end()
        return socket

    def close(self, code: int, reason: str) -> None:
        """Close the socket with a reason for the client; nothing else is sent."""
        if self._closing is None and self._transport is not None:
            self._is_open = False
            self._closing = self._loop.create_task(self._close(code, reason))
            for task in self._tasks.values():
                task.cancel()

    def drain(self) -> None:
        """Ask the client to connect to another process, because this one stops."""
        self.close(CloseCode.GOING_AWAY, "Going away")

    # What the client sends

    def _read(self, text: str) -> None:
        if not self._is_open:
            return
        try:
            message = protocol.read(text)
        except MessageRejected as rejected:
            self.close(CloseCode.INVALID, str(rejected))
            return
        match message:
            case Init(payload):
                self._init(payload or {})
            case Ping(payload):
                self._write(protocol.pong(payload))
            case Subscribe(id, payload):
                self._subscribe(id, bytes(payload))
            case Complete(id):
                if (task := self._tasks.pop(id, None)) is not None:
                    task.cancel()

    def _init(self, payload: dict[str, object]) -> None:
        if self._has_begun:
            self.close(CloseCode.TOO_MANY_INITS, "Too many initialisation requests")
            return
        self._has_begun = True
        self._admitting = self._loop.create_task(self._authenticate(payload))

    async def _authenticate(self, payload: dict[str, object]) -> None:
        try:
            admitted = await self._admit(payload)
        except CallerRejected as rejected:
            self.close(CloseCode.FORBIDDEN, str(rejected))
            return
        except Exception as error:  # no other task would report it
            observe(SubscriptionCrashed(traceback_of(error)))
            self.close(CloseCode.INTERNAL, "Internal error")
            return
        self._caller = admitted.caller
        left_s = admitted.expires_at - time.time()
        if left_s < float("inf"):
            self._after(max(left_s, 0.0), lambda: self.close(CloseCode.FORBIDDEN, "JWT expired"))
        self._write(protocol.ACK)

    def _init_timed_out(self) -> None:
        if self._caller is None:
            self.close(CloseCode.INIT_TIMEOUT, "Connection initialisation timeout")

    def _subscribe(self, id: str, operation: bytes) -> None:
        caller = self._caller
        if caller is None:
            self.close(CloseCode.UNAUTHORIZED, "Unauthorized")
            return
        if id in self._tasks:
            self.close(CloseCode.EXISTS, f"Subscriber for {id} already exists")
            return
        json_id = msgspec.json.encode(id)
        if len(self._tasks) >= self._settings.max_operations:
            message = f"A socket may have {self._settings.max_operations} operations open"
        elif not self._starts.take(time.monotonic()):
            message = f"A socket may start {self._settings.max_starts_per_second:g} operations a second"
        else:
            message = ""
        if message:
            self._write(protocol.error(json_id, protocol.errors_of(message, "TOO_MANY_OPERATIONS")))
            return
        self._statistics.operations += 1
        self._tasks[id] = self._loop.create_task(self._serve(id, json_id, caller, operation))

    # Operations

    async def _serve(self, id: str, json_id: bytes, caller: OperationCaller, operation: bytes) -> None:
        """Execute one operation and send its end. Nothing is sent about an operation that the client completed."""
        last: bytes
        try:
            await self._do(json_id, caller, operation)
            last = protocol.complete(json_id)
        except OperationRejected as rejected:
            last = protocol.error(json_id, rejected.errors)
        except ApiError as error:
            last = protocol.error(json_id, protocol.errors_of(str(error), "UNAVAILABLE"))
        except Exception as error:  # an error of our own ends this operation only
            observe(SubscriptionCrashed(traceback_of(error)))
            last = protocol.error(json_id, protocol.errors_of("Internal error"))
        if self._tasks.get(id) is asyncio.current_task():
            del self._tasks[id]
            self._write(last)

    async def _do(self, json_id: bytes, caller: OperationCaller, operation: bytes) -> None:
        def send(result: bytes) -> None:
            self._write(protocol.next_(json_id, result))
            self._statistics.results += 1

        match await self._services.queries.plan(caller, operation):
            case bytes() as result:
                send(result)
            case OperationErrors(errors):
                raise OperationRejected(errors)
            case LiveQueryPlan() as plan:
                await self._live_query(caller, operation, plan, send)
            case RowChangesPlan() as plan:
                await self._changes(json_id, caller, operation, plan, send)

    async def _live_query(
        self,
        caller: OperationCaller,
        operation: bytes,
        plan: LiveQueryPlan,
        send: Callable[[bytes], None],
    ) -> None:
        if self._services.live is None:
            raise OperationRejected(protocol.errors_of(_NO_CHANGES))
        listener = _Listener(send)
        source = GraphQLSource(self._services.queries, caller, operation)
        leave = self._services.live.follow(source, listener, plan)
        try:
            raise await listener.over
        finally:
            leave()

    async def _changes(
        self,
        json_id: bytes,
        caller: OperationCaller,
        operation: bytes,
        plan: RowChangesPlan,
        send: Callable[[bytes], None],
    ) -> None:
        if self._services.feed is None:
            raise OperationRejected(protocol.errors_of(_NO_CHANGES))

        def on_start(position: Position) -> None:
            payload: dict[str, object] = {
                "subscribed": msgspec.json.decode(json_id),
                "position": str(position),
            }
            self._write(protocol.ping(payload))

        changes = RowChanges(self._services.queries, caller, operation, plan, send, self._settings.max_unsent)
        await changes.run(self._services.feed, on_start)

    # What is sent

    def _write(self, message: bytes) -> None:
        transport = self._transport
        if not self._is_open or transport is None or transport.is_closing():
            return
        transport.write(text_frame(message))
        unsent = transport.get_write_buffer_size()
        if unsent > self._settings.max_unsent:
            self._statistics.slow += 1
            observe(SlowSubscriber(unsent))
            self.close(CloseCode.TRY_AGAIN, "Slow consumer: too many bytes are unread")

    # The end

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(self._loop.call_later(min(seconds, 86_400.0 * 30), call))

    async def _close(self, code: int, reason: str) -> None:
        """Send the close frame, wait `_CLOSE_S` for the client's, and abort if bytes are still unsent."""
        try:
            await self._socket.close(code=code, message=protocol.shortened(reason), drain=False)
        except (ConnectionError, TimeoutError):
            pass
        finally:
            if self._transport is not None and self._transport.get_write_buffer_size():
                self._transport.abort()

    async def _end(self) -> None:
        self._is_open = False
        for timer in self._timers:
            timer.cancel()
        tasks = list(self._tasks.values())
        self._tasks.clear()
        if self._admitting is not None:
            tasks.append(self._admitting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._closing is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._closing


class _Listener:
    """An operation that receives the results of a live query."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.result = send
        self.over: asyncio.Future[OperationRejected] = asyncio.get_running_loop().create_future()

    def failed(self, rejected: OperationRejected) -> None:
        """Handle that the query ended."""
        if not self.over.done():
            self.over.set_result(rejected)
