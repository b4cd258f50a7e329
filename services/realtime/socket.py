"""One socket: frames of its client in, ready-made frames out, and its channels between.

Nothing waits for a client: what it does not read in time is kept up to a bound, beyond which it is disconnected (1008).
Frames are written to the transport as they are; a frame that goes to many sockets is made once. Only what a client missed
waits for it (`is_behind`): that is read from the stream as fast as the client reads.
The answer to a heartbeat names, for each channel with row changes, the position up to which they are sent (`positions`,
ours), if it is another than before: so a client can resume where nothing happened for long.
Source: reference page "realtime", sections 1 to 3.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import WSMessage, WSMsgType, web

from broker.observe import observe
from schemas.changes import Position
from schemas.realtime_settings import Realtime
from services.realtime import frames
from services.realtime.channel import Bounds, Channel, system_payload
from services.realtime.frames import Malformed, Push, UserPush, Vsn
from services.realtime.join import Join, parse_join
from services.realtime.limits import Rate
from services.realtime.observed import FrameDropped, InvalidJoinPayload, SlowConsumer
from services.realtime.outbox import Outbox
from services.realtime.rooms import PREFIX
from services.realtime.seat import House, Seat
from services.realtime.tokens import Identity

POLICY, GOING_AWAY, NORMAL = 1008, 1001, 1000
_CLOSE_S = 2.0
_EMPTY_S = 600.0
_EVENTS_OVER_S = 10.0
_LOOK_S = 0.02
_UNMATCHED = b'{"reason":"unmatched topic"}'


@dataclass(slots=True)
class Tally:
    """What all sockets of this process have done."""

    deliveries: int = 0
    received: int = 0
    dropped: int = 0
    slow: int = 0


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who opened a socket: version of the protocol, whom the key stands for, headers that policies may look at."""

    vsn: Vsn
    identity: Identity
    headers: dict[str, str]


class Socket:
    """One connection. `may_join` gives the reason why a join is refused by a limit of the process, or nothing."""

    def __init__(
        self,
        house: House,
        settings: Realtime,
        visitor: Visitor,
        tally: Tally,
        may_join: Callable[[Join], str],
        outbox: Outbox,
    ) -> None:
        self.vsn = visitor.vsn
        self.headers = visitor.headers
        self.heard_at = self._empty_since = time.monotonic()
        self._house = house
        self._settings = settings
        self._identity = visitor.identity
        self._tally = tally
        self._may_join = may_join
        self._seats: dict[str, Seat] = {}
        self._events = Rate(settings.max_events_per_second, _EVENTS_OVER_S)
        self._max_unsent = settings.max_unsent
        self._is_open = False
        self._transport: asyncio.Transport | None = None
        self._outbox = outbox
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._closing: asyncio.Task[None] | None = None
        self._told: dict[str, Position] = {}
        self._socket = web.WebSocketResponse(
            timeout=_CLOSE_S, autoping=False, compress=False, max_msg_size=settings.max_frame
        )

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve it from the handshake to its end."""
        socket = self._socket
        await socket.prepare(request)
        transport = request.transport
        if transport is None:
            return socket
        self._transport, self._is_open = transport, True
        try:
            while True:
                message = await socket.receive()
                self.heard_at = time.monotonic()
                if message.type is WSMsgType.TEXT or message.type is WSMsgType.BINARY:
                    self._read(message)
                elif message.type is WSMsgType.PING:
                    await socket.pong(message.data)
                elif message.type is not WSMsgType.PONG:
                    break
        finally:
            self._end()
        if self._closing is not None:
            await self._closing
        return socket

    def write(self, frame: bytes) -> None:
        """Send a frame at the end of this turn of the loop. Hot path."""
        if self._is_open:
            if not self._unsent:
                self._outbox.add(self)
            self._unsent.append(frame)
            self._unsent_bytes += len(frame)

    def flush(self) -> None:
        """Write what waits. Hot path."""
        unsent, self._unsent, self._unsent_bytes = self._unsent, [], 0
        transport = self._transport
        if not self._is_open or not unsent or transport is None or transport.is_closing():
            return
        transport.write(unsent[0] if len(unsent) == 1 else b"".join(unsent))
        self._tally.deliveries += len(unsent)
        if transport.get_write_buffer_size() > self._max_unsent:
            self._too_slow(transport)

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that what it missed should wait in the stream."""
        return self._backlog() > self._max_unsent // 8

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        while self._is_open and self._backlog() > self._max_unsent // 32:  # noqa: ASYNC110 - a transport tells nobody but its own protocol
            await asyncio.sleep(_LOOK_S)

    def forget(self, seat: Seat) -> None:
        """Hear that a channel is over."""
        if self._seats.get(seat.topic) is seat:
            del self._seats[seat.topic]
            self._told.pop(seat.topic, None)
            if not self._seats:
                self._empty_since = time.monotonic()

    def close(self, code: int, reason: str) -> None:
        """Close it, with a reason for the client."""
        self.flush()
        if self._closing is None and self._transport is not None:
            self._is_open = False
            self._closing = asyncio.get_running_loop().create_task(self._close(code, reason))

    def drain(self) -> None:
        """Send the client elsewhere: this process ends."""
        for seat in list(self._seats.values()):
            payload = system_payload(
                seat.topic.removeprefix(PREFIX), "system", "ok", "Server requested disconnect"
            )
            self.write(frames.push(self.vsn, seat.topic, seat.join_ref, "system", payload))
        self.close(GOING_AWAY, "Server requested disconnect")

    def look(self, now: float) -> None:
        """Close it if its client is silent, or has no channel for long. `now` is monotonic."""
        if now - self.heard_at > self._settings.idle_timeout:
            self.close(NORMAL, "idle timeout")
        elif not self._seats and now - self._empty_since > _EMPTY_S:
            self.close(NORMAL, "no channels")

    @property
    def channels(self) -> int:
        """How many channels it has."""
        return len(self._seats)

    # What the client sends

    def _read(self, message: WSMessage) -> None:
        self._tally.received += 1
        try:
            if message.type is WSMsgType.TEXT:
                push: Push | UserPush = frames.read_text(message.data, self.vsn)
            else:
                push = frames.read_binary(message.data, self.vsn)
        except Malformed as error:
            self._tally.dropped += 1
            observe(FrameDropped(str(error)))
            return
        self._take(push)

    def _take(self, push: Push | UserPush) -> None:
        seat = self._seats.get(push.topic)
        if isinstance(push, Push):
            if push.topic == "phoenix":
                if push.event == "heartbeat":
                    self._reply(push, "ok", self._positions())
                return
            if push.event == "phx_join":
                self._join(push, seat)
                return
        if seat is None:
            left = isinstance(push, Push) and push.event == "phx_leave"
            self._reply(push, *(("ok", b"{}") if left else ("error", _UNMATCHED)))
        elif not self._events.take(time.monotonic()):
            seat.stop("Too many messages per second")
        elif isinstance(push, Push) and push.event == "presence" and self._house.tracker.is_flooded:
            seat.stop("Too many presence messages per second")
        else:
            seat.push(push)

    def _positions(self) -> bytes:
        """Give the answer to a heartbeat: positions that were not told yet."""
        found = {
            topic: position
            for topic, seat in self._seats.items()
            if (position := seat.position) is not None and position != self._told.get(topic)
        }
        if not found:
            return b"{}"
        self._told |= found
        return frames.json_text({"positions": {topic: str(position) for topic, position in found.items()}})

    def _reply(self, push: Push | UserPush, status: str, response: bytes) -> None:
        self.write(frames.reply(self.vsn, push.topic, push.join_ref, push.ref, status, response))

    def _join(self, push: Push, before: Seat | None) -> None:
        if not push.topic.startswith(PREFIX):
            self._reply(push, "error", _UNMATCHED)
            return
        join = parse_join(push.payload, topic=push.topic)
        if join.ignored:
            observe(InvalidJoinPayload(join.ignored))
        if before is not None:
            before.replaced()
        reason = self._may_join(join)
        is_flood = "Too many joins" in reason
        if not reason and 0 < self._settings.max_channels_per_client <= len(self._seats):
            reason = "ChannelRateLimitReached: Too many channels"
        if reason:
            self._reply(push, "error", frames.json_text({"reason": reason}))
            if is_flood:
                self.close(POLICY, "Too many joins per second")
            return
        join_ref = push.ref if push.join_ref is None else push.join_ref
        channel = Channel(push.topic, join_ref, join, self._identity, self._bounds(), push.ref)
        seat = self._seats[push.topic] = Seat(self._house, self, channel)
        seat.begin()

    def _bounds(self) -> Bounds:
        return Bounds(
            max_payload=self._settings.max_payload,
            presence_calls=self._settings.max_presence_calls_per_second,
            has_presence=self._settings.presence_enabled,
        )

    # Its end

    def _backlog(self) -> int:
        """Give how many bytes wait for the client."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return 0
        return transport.get_write_buffer_size() + self._unsent_bytes

    def _too_slow(self, transport: asyncio.Transport) -> None:
        self._tally.slow += 1
        observe(SlowConsumer(transport.get_write_buffer_size()))
        self.close(POLICY, "slow consumer: too many bytes are unread")

    async def _close(self, code: int, reason: str) -> None:
        """Say why, wait a moment for the client to agree, and cut the rest off."""
        try:
            await self._socket.close(code=code, message=reason.encode(), drain=False)
        except (ConnectionError, TimeoutError):
            pass
        finally:
            if self._transport is not None and self._transport.get_write_buffer_size():
                self._transport.abort()

    def _end(self) -> None:
        self._is_open = False
        for seat in list(self._seats.values()):
            seat.leave()
        self._seats.clear()
