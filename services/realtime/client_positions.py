"""Replays row changes to clients that lost their connection and join again without `resume` (`realtime.replay_window`).

Theory. A client that cannot name a position (supabase-js) sends the same join again after a break, perhaps to another edge.
The platform therefore remembers, for each channel with row changes, up to where its client acknowledged them:

    acknowledged  Once a second a socket that was sent row changes gets a WebSocket PING with a counter, written behind the
                  changes. Every client answers it by itself (RFC 6455, 5.5.2). TCP keeps the order, so the PONG shows that
                  everything before the PING arrived. A channel that was sent nothing acknowledges by itself.
    reported      Positions that changed go to all members of the pool `realtime` once a second (core NATS, not kept), and
                  every open one again each third of the window, or when a member joins the pool. A channel that its client
                  left (`phx_leave`, or a close frame of the client) is forgotten; any other end, and a PING without an
                  answer for `_DOUBT_S`, makes it `broken`. An edge that is killed reports nothing more.
    asked         A join with row changes and without `resume` asks one member of the pool for the position of its client.
                  What came after goes through the same path as `resume`: today's policies and column rights hold.

Delivery is at least once: what was sent after the last acknowledged position comes twice. Clients are told apart by what a
join shows (`recognize`); clients that look the same may get each other's missed changes, which `resume` would give them too.
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
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import Message as Arrived
from broker.observability.observe import observe
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import ClientPosition, ClientPositions, PositionQuery
from services.realtime.join import Join
from services.realtime.observed import PositionUnknown
from services.realtime.questions import Questions, Refused
from services.realtime.tokens import Identity
from services.realtime.wire import ping_frame

_EVERY_S = 1.0
_SOON_S = 0.05
"""After how long a new position or the end of a channel is reported: those of many channels go together."""
_DOUBT_S = 2.0
"""After how long without an answer to a PING a channel counts as broken."""
_IN_ONE_MESSAGE = 2000
_AT_ONCE = 500
"""Sockets that are looked at in one iteration of the event loop."""
_read_claims = msgspec.json.Decoder(dict[str, Any]).decode


class RememberedChannel:
    """The acknowledged position of one channel. `delivered` is the last change that was acknowledged."""

    __slots__ = ("client", "delivered", "number", "position", "state")

    def __init__(self, number: int, client: bytes, position: Position) -> None:
        self.number, self.client, self.position = number, client, position
        self.state: Literal["live", "broken", "left"] = "live"
        self.delivered: Position | None = None


class ChannelMemory:
    """What is remembered of one channel, from its join to its end."""

    def __init__(self, positions: "EdgePositions", client: bytes) -> None:
        self._positions = positions
        self.client = client
        self.channel: RememberedChannel | None = None
        self._has_left: bool | None = None
        self._taking: asyncio.Task[Position | None] | None = None

    async def recall(self) -> Position | None:
        """Return the position from which the client goes on, if one is remembered.

        The position is removed where it was remembered, so it is kept here even if the channel ends meanwhile.
        """
        self._taking = asyncio.get_running_loop().create_task(self._take())
        return await asyncio.shield(self._taking)

    def begin(self, position: Position) -> None:
        """Remember that everything up to a position is acknowledged, if nothing is remembered yet."""
        if self.channel is None:
            self.channel = self._positions.remember(self.client, position)
            if self._has_left is not None:
                self._positions.end(self.channel, has_left=self._has_left)

    def rename(self, client: bytes) -> None:
        """Recognize the client by something else: it sent a new token."""
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
        position = await self._positions.take(self.client)
        if position is not None:
            self.begin(position)
        return position


class Progress(Protocol):
    """The row changes of a channel, as far as they were sent (`following.py`)."""

    @property
    def sent(self) -> Position | None:
        """Return up to where everything is written to the socket."""
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
    """The PINGs of one socket: one at a time waits for its answer."""

    def __init__(self, positions: "EdgePositions") -> None:
        self._positions = positions
        self._numbers = count(1)
        self._ping: _Ping | None = None

    def ask(self, channels: Iterable[tuple[RememberedChannel, Progress]], now: float) -> bytes | None:
        """Return a PING to write if something was sent that is not acknowledged; doubt the client that does not answer."""
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

    def answered(self, payload: bytes) -> None:
        """Take a PONG: what was sent before its PING arrived."""
        if self._ping is None or payload != self._ping.payload:
            return
        ping, self._ping = self._ping, None
        for channel, sent, delivered in ping.channels:
            channel.position, channel.delivered = max(channel.position, sent), delivered
        self._set_state(ping, "live")

    def _set_state(self, ping: _Ping, state: Literal["live", "broken"]) -> None:
        for channel, _, _ in ping.channels:
            self._positions.changed_state(channel, state)


class Acknowledging(Protocol):
    """A socket with remembered channels."""

    def ask_acknowledgement(self, now: float) -> None:
        """Find out what arrived at the client."""
        ...


class EdgePositions:
    """The remembered channels of this edge."""

    def __init__(
        self,
        connection: Connection,
        edge: str,
        questions: Questions,
        window_s: float,
        sockets: Callable[[], Iterable[Acknowledging]],
    ) -> None:
        self._connection, self._edge, self._questions = connection, edge, questions
        self._window_s, self._sockets = window_s, sockets
        self._numbers = count(1)
        self._open: dict[int, RememberedChannel] = {}
        self._changed: dict[int, RememberedChannel] = {}
        self._taken: list[tuple[str, int]] = []
        self._soon: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._members: Subscription | None = None

    @property
    def is_on(self) -> bool:
        """Whether positions are remembered at all."""
        return self._window_s > 0

    def start(self) -> None:
        """Begin to report, if positions are remembered."""
        if self.is_on:
            alive = subjects.alive(subjects.REALTIME.pool)
            self._members = self._connection.subscribe(alive, self._report_all_soon)
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Report what is left, and stop."""
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
            self._soon = asyncio.get_running_loop().call_later(_SOON_S, self._report)

    def changed_state(self, channel: RememberedChannel, state: Literal["live", "broken"]) -> None:
        """Report the position of an open channel, and whether its client answers."""
        is_news = state == "live" or channel.state != "broken"
        if is_news and channel.number in self._open:
            channel.state = state
            self.changed(channel)

    def end(self, channel: RememberedChannel, *, has_left: bool) -> None:
        """Report the end of a channel; what its client missed afterwards is kept for it unless it left."""
        if self._open.pop(channel.number, None) is not None:
            channel.state = "left" if has_left else "broken"
            self.changed(channel, is_soon=True)

    async def take(self, client: bytes) -> Position | None:
        """Return the position from which a client that joins goes on; None where none is remembered, or after a second."""
        self._report()  # of the channel that broke, too: a client can be back before the next report
        try:
            answer = await self._questions.position(PositionQuery(self._edge, client))
        except (ApiError, Refused) as error:
            observe(PositionUnknown(str(error)))
            return None
        if answer.position is not None:
            self._taken.append((answer.edge, answer.number))
        return answer.position

    # Reports

    def _report_all_soon(self, arrived: Arrived) -> None:
        """Report every open channel: a member of the pool joins, or leaves."""
        del arrived
        for channel in self._open.values():
            self.changed(channel, is_soon=True)

    async def _run(self) -> None:
        refreshed_at = time.monotonic()
        while True:
            await asyncio.sleep(_EVERY_S)
            for number, socket in enumerate(list(self._sockets()), 1):
                socket.ask_acknowledgement(time.monotonic())
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
        if not (self._changed or self._taken) or not self._connection.is_connected:
            return  # reported when the broker is back
        changed, self._changed = list(self._changed.values()), {}
        taken, self._taken = self._taken, []
        for start in range(0, max(len(changed), 1), _IN_ONE_MESSAGE):
            part = changed[start : start + _IN_ONE_MESSAGE]
            channels = [ClientPosition(each.number, each.client, each.position, each.state) for each in part]
            report = ClientPositions(self._edge, channels, taken if start == 0 else [])
            self._connection.tell(subjects.CLIENT_POSITIONS.name, encode(report))


def recognize(identity: Identity, join: Join, topic: str, visitor: tuple[str, ...], address: str) -> bytes:
    """Return what a client is recognized by: its session, user or address, what it is, and what it subscribes to.

    `visitor` are texts that the same client shows every time; the address counts only where the token names nobody.
    """
    try:
        claims = _read_claims(identity.claims)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        claims = {}
    user = next((f"{name}:{claims[name]}" for name in ("session_id", "sub") if claims.get(name)), "")
    entries = sorted(encode(wanted.entry) for wanted in join.changes if wanted.entry is not None)
    texts = [identity.role, user, "" if user else address, topic, str(join.is_private), *visitor]
    digest = hashlib.sha256()
    for part in (*(text.encode(errors="surrogatepass") for text in texts), *entries):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()[:16]
