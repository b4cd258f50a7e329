"""One WebSocket of a client: its frames in, ready frames out, and its channels.

Nothing waits for a client. What it does not read in time is buffered up to `max_unsent` bytes; beyond that the socket is
closed (1008). Frames are written to the transport directly; a frame for many sockets is built once. Only changes that a
client missed wait for it (`is_behind`): they are read from the stream as fast as the client reads.
The reply to a heartbeat names, for each channel with row changes, the position up to which changes are sent (`positions`, a
member that only Headwater sends) if it changed. So a client can resume even if nothing happened for a long time.
Source: docs/reference/realtime.md, sections 1 to 3.
"""

import asyncio
import time
from dataclasses import dataclass

from aiohttp import WSMessage, WSMsgType, web

from broker.observability.observe import observe
from schemas.changes import Position
from schemas.settings.realtime import RealtimeSettings
from services.middleware.server_name import SERVER
from services.realtime.channels.client_positions import Acknowledgements
from services.realtime.channels.machine import ChannelLimits, ChannelMachine
from services.realtime.channels.payloads import system_payload
from services.realtime.channels.services import ChannelServices
from services.realtime.channels.session import ChannelSession
from services.realtime.limits import TokenBucket
from services.realtime.observations import FrameDropped, InvalidJoinPayload, SlowConsumer
from services.realtime.protocol import frames
from services.realtime.protocol.frames import TOPIC_PREFIX, MalformedFrame, Push, UserPush, Vsn
from services.realtime.protocol.join import parse_join
from services.realtime.sockets.join_limits import TOO_MANY_JOINS, JoinLimits, ProcessJoinLimits
from services.realtime.sockets.outbox import FrameOutbox
from services.realtime.tokens import RealtimeIdentity

POLICY, GOING_AWAY, NORMAL = 1008, 1001, 1000
_CLOSE_S = 2.0
_EMPTY_S = 600.0
_EVENTS_OVER_S = 10.0
_LONG_FRAME = 4096
"""Frames with more characters are read under the lock for long work (`LongWorkLock`)."""
_AT_ONCE = 16
"""Short frames of one socket that are read before the event loop serves others."""
_POLL_S = 0.02
_HEARTBEAT_TIMEOUT = "heartbeat timeout"
"""With this reason official clients close a socket whose server does not answer, to open another one (code 1000)."""
_UNMATCHED = b'{"reason":"unmatched topic"}'


@dataclass(slots=True)
class SocketStatistics:
    """Counts over all sockets of this process."""

    deliveries: int = 0
    received: int = 0
    dropped: int = 0
    slow: int = 0


@dataclass(frozen=True, slots=True)
class SocketClient:
    """The client that opened a socket: protocol version, identity of its key, and the headers that policies may read."""

    vsn: Vsn
    identity: RealtimeIdentity
    headers: dict[str, str]
    address: str = ""
    user_agent: str = ""


class RealtimeSocket:
    """One connection."""

    def __init__(
        self,
        services: ChannelServices,
        settings: RealtimeSettings,
        client: SocketClient,
        statistics: SocketStatistics,
        join_limits: ProcessJoinLimits,
        outbox: FrameOutbox,
    ) -> None:
        self.vsn = client.vsn
        self.headers = client.headers
        self.address, self.user_agent = client.address, client.user_agent
        self.heard_at = self._empty_since = time.monotonic()
        self._services = services
        self._settings = settings
        self._identity = client.identity
        self._statistics = statistics
        self._join_limits = JoinLimits(settings, join_limits)
        self._bytes = TokenBucket(settings.max_bytes_per_second, _EVENTS_OVER_S)
        self._read_at_once = 0
        self._sessions: dict[str, ChannelSession] = {}
        self._events = TokenBucket(settings.max_events_per_second, _EVENTS_OVER_S)
        self._max_unsent = settings.max_unsent
        self._is_open = False
        self._transport: asyncio.Transport | None = None
        self._outbox = outbox
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._closing: asyncio.Task[None] | None = None
        self._sent_positions: dict[str, Position] = {}
        self._acknowledgements = Acknowledgements(services.positions)
        self._has_left = False
        self._socket = web.WebSocketResponse(
            timeout=_CLOSE_S, autoping=False, compress=False, max_msg_size=settings.max_frame
        )
        self._socket.headers["Server"] = SERVER

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve the socket from the handshake to its end."""
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
                    await self._read_fairly(message)
                elif message.type is WSMsgType.PING:
                    await socket.pong(message.data)
                elif message.type is WSMsgType.PONG:
                    self._acknowledgements.receive_pong(message.data)
                else:
                    self._has_left = self._closing is None and _is_leaving(message)
                    break
        finally:
            self._end()
        if self._closing is not None:
            await self._closing
        return socket

    def write(self, frame: bytes) -> None:
        """Send a frame at the end of this loop iteration. Hot path."""
        if self._is_open:
            if not self._unsent:
                self._outbox.add(self)
            self._unsent.append(frame)
            self._unsent_bytes += len(frame)

    def flush(self) -> None:
        """Write the waiting frames in one piece. Hot path."""
        unsent, self._unsent, self._unsent_bytes = self._unsent, [], 0
        transport = self._transport
        if not self._is_open or not unsent or transport is None or transport.is_closing():
            return
        transport.write(unsent[0] if len(unsent) == 1 else b"".join(unsent))
        self._statistics.deliveries += len(unsent)
        if transport.get_write_buffer_size() > self._max_unsent:
            self._close_slow(transport)

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        return self._backlog() > self._max_unsent // 8

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        while self._is_open and self._backlog() > self._max_unsent // 32:  # noqa: ASYNC110 - only its protocol can learn of a transport's buffer
            await asyncio.sleep(_POLL_S)

    def remove(self, session: ChannelSession) -> None:
        """Remove a channel that ended."""
        if self._sessions.get(session.topic) is session:
            del self._sessions[session.topic]
            self._sent_positions.pop(session.topic, None)
            if not self._sessions:
                self._empty_since = time.monotonic()

    def close(self, code: int, reason: str) -> None:
        """Close the socket with a reason for the client."""
        self.flush()
        if self._closing is None and self._transport is not None:
            self._is_open = False
            self._closing = asyncio.get_running_loop().create_task(self._close(code, reason))

    def drain(self) -> None:
        """Ask the client to connect to another process, because this one stops."""
        for session in list(self._sessions.values()):
            payload = system_payload(
                session.topic.removeprefix(TOPIC_PREFIX), "system", "ok", "Server requested disconnect"
            )
            self.write(frames.push(self.vsn, session.topic, session.join_ref, "system", payload))
        self.close(GOING_AWAY, "Server requested disconnect")

    def close_if_idle(self, now: float) -> None:
        """Close the socket if its client is silent, or had no channel for 10 minutes. `now` is monotonic."""
        if now - self.heard_at > self._settings.idle_timeout:
            self.close(NORMAL, "idle timeout")
        elif not self._sessions and now - self._empty_since > _EMPTY_S:
            self.close(NORMAL, "no channels")

    def request_acknowledgement(self, now: float) -> None:
        """Send a PING if sent changes are not acknowledged. `now` is monotonic."""
        if self._is_open:
            channels = [
                remembered
                for session in self._sessions.values()
                if (remembered := session.remembered) is not None
            ]
            if channels and (frame := self._acknowledgements.next_ping(channels, now)) is not None:
                self.write(frame)

    @property
    def channels(self) -> int:
        """Return the number of its channels."""
        return len(self._sessions)

    # What the client sends

    async def _read_fairly(self, message: WSMessage) -> None:
        """Read a frame so that other sockets make progress: long ones one at a time, and a pause after `_AT_ONCE` short ones.

        The pause is needed because the library returns frames that have arrived already without yielding to the loop.
        """
        if len(message.data) > _LONG_FRAME:
            async with self._services.long_work.hold():
                self._read(message)
            return
        self._read(message)
        self._read_at_once += 1
        if self._read_at_once >= _AT_ONCE:
            self._read_at_once = 0
            await asyncio.sleep(0)

    def _read(self, message: WSMessage) -> None:
        self._statistics.received += 1
        try:
            if message.type is WSMsgType.TEXT:
                push: Push | UserPush = frames.read_text(message.data, self.vsn)
            else:
                push = frames.read_binary(message.data, self.vsn)
        except MalformedFrame as error:
            self._statistics.dropped += 1
            observe(FrameDropped(str(error)))
            return
        self._take(push)

    def _take(self, push: Push | UserPush) -> None:
        session = self._sessions.get(push.topic)
        if isinstance(push, Push):
            if push.topic == "phoenix":
                if push.event == "heartbeat":
                    self._reply(push, "ok", self._new_positions())
                return
            if push.event == "phx_join":
                self._join(push, session)
                return
        if session is None:
            is_leave = isinstance(push, Push) and push.event == "phx_leave"
            self._reply(push, *(("ok", b"{}") if is_leave else ("error", _UNMATCHED)))
        elif not self._may_send(push):
            session.stop("Too many messages per second")
        elif isinstance(push, Push) and push.event == "presence" and self._services.tracker.is_flooded:
            session.stop("Too many presence messages per second")
        else:
            session.push(push)

    def _new_positions(self) -> bytes:
        """Return the response to a heartbeat: the positions that changed since the last one."""
        positions = {
            topic: position
            for topic, session in self._sessions.items()
            if (position := session.position) is not None and position != self._sent_positions.get(topic)
        }
        if not positions:
            return b"{}"
        self._sent_positions |= positions
        texts = {topic: str(position) for topic, position in positions.items()}
        return frames.json_text({"positions": texts})

    def _reply(self, push: Push | UserPush, status: str, response: bytes) -> None:
        self.write(frames.reply(self.vsn, push.topic, push.join_ref, push.ref, status, response))

    def _may_send(self, push: Push | UserPush) -> bool:
        now = time.monotonic()
        return self._events.take(now) and self._bytes.take(now, len(push.payload))

    def _join(self, push: Push, before: ChannelSession | None) -> None:
        if not push.topic.startswith(TOPIC_PREFIX):
            self._reply(push, "error", _UNMATCHED)
            return
        reason = self._join_limits.check_unparsed(push, time.monotonic())
        if reason:
            self._reject_join(push, reason)
            return
        most = self._settings.max_changes_per_join
        join = parse_join(push.payload, topic=push.topic, most_changes=most)
        if join.ignored:
            observe(InvalidJoinPayload(join.ignored))
        if before is not None:
            before.replaced()
        subscriptions = sum(session.subscription_count for session in self._sessions.values())
        reason = self._join_limits.check(join, len(self._sessions), subscriptions, time.monotonic())
        if reason:
            self._reject_join(push, reason)
            return
        join_ref = push.ref if push.join_ref is None else push.join_ref
        machine = ChannelMachine(push.topic, join_ref, join, self._identity, self._channel_limits(), push.ref)
        session = self._sessions[push.topic] = ChannelSession(self._services, self, machine)
        session.start()

    def _reject_join(self, push: Push, reason: str) -> None:
        self._reply(push, "error", frames.json_text({"reason": reason}))
        if reason == TOO_MANY_JOINS:
            self.close(POLICY, "Too many joins per second")

    def _channel_limits(self) -> ChannelLimits:
        return ChannelLimits(
            max_payload=self._settings.max_payload,
            max_presence=self._settings.max_presence_payload,
            presence_calls=self._settings.max_presence_calls_per_second,
            has_presence=self._settings.presence_enabled,
        )

    # The end

    def _backlog(self) -> int:
        """Return how many bytes wait for the client."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return 0
        return transport.get_write_buffer_size() + self._unsent_bytes

    def _close_slow(self, transport: asyncio.Transport) -> None:
        self._statistics.slow += 1
        observe(SlowConsumer(transport.get_write_buffer_size()))
        self.close(POLICY, "slow consumer: too many bytes are unread")

    async def _close(self, code: int, reason: str) -> None:
        """Send the close frame, wait `_CLOSE_S` for the client's, and abort if bytes are still unsent."""
        try:
            await self._socket.close(code=code, message=reason.encode(), drain=False)
        except (ConnectionError, TimeoutError):
            pass
        finally:
            if self._transport is not None and self._transport.get_write_buffer_size():
                self._transport.abort()

    def _end(self) -> None:
        self._is_open = False
        for session in list(self._sessions.values()):
            session.release(has_left=self._has_left)
        self._sessions.clear()


def _is_leaving(message: WSMessage) -> bool:
    """Return whether a client closed its socket because it is done, and will not open another one."""
    is_close = message.type is WSMsgType.CLOSE and message.data in (NORMAL, GOING_AWAY)
    return is_close and message.extra != _HEARTBEAT_TIMEOUT
