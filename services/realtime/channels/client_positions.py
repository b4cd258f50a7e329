"""Replays row changes to clients that lost their connection and join again without `resume` (`realtime.replay_window`).

Theory. A client that cannot name a position (supabase-js) sends the same join again after a break, perhaps to another edge.
The platform therefore remembers, for each channel with row changes, up to where its client acknowledged them:

    acknowledged  Once a second a socket that was sent row changes gets a WebSocket PING with a counter, written behind the
                  changes. Every client answers it by itself (RFC 6455, 5.5.2). TCP keeps the order, so the PONG shows that
                  everything before the PING arrived. A channel that was sent nothing acknowledges by itself.
    reported      Positions that changed go to all members of the pool `realtime` once a second (core NATS, not stored), and
                  every open one again each third of the window, or when a member joins the pool. A channel that its client
                  left (`phx_leave`, or a close frame of the client) is forgotten; any other end, and a PING without an
                  answer for `_DOUBT_S`, makes it `broken`. An edge that is killed reports nothing more.
    queried       A join with row changes and without `resume` queries one member of the pool for the position of its client.
                  Later changes go through the same path as `resume`: today's policies and column rights apply.

Delivery is at least once: what was sent after the last acknowledged position is sent twice. Clients are recognized by what
their join shows (`recognize`). Clients that look the same may receive each other's missed changes; with `resume` they could
request these as well.
"""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, Protocol

import msgspec

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage as BrokerMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observe import observe
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import ClientPosition, ClientPositions, PositionAnswer, PositionQuery
from services.realtime.channels.pool_queries import ChannelQueries, ChannelQueryRejected
from services.realtime.observations import PositionUnknown
from services.realtime.protocol.join import JoinRequest
from services.realtime.protocol.websocket import ping_frame
from services.realtime.tokens import RealtimeIdentity

_EVERY_S = 1.0
_SOON_S = 0.05
"""Seconds between two reports of new positions and ends of channels: many joins at once share a report."""
_DOUBT_S = 2.0
"""Seconds without an answer to a PING after which a channel counts as broken."""
_IN_ONE_MESSAGE = 2000
_AT_ONCE = 500
"""Sockets that are processed in one iteration of the event loop."""
_read_claims = msgspec.json.Decoder(dict[str, Any]).decode


class RememberedChannel:
    """The acknowledged position of one channel. `delivered` is the last change that was acknowledged."""

    __slots__ = ("client", "delivered", "number", "position", "state")

    def __init__(self, number: int, client: bytes, position: Position) -> None:
        self.number, self.client, self.position = number, client, position
        self.state: Literal["live", "broken", "left"] = "live"
        self.delivered: Position | None = None


class ChannelMemory:
    """The remembered position of one channel, from its join to its end."""

    def __init__(self, positions: "EdgePositions", client: bytes) -> None:
        self._positions = positions
        self.client = client
        self.channel: RememberedChannel | None = None
        self._has_left: bool | None = None
        self._taking: asyncio.Task[Position | None] | None = None

    async def recall(self) -> Position | None:
        """Return the position from which the client goes on, if one is remembered.

        The query runs to its end even if the channel ends meanwhile: a client that left has used the position.
        """
        self._taking = asyncio.get_running_loop().create_task(self._take())
        return await asyncio.shield(self._taking)

    def start(self, position: Position) -> None:
        """Remember that everything up to a position is acknowledged, if nothing is remembered yet."""
        if self.channel is None:
            self.channel = self._positions.remember(self.client, position)
            if self._has_left is not None:
                self._positions.end(self.channel, has_left=self._has_left)

    async def reported(self) -> None:
        """Wait until the pool was sent the position, so that a kill of this edge cannot lose it. Waits up to `_SOON_S`."""
        await self._positions.reported()

    def change_client(self, client: bytes) -> None:
        """Recognize the client by another digest, after it sent a new token."""
        if client != self.client:
            self.client = client
            if self.channel is not None:
                self.channel.client = client
                self._positions.changed(self.channel)

    def end(self, *, has_left: bool) -> None:
        """Report the end of the channel."""
        self._has_left = has_left
        if self.channel is not None:
            self._positions.end(self.channel, has_left=has_left)

    async def _take(self) -> Position | None:
        answer = await self._positions.query(self.client)
        # A channel that broke before the answer used nothing: the next join of its client must get the position.
        if answer.position is not None and self._has_left is not False:
            self._positions.use(answer)
            self.start(answer.position)
        return answer.position


class ChangeProgress(Protocol):
    """How far the row changes of a channel were sent (`row_changes.py`)."""

    @property
    def sent(self) -> Position | None:
        """Return up to where all changes are written to the socket."""
        ...

    @property
    def delivered(self) -> Position | None:
        """Return the last change that was written to the socket."""
        ...


@dataclass(frozen=True, slots=True)
class _Ping:
    payload: bytes
    sent_at: float
    channels: list[tuple[RememberedChannel, Position, Position | None]]


class Acknowledgements:
    """The PINGs of one socket; at most one waits for its answer."""

    def __init__(self, positions: "EdgePositions") -> None:
        self._positions = positions
        self._numbers = count(1)
        self._ping: _Ping | None = None

    def next_ping(
        self, channels: Iterable[tuple[RememberedChannel, ChangeProgress]], now: float
    ) -> bytes | None:
        """Return a PING to write if sent changes are not acknowledged.

        If the client did not answer the last one for `_DOUBT_S`, its channels become `broken`.
        """
        if self._ping is not None:
            if now - self._ping.sent_at > _DOUBT_S:
                self._set_state(self._ping, "broken")
            return None
        unacknowledged = []
        for channel, progress in channels:
            sent, delivered = progress.sent, progress.delivered
            if sent is None:
                continue
            if delivered == channel.delivered:
                channel.position = max(channel.position, sent)
            else:
                unacknowledged.append((channel, sent, delivered))
        if not unacknowledged:
            return None
        self._ping = _Ping((next(self._numbers) % 2**32).to_bytes(4, "big"), now, unacknowledged)
        return ping_frame(self._ping.payload)

    def receive_pong(self, payload: bytes) -> None:
        """Handle a PONG: what was sent before its PING has arrived."""
        if self._ping is None or payload != self._ping.payload:
            return
        ping, self._ping = self._ping, None
        for channel, sent, delivered in ping.channels:
            channel.position, channel.delivered = max(channel.position, sent), delivered
        self._set_state(ping, "live")

    def _set_state(self, ping: _Ping, state: Literal["live", "broken"]) -> None:
        for channel, _, _ in ping.channels:
            self._positions.changed_state(channel, state)


class AcknowledgingSocket(Protocol):
    """A socket with remembered channels."""

    def request_acknowledgement(self, now: float) -> None:
        """Send a PING if sent changes are not acknowledged."""
        ...


class EdgePositions:
    """The remembered channels of this edge."""

    def __init__(
        self,
        connection: NatsConnection,
        edge: str,
        queries: ChannelQueries,
        window_s: float,
        sockets: Callable[[], Iterable[AcknowledgingSocket]],
    ) -> None:
        self._connection, self._edge, self._queries = connection, edge, queries
        self._window_s, self._sockets = window_s, sockets
        self._numbers = count(1)
        self._open: dict[int, RememberedChannel] = {}
        self._changed: dict[int, RememberedChannel] = {}
        self._answered: list[tuple[str, int]] = []
        """Channels of other edges whose positions the pool answered, to be reported as used."""
        self._soon: asyncio.TimerHandle | None = None
        self._reported_at = 0.0
        self._has_reported = asyncio.Event()
        """Set by every report; cleared when a report is due."""
        self._task: asyncio.Task[None] | None = None
        self._members: NatsSubscription | None = None

    @property
    def is_on(self) -> bool:
        """Whether positions are remembered."""
        return self._window_s > 0

    def start(self) -> None:
        """Start to report, if positions are remembered."""
        if self.is_on:
            alive = subjects.alive(subjects.REALTIME.pool)
            self._members = self._connection.subscribe(alive, self._report_all_soon)
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Send the last report and stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._members is not None:
            self._members.unsubscribe()
        self._report()

    # Channels

    def remember(self, client: bytes, position: Position) -> RememberedChannel:
        """Return a new channel that acknowledged everything up to a position."""
        channel = RememberedChannel(next(self._numbers), client, position)
        self._open[channel.number] = channel
        self.changed(channel, is_soon=True)
        return channel

    def changed(self, channel: RememberedChannel, *, is_soon: bool = False) -> None:
        """Report a channel with the next report."""
        self._changed[channel.number] = channel
        if is_soon and self._soon is None:
            loop = asyncio.get_running_loop()
            self._has_reported.clear()
            self._soon = loop.call_at(self._reported_at + _SOON_S, self._report)

    async def reported(self) -> None:
        """Wait for the report that is due, if one is."""
        if self._soon is not None:
            await self._has_reported.wait()

    def changed_state(self, channel: RememberedChannel, state: Literal["live", "broken"]) -> None:
        """Report the position of an open channel, and whether its client answers."""
        is_news = state == "live" or channel.state != "broken"
        if is_news and channel.number in self._open:
            channel.state = state
            self.changed(channel)

    def end(self, channel: RememberedChannel, *, has_left: bool) -> None:
        """Report the end of a channel; its position stays remembered unless the client left."""
        if self._open.pop(channel.number, None) is not None:
            channel.state = "left" if has_left else "broken"
            self.changed(channel, is_soon=True)

    async def query(self, client: bytes) -> PositionAnswer:
        """Return the position from which a client that joins goes on; an empty answer if none is known within a second."""
        self._report()  # reports the broken channel, too: a client can be back before the next regular report
        try:
            return await self._queries.position(PositionQuery(self._edge, client))
        except (ApiError, ChannelQueryRejected) as error:
            observe(PositionUnknown(str(error)))
            return PositionAnswer()

    def use(self, answer: PositionAnswer) -> None:
        """Report that a channel of this edge goes on from an answered position, with the report of that channel."""
        self._answered.append((answer.edge, answer.number))

    # Reports

    def _report_all_soon(self, received: BrokerMessage) -> None:
        """Report every open channel, because a member joined or left the pool."""
        del received
        for channel in self._open.values():
            self.changed(channel, is_soon=True)

    async def _run(self) -> None:
        refreshed_at = time.monotonic()
        while True:
            await asyncio.sleep(_EVERY_S)
            for number, socket in enumerate(list(self._sockets()), 1):
                socket.request_acknowledgement(time.monotonic())
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            if (now := time.monotonic()) - refreshed_at > self._window_s / 3:
                refreshed_at = now
                self._changed |= self._open
            self._report()

    def _report(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
            self._reported_at = asyncio.get_running_loop().time()
            self._has_reported.set()
        if not (self._changed or self._answered) or not self._connection.is_connected:
            return  # without the broker: reported when it is back
        changed, self._changed = list(self._changed.values()), {}
        answered, self._answered = self._answered, []
        for start in range(0, max(len(changed), 1), _IN_ONE_MESSAGE):
            part = changed[start : start + _IN_ONE_MESSAGE]
            channels = [
                ClientPosition(channel.number, channel.client, channel.position, channel.state)
                for channel in part
            ]
            report = ClientPositions(self._edge, channels, answered if start == 0 else [])
            self._connection.try_publish(subjects.CLIENT_POSITIONS.name, encode(report))


def recognize(
    identity: RealtimeIdentity, join: JoinRequest, topic: str, traits: tuple[str, ...], address: str
) -> bytes:
    """Return a digest by which a client is recognized: its session, user or address, its traits, and its subscriptions.

    `traits` are texts that the same client sends every time. The address counts only if the token names no user.
    """
    try:
        claims = _read_claims(identity.claims)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        claims = {}
    user = next((f"{name}:{claims[name]}" for name in ("session_id", "sub") if claims.get(name)), "")
    subscriptions = sorted(
        encode(requested.subscription) for requested in join.changes if requested.subscription is not None
    )
    texts = [identity.role, user, "" if user else address, topic, str(join.is_private), *traits]
    digest = hashlib.sha256()
    for part in (*(text.encode(errors="surrogatepass") for text in texts), *subscriptions):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()[:16]
