"""One socket: messages of its client in, results out, and its operations between."""

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
from schemas.subscriptions import Changes, Live, Refused
from services.realtime.limits import Rate
from services.realtime.model import Feed
from services.realtime.wire import text_frame
from services.subscriptions import protocol
from services.subscriptions.asking import Asking, OperationRefused, Visitor
from services.subscriptions.changes import RowChanges
from services.subscriptions.live import LiveQueries
from services.subscriptions.observed import SlowSubscriber, SubscriptionCrashed
from services.subscriptions.protocol import Complete, Init, MessageRefused, Ping, Subscribe

_CLOSE_S = 2.0
_STARTS_OVER_S = 10.0
_NO_CHANGES = "Subscriptions need row changes, which are not delivered here (realtime.enabled)"


class VisitorRefused(Exception):
    """A client that is not let in: why."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A client that was let in, and until when (seconds since 1970)."""

    visitor: Visitor
    until: float


@dataclass(frozen=True, slots=True)
class House:
    """What all sockets of this process use."""

    asking: Asking
    live: LiveQueries | None
    """None: row changes are not delivered here."""
    feed: Feed | None
    settings: Subscriptions


@dataclass(slots=True)
class Tally:
    """What all sockets of this process have done and have."""

    results: int = 0
    operations: int = 0
    slow: int = 0


class Socket:
    """One connection. `admit` tells whose it is, with the payload of `connection_init`. Raises: VisitorRefused."""

    def __init__(
        self, house: House, tally: Tally, admit: Callable[[dict[str, object]], Awaitable[Admitted]]
    ) -> None:
        self._house, self._settings, self._tally, self._admit = house, house.settings, tally, admit
        self._loop = asyncio.get_running_loop()
        self._visitor: Visitor | None = None
        self._has_begun = self._is_open = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._starts = Rate(self._settings.max_starts_per_second, _STARTS_OVER_S)
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

    @property
    def operations(self) -> int:
        """How many operations are open."""
        return len(self._tasks)

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve it from the handshake to its end."""
        socket = self._socket
        await socket.prepare(request)
        transport = request.transport
        if transport is None:
            return socket
        self._transport, self._is_open = transport, True
        if socket.ws_protocol != protocol.NAME:
            self.close(protocol.NOT_ACCEPTABLE, "Subprotocol not acceptable")
        else:
            self._after(self._settings.init_timeout, self._init_timed_out)
        try:
            while True:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT:
                    self._read(message.data)
                elif message.type is WSMsgType.BINARY:
                    self.close(protocol.INVALID, "Messages are texts")
                else:
                    break
        finally:
            await self._end()
        return socket

    def close(self, code: int, reason: str) -> None:
        """Close it, with a reason for the client; nothing is sent any more."""
        if self._closing is None and self._transport is not None:
            self._is_open = False
            self._closing = self._loop.create_task(self._close(code, reason))
            for task in self._tasks.values():
                task.cancel()

    def drain(self) -> None:
        """Send the client elsewhere: this process ends."""
        self.close(protocol.GOING_AWAY, "Going away")

    # What the client sends

    def _read(self, text: str) -> None:
        if not self._is_open:
            return
        try:
            message = protocol.read(text)
        except MessageRefused as refused:
            self.close(protocol.INVALID, str(refused))
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
            self.close(protocol.TOO_MANY_INITS, "Too many initialisation requests")
            return
        self._has_begun = True
        self._admitting = self._loop.create_task(self._let_in(payload))

    async def _let_in(self, payload: dict[str, object]) -> None:
        try:
            admitted = await self._admit(payload)
        except VisitorRefused as refused:
            self.close(protocol.FORBIDDEN, str(refused))
            return
        except Exception as error:  # the rim of a task that nobody else watches
            observe(SubscriptionCrashed(traceback_of(error)))
            self.close(protocol.INTERNAL, "Internal error")
            return
        self._visitor = admitted.visitor
        left_s = admitted.until - time.time()
        if left_s < float("inf"):
            self._after(max(left_s, 0.0), lambda: self.close(protocol.FORBIDDEN, "JWT expired"))
        self._write(protocol.ACK)

    def _init_timed_out(self) -> None:
        if self._visitor is None:
            self.close(protocol.INIT_TIMEOUT, "Connection initialisation timeout")

    def _subscribe(self, id: str, operation: bytes) -> None:
        visitor = self._visitor
        if visitor is None:
            self.close(protocol.UNAUTHORIZED, "Unauthorized")
            return
        if id in self._tasks:
            self.close(protocol.EXISTS, f"Subscriber for {id} already exists")
            return
        shown = msgspec.json.encode(id)
        if len(self._tasks) >= self._settings.max_operations:
            message = f"A socket may have {self._settings.max_operations} operations open"
        elif not self._starts.take(time.monotonic()):
            message = f"A socket may start {self._settings.max_starts_per_second:g} operations a second"
        else:
            message = ""
        if message:
            self._write(protocol.error(shown, protocol.errors_of(message, "TOO_MANY_OPERATIONS")))
            return
        self._tally.operations += 1
        self._tasks[id] = self._loop.create_task(self._serve(id, shown, visitor, operation))

    # Operations

    async def _serve(self, id: str, shown: bytes, visitor: Visitor, operation: bytes) -> None:
        """Do one operation to its end, and say so. One that the client ended is over without a word."""
        last: bytes
        try:
            await self._do(shown, visitor, operation)
            last = protocol.complete(shown)
        except OperationRefused as refused:
            last = protocol.error(shown, refused.errors)
        except ApiError as error:
            last = protocol.error(shown, protocol.errors_of(str(error), "UNAVAILABLE"))
        except Exception as error:  # the rim of an operation
            observe(SubscriptionCrashed(traceback_of(error)))
            last = protocol.error(shown, protocol.errors_of("Internal error"))
        if self._tasks.get(id) is asyncio.current_task():
            del self._tasks[id]
            self._write(last)

    async def _do(self, shown: bytes, visitor: Visitor, operation: bytes) -> None:
        def send(result: bytes) -> None:
            self._write(protocol.next_(shown, result))
            self._tally.results += 1

        match await self._house.asking.plan(visitor, operation):
            case bytes() as result:
                send(result)
            case Refused(errors):
                raise OperationRefused(errors)
            case Live(tables):
                await self._follow(visitor, operation, tables, send)
            case Changes() as plan:
                await self._changes(shown, visitor, operation, plan, send)

    async def _follow(
        self, visitor: Visitor, operation: bytes, tables: list[tuple[str, str]], send: Callable[[bytes], None]
    ) -> None:
        if self._house.live is None:
            raise OperationRefused(protocol.errors_of(_NO_CHANGES))
        listener = _Listener(send)
        leave = self._house.live.follow(visitor, operation, tables, listener)
        try:
            raise OperationRefused(await listener.over)
        finally:
            leave()

    async def _changes(
        self,
        shown: bytes,
        visitor: Visitor,
        operation: bytes,
        plan: Changes,
        send: Callable[[bytes], None],
    ) -> None:
        if self._house.feed is None:
            raise OperationRefused(protocol.errors_of(_NO_CHANGES))

        def begun(position: Position) -> None:
            told: dict[str, object] = {"subscribed": msgspec.json.decode(shown), "position": str(position)}
            self._write(protocol.ping(told))

        changes = RowChanges(self._house.asking, visitor, operation, plan, send, self._settings.max_unsent)
        await changes.run(self._house.feed, begun)

    # What is sent

    def _write(self, message: bytes) -> None:
        transport = self._transport
        if not self._is_open or transport is None or transport.is_closing():
            return
        transport.write(text_frame(message))
        unsent = transport.get_write_buffer_size()
        if unsent > self._settings.max_unsent:
            self._tally.slow += 1
            observe(SlowSubscriber(unsent))
            self.close(protocol.TRY_AGAIN, "Slow consumer: too many bytes are unread")

    # Its end

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(self._loop.call_later(min(seconds, 86_400.0 * 30), call))

    async def _close(self, code: int, reason: str) -> None:
        """Say why, wait a moment for the client to agree, and cut the rest off."""
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
    """An operation that hears of a live query."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.result = send
        self.over: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def refused(self, errors: bytes) -> None:
        """Hear that it is over."""
        if not self.over.done():
            self.over.set_result(errors)
