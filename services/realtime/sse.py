"""Row changes as server-sent events: `GET /realtime/v1/changes`, for clients that use plain HTTP.

    ?schema=&table=&filter=&event=&select=     one subscription, as in a join (docs/reference/realtime.md, section 9)
    Last-Event-ID, or ?since=                  resume after that position

Events: `event: subscribed` when every change from now on is certain to be delivered; for each change its member `data` with
`id: <position>`; `event: gap` when changes are lost and the table must be read again; `event: expired` before a stream ends
because its token expired. If nothing happens for 15 seconds a comment is sent, or the position alone if it changed, so that a
client that reconnects after hours sends a recent one. A client that reads too slowly is disconnected; it resumes from its
position. Source: WHATWG HTML, "Server-sent events".
"""

import asyncio
import contextlib
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from broker.observability.observe import observe
from schemas.changes import ChangeKind, Position
from schemas.errors import Unavailable
from schemas.http import Headers, Response
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from schemas.realtime import ChangeSubscription, CheckedSubscription
from services.middleware.errors import JSON
from services.realtime.changes.interface import Delivery, Feed, FeedSubscription
from services.realtime.observations import SlowConsumer
from services.realtime.tokens import RealtimeIdentity

PATH = "/changes"
HEARTBEAT_S = 15.0
_WRITE_S = 30.0
"""A client that accepts no byte for so long is disconnected."""
_SUBSCRIPTION_ID = 1
"""A stream has one subscription, so its id in the feed is always the same."""
_EVENTS = frozenset(kind.value for kind in ChangeKind) - {ChangeKind.TRUNCATE.value}
_PIECE = 64 * 1024
"""Bytes of queued events that are sent by one write."""


@dataclass(frozen=True, slots=True)
class ChangesRequest:
    """The subscription of a request, and the position after which it resumes."""

    subscription: ChangeSubscription
    since: Position | None


async def serve_changes(
    request: web.BaseRequest,
    feed: Feed | None,
    identity: RealtimeIdentity,
    changes: ChangesRequest,
    *,
    headers: Headers,
    max_unsent: int,
    stopping: asyncio.Event,
) -> web.StreamResponse | Response:
    """Send changes until the client leaves, its token expires or `stopping` is set; or return the response that rejects it.

    `headers` are added to the response. Raises: Unavailable, DeadlineExceeded while the pool or the broker is away.
    """
    if feed is None:
        raise Unavailable("row changes are not delivered here")
    until = expiry_of(identity)
    stream = _Stream(identity, max_unsent)
    subscribing = asyncio.get_running_loop().create_task(
        feed.subscribe(stream, [changes.subscription], [_SUBSCRIPTION_ID], changes.since)
    )
    try:
        # A resumed subscription delivers missed changes before it is complete: the first of them starts the response, too.
        either: list[asyncio.Future[Any]] = [subscribing, stream.has_event]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if subscribing.done():
            _, (checked,) = subscribing.result()
            if checked.error:
                return _rejection(checked)
        response = web.StreamResponse(headers=dict(HEADERS))
        for name, value in headers:
            response.headers[name] = value
        await response.prepare(request)
        with contextlib.suppress(ConnectionError, TimeoutError):
            await stream.send(response, subscribing, until, stopping)
        return response
    finally:
        if not subscribing.done():
            subscribing.cancel()
            await asyncio.wait([subscribing])
        if not subscribing.cancelled() and subscribing.exception() is None:
            subscribing.result()[0].close()


HEADERS = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("Cache-Control", "no-cache, no-store"),
    ("X-Accel-Buffering", "no"),
)


def parse_changes_request(query: str, last_event_id: str | None) -> ChangesRequest:
    """Parse the query of a request. Raises: ValueError, whose text is for the client."""
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    schema, table = options.get("schema", ""), options.get("table", "")
    if not schema and not table:
        raise ValueError("Name at least a `schema` or a `table`")
    event = options.get("event", "*").upper()
    select = [name.strip() for name in options["select"].split(",")] if options.get("select") else None
    if select is not None and "*" in select:
        select = None
    subscription = ChangeSubscription(
        event if event in _EVENTS else "*",
        schema or "public",
        table or "*",
        options.get("filter", ""),
        select,
    )
    since = last_event_id or options.get("since")
    return ChangesRequest(subscription, Position.parse(since) if since else None)


def expiry_of(identity: RealtimeIdentity) -> float:
    """Return when a caller's token expires, in seconds since 1970; infinity if it does not."""
    if identity.expires_at != math.inf:
        return identity.expires_at
    claims = msgspec.json.decode(identity.claims, type=dict[str, object])
    until = read_json_number(claims.get("exp"), least=0, most=FAR_S)
    return math.inf if until is None else until


def _rejection(checked: CheckedSubscription) -> Response:
    status = 400 if checked.is_final else 503
    return Response(status, [JSON], msgspec.json.encode({"message": checked.error}))


class _Stream:
    """A subscriber of the feed: queues events to be sent, up to `max_unsent` bytes."""

    def __init__(self, identity: RealtimeIdentity, max_unsent: int) -> None:
        self.role, self.claims = identity.role, identity.claims
        self.has_event: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the first event is queued."""
        self._max_unsent = max_unsent
        self._unsent: deque[bytes] = deque()
        self._bytes = 0
        self._is_slow = False
        self._is_over = False
        self._wake, self._sent = asyncio.Event(), asyncio.Event()
        self._position: Position | None = None

    # As a subscriber of the feed

    def deliver(self, delivery: Delivery) -> None:
        """Queue a change. Its event is encoded once for all streams."""
        event = delivery.frames.get(_Stream)
        if event is None:
            event = b"id: %b\ndata: %b\n\n" % (
                str(delivery.position).encode(),
                delivery.data.replace(b"\n", b" "),
            )
            delivery.frames[_Stream] = event
        self._put(event)

    def gap(self, since: Position | None) -> None:
        """Queue the event that changes are lost."""
        data = msgspec.json.encode({"since": None if since is None else str(since)})
        self._put(b"event: gap\ndata: %b\n\n" % data)

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        return self._bytes > self._max_unsent // 8

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        while not self._is_over and self._bytes > self._max_unsent // 32:
            self._sent.clear()
            await self._sent.wait()

    # Towards the client

    async def send(
        self,
        response: web.StreamResponse,
        subscribing: "asyncio.Task[tuple[FeedSubscription, list[CheckedSubscription]]]",
        until: float,
        stopping: asyncio.Event,
    ) -> None:
        """Send events until the token expires, the client is too slow, or `stopping` is set.

        Raises: ConnectionError, TimeoutError.
        """
        subscription: FeedSubscription | None = None
        watching = asyncio.get_running_loop().create_task(self._watch(stopping))
        subscribing.add_done_callback(lambda _: self._wake.set())
        try:
            while not stopping.is_set() and not self._is_slow:
                left_s = until - time.time()
                if left_s <= 0:
                    await self._write(response, b'event: expired\ndata: {"message":"JWT expired"}\n\n')
                    return
                if subscription is None and subscribing.done():
                    if subscribing.cancelled() or subscribing.exception() is not None:
                        return  # the client reconnects
                    subscription = subscribing.result()[0]
                    self._put(_subscribed(subscription.position))
                if self._unsent:
                    await self._write(response, self._next_piece())
                    continue
                self._wake.clear()
                try:
                    async with asyncio.timeout(min(HEARTBEAT_S, left_s)):
                        await self._wake.wait()
                except TimeoutError:
                    await self._write(response, self._heartbeat(subscription))
        finally:
            watching.cancel()
            self._is_over = True
            self._sent.set()
        if self._is_slow:
            observe(SlowConsumer(self._bytes))

    async def _watch(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self._wake.set()

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        async with asyncio.timeout(_WRITE_S):
            await response.write(data)

    def _put(self, event: bytes) -> None:
        if self._is_slow:
            return
        self._unsent.append(event)
        self._bytes += len(event)
        self._is_slow = self._bytes > self._max_unsent
        self._wake.set()
        if not self.has_event.done():
            self.has_event.set_result(None)

    def _next_piece(self) -> bytes:
        """Remove queued events for one write, about `_PIECE` bytes, and return them."""
        events, size = [], 0
        while self._unsent and size < _PIECE:
            event = self._unsent.popleft()
            events.append(event)
            size += len(event)
        self._bytes -= size
        self._sent.set()
        return b"".join(events)

    def _heartbeat(self, subscription: FeedSubscription | None) -> bytes:
        """Return the position if it changed, else a comment. Everything before the position is sent."""
        position = subscription.position if subscription is not None else None
        if position is None or position == self._position or self._unsent:
            return b":\n\n"
        self._position = position
        return b"id: %b\n\n" % str(position).encode()


def _subscribed(position: Position) -> bytes:
    text = str(position).encode()
    return b'id: %b\nevent: subscribed\ndata: {"position":"%b"}\n\n' % (text, text)
