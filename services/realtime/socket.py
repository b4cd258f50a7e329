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

from broker.observability.observe import observe
from schemas.changes import Position
from schemas.settings.realtime import Realtime
from services.realtime import frames
from services.realtime.channel import Bounds, Channel, system_payload
from services.realtime.client_positions import Acknowledgements
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
_EVENTS_OVER_S = JOINS_OVER_S = 10.0
_LONG_FRAME = 4096
"""Characters from which on a frame waits for its turn (`Turns`)."""
_AT_ONCE = 16
"""Short frames of one socket that are read before others get an iteration of the event loop."""
_LONGEST_TOPIC = 2000
_LONGEST_JOIN = 512 * 1024
"""Bytes of the payload of a join: its tokens and all its entries."""
_LONGEST_KEY = 1024
_ENTRIES_OF_JOIN = 10
"""Entries of row changes that count as much as a join in its rate: each costs the database a look."""
_TOO_MANY_JOINS = "ClientJoinRateLimitReached: Too many joins per second"
_LOOK_S = 0.02
_HEARTBEAT_TIMEOUT = "heartbeat timeout"
"""With this reason official clients close a socket whose server does not answer, to open another one (code 1000)."""
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
    address: str = ""
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """What all sockets of the process share: their joins, and the reason why one is refused whoever asks; or nothing."""

    joins: Rate
    refusal: Callable[[Join], str]


class Socket:
    """One connection."""

    def __init__(
        self,
        house: House,
        settings: Realtime,
        visitor: Visitor,
        tally: Tally,
        join_limits: JoinLimits,
        outbox: Outbox,
    ) -> None:
        self.vsn = visitor.vsn
        self.headers = visitor.headers
        self.address, self.user_agent = visitor.address, visitor.user_agent
        self.heard_at = self._empty_since = time.monotonic()
        self._house = house
        self._settings = settings
        self._identity = visitor.identity
        self._tally = tally
        self._join_limits = join_limits
        self._joins = Rate(settings.max_joins_per_client, JOINS_OVER_S)
        self._bytes = Rate(settings.max_bytes_per_second, _EVENTS_OVER_S)
        self._read_at_once = 0
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
        self._acknowledgements = Acknowledgements(house.positions)
        self._has_left = False
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
                    await self._read_in_turn(message)
                elif message.type is WSMsgType.PING:
                    await socket.pong(message.data)
                elif message.type is WSMsgType.PONG:
                    self._acknowledgements.answered(message.data)
                else:
                    self._has_left = self._closing is None and _is_leaving(message)
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

    def ask_acknowledgement(self, now: float) -> None:
        """Have the client acknowledge what it was sent since it last did. `now` is monotonic."""
        if self._is_open:
            channels = [found for seat in self._seats.values() if (found := seat.remembered) is not None]
            if channels and (frame := self._acknowledgements.ask(channels, now)) is not None:
                self.write(frame)

    @property
    def channels(self) -> int:
        """How many channels it has."""
        return len(self._seats)

    # What the client sends

    async def _read_in_turn(self, message: WSMessage) -> None:
        """Read a frame; who sends long ones, or many that arrive together, lets others have their turn.

        The library gives frames that are here already without a stop in between.
        """
        if len(message.data) > _LONG_FRAME:
            async with self._house.turns.take():
                self._read(message)
            return
        self._read(message)
        self._read_at_once += 1
        if self._read_at_once >= _AT_ONCE:
            self._read_at_once = 0
            await asyncio.sleep(0)

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
        elif not self._may_send(push):
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

    def _may_send(self, push: Push | UserPush) -> bool:
        now = time.monotonic()
        return self._events.take(now) and self._bytes.take(now, len(push.payload))

    def _join(self, push: Push, before: Seat | None) -> None:
        if not push.topic.startswith(PREFIX):
            self._reply(push, "error", _UNMATCHED)
            return
        reason = self._join_unread(push)
        if reason:
            self._refuse_join(push, reason)
            return
        most = self._settings.max_changes_per_join
        join = parse_join(push.payload, topic=push.topic, most_changes=most)
        if join.ignored:
            observe(InvalidJoinPayload(join.ignored))
        if before is not None:
            before.replaced()
        reason = self._join_limits.refusal(join) or self._join_too_large(join)
        if reason:
            self._refuse_join(push, reason)
            return
        join_ref = push.ref if push.join_ref is None else push.join_ref
        channel = Channel(push.topic, join_ref, join, self._identity, self._bounds(), push.ref)
        seat = self._seats[push.topic] = Seat(self._house, self, channel)
        seat.begin()

    def _join_unread(self, push: Push) -> str:
        """Return the reason why a join is refused before it is read, which costs more than all that is looked at here."""
        if len(push.topic) > _LONGEST_TOPIC:
            return f"TopicNameTooLong: A topic has {_LONGEST_TOPIC} characters at most"
        if len(push.payload) > _LONGEST_JOIN:
            return f"JoinTooLong: The payload of a join has {_LONGEST_JOIN} bytes at most"
        return self._join_rate(1)

    def _join_too_large(self, join: Join) -> str:
        """Return the reason why a join asks for too much."""
        settings, entries = self._settings, len(join.changes)
        if 0 < settings.max_channels_per_client <= len(self._seats):
            return "ChannelRateLimitReached: Too many channels"
        if join.has_too_many:
            return f"ChangesLimitReached: A join has {settings.max_changes_per_join} entries of postgres_changes at most"
        held = sum(seat.entries for seat in self._seats.values())
        if 0 < settings.max_changes_per_client < held + entries:
            return (
                f"ChangesLimitReached: A connection has {settings.max_changes_per_client} entries of "
                "postgres_changes at most"
            )
        if len(join.presence_key) > _LONGEST_KEY:
            return f"PresenceKeyTooLong: A presence key has {_LONGEST_KEY} characters at most"
        return self._join_rate(entries // _ENTRIES_OF_JOIN)

    def _join_rate(self, count: int) -> str:
        now = time.monotonic()
        if self._joins.take(now, count) and self._join_limits.joins.take(now, count):
            return ""
        return _TOO_MANY_JOINS

    def _refuse_join(self, push: Push, reason: str) -> None:
        self._reply(push, "error", frames.json_text({"reason": reason}))
        if reason == _TOO_MANY_JOINS:
            self.close(POLICY, "Too many joins per second")

    def _bounds(self) -> Bounds:
        return Bounds(
            max_payload=self._settings.max_payload,
            max_presence=self._settings.max_presence_payload,
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
            seat.leave(has_left=self._has_left)
        self._seats.clear()


def _is_leaving(message: WSMessage) -> bool:
    """Return whether a client closed its socket because it is done: it does not mean to open another one."""
    is_close = message.type is WSMsgType.CLOSE and message.data in (NORMAL, GOING_AWAY)
    return is_close and message.extra != _HEARTBEAT_TIMEOUT
