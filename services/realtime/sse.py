"""Row changes as server-sent events: `GET /realtime/v1/changes`, for clients that speak plain HTTP.

    ?schema=&table=&filter=&event=&select=     one subscription, as in a join (reference page "realtime", section 9)
    Last-Event-ID, or ?since=                  goes on after that position

What comes: `event: subscribed` when changes from now on are certain to be delivered; for each change its member `data`
with `id: <position>`; `event: gap` when changes are lost and the table must be read anew; `event: expired` before the end
of a stream whose token is over. In between, when nothing happens, a comment or the position alone, so that a client that
reconnects after hours names a fresh one. A client that reads too slowly is cut off; it comes back where it was.
Source: WHATWG HTML, "Server-sent events".
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
from schemas.changes import Kind, Position
from schemas.errors import Unavailable
from schemas.http import Headers, Response
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from schemas.realtime import CheckedEntry, Entry
from services.middleware.refusals import JSON
from services.realtime.model import Delivery, Feed, Subscription
from services.realtime.observed import SlowConsumer
from services.realtime.tokens import Identity

PATH = "/changes"
HEARTBEAT_S = 15.0
_WRITE_S = 30.0
_ID = 1
_EVENTS = frozenset(kind.value for kind in Kind) - {Kind.TRUNCATE.value}
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for."""

    entry: Entry
    since: Position | None


async def serve_changes(
    request: web.BaseRequest,
    feed: Feed | None,
    identity: Identity,
    wanted: Wanted,
    *,
    headers: Headers,
    max_unsent: int,
    ending: asyncio.Event,
) -> web.StreamResponse | Response:
    """Send changes until the client leaves, its token is over or `ending` is set; or give a refusal.

    `headers` are those of every answer. Raises: Unavailable, DeadlineExceeded while nobody can subscribe.
    """
    if feed is None:
        raise Unavailable("row changes are not delivered here")
    until = expiry_of(identity)
    stream = _Stream(identity, max_unsent)
    subscribing = asyncio.get_running_loop().create_task(
        feed.subscribe(stream, [wanted.entry], [_ID], wanted.since)
    )
    try:
        either: list[asyncio.Future[Any]] = [subscribing, stream.begun]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if subscribing.done():
            _, (checked,) = subscribing.result()
            if checked.error:
                return _refusal(checked)
        response = web.StreamResponse(headers=dict(_HEADERS))
        for name, value in headers:
            response.headers[name] = value
        await response.prepare(request)
        with contextlib.suppress(ConnectionError, TimeoutError):
            await stream.send(response, subscribing, until, ending)
        return response
    finally:
        if not subscribing.done():
            subscribing.cancel()
            await asyncio.wait([subscribing])
        if not subscribing.cancelled() and subscribing.exception() is None:
            subscribing.result()[0].close()


_HEADERS = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("Cache-Control", "no-cache, no-store"),
    ("X-Accel-Buffering", "no"),
)


def read_wanted(query: str, last_event_id: str | None) -> Wanted:
    """Read what a request asks for. Raises: ValueError, whose text is for the client."""
    given = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    schema, table = given.get("schema", ""), given.get("table", "")
    if not schema and not table:
        raise ValueError("Name at least a `schema` or a `table`")
    event = given.get("event", "*").upper()
    select = [name.strip() for name in given["select"].split(",")] if given.get("select") else None
    if select is not None and "*" in select:
        select = None
    entry = Entry(
        event if event in _EVENTS else "*", schema or "public", table or "*", given.get("filter", ""), select
    )
    since = last_event_id or given.get("since")
    return Wanted(entry, Position.parse(since) if since else None)


def expiry_of(identity: Identity) -> float:
    """Give when a caller's token is over, in seconds since 1970; never, for one without an end."""
    if identity.expires_at != math.inf:
        return identity.expires_at
    claims = msgspec.json.decode(identity.claims, type=dict[str, object])
    until = read_json_number(claims.get("exp"), least=0, most=FAR_S)
    return math.inf if until is None else until


def _refusal(checked: CheckedEntry) -> Response:
    status = 400 if checked.is_final else 503
    return Response(status, [JSON], msgspec.json.encode({"message": checked.error}))


class _Stream:
    """A subscriber of the feed whose changes wait to be sent, up to a number of bytes."""

    def __init__(self, identity: Identity, max_unsent: int) -> None:
        self.role, self.claims = identity.role, identity.claims
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._max_unsent = max_unsent
        self._unsent: deque[bytes] = deque()
        self._bytes = 0
        self._is_slow = False
        self._is_over = False
        self._something, self._less = asyncio.Event(), asyncio.Event()
        self._position: Position | None = None

    # As a subscriber of the feed

    def deliver(self, delivery: Delivery) -> None:
        """Keep a change until it can be sent."""
        event = delivery.frames.get(_Stream)
        if event is None:
            event = b"id: %b\ndata: %b\n\n" % (
                str(delivery.position).encode(),
                delivery.data.replace(b"\n", b" "),
            )
            delivery.frames[_Stream] = event
        self._put(event)

    def gap(self, since: Position | None) -> None:
        """Tell that changes are lost."""
        told = msgspec.json.encode({"since": None if since is None else str(since)})
        self._put(b"event: gap\ndata: %b\n\n" % told)

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that what it missed should wait in the stream."""
        return self._bytes > self._max_unsent // 8

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        while not self._is_over and self._bytes > self._max_unsent // 32:
            self._less.clear()
            await self._less.wait()

    # Towards the client

    async def send(
        self,
        response: web.StreamResponse,
        subscribing: "asyncio.Task[tuple[Subscription, list[CheckedEntry]]]",
        until: float,
        ending: asyncio.Event,
    ) -> None:
        """Send what comes until there is a reason to stop. Raises: ConnectionError, TimeoutError; Unavailable."""
        subscription: Subscription | None = None
        watching = asyncio.get_running_loop().create_task(self._watch(ending))
        subscribing.add_done_callback(lambda _: self._something.set())
        try:
            while not ending.is_set() and not self._is_slow:
                left_s = until - time.time()
                if left_s <= 0:
                    await self._write(response, b'event: expired\ndata: {"message":"JWT expired"}\n\n')
                    return
                if subscription is None and subscribing.done():
                    if subscribing.cancelled() or subscribing.exception() is not None:
                        return  # the client comes back
                    subscription = subscribing.result()[0]
                    self._put(_subscribed(subscription.position))
                if self._unsent:
                    await self._write(response, self._taken())
                    continue
                self._something.clear()
                try:
                    async with asyncio.timeout(min(HEARTBEAT_S, left_s)):
                        await self._something.wait()
                except TimeoutError:
                    await self._write(response, self._sign_of_life(subscription))
        finally:
            watching.cancel()
            self._is_over = True
            self._less.set()
        if self._is_slow:
            observe(SlowConsumer(self._bytes))

    async def _watch(self, ending: asyncio.Event) -> None:
        await ending.wait()
        self._something.set()

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        async with asyncio.timeout(_WRITE_S):
            await response.write(data)

    def _put(self, event: bytes) -> None:
        if self._is_slow:
            return
        self._unsent.append(event)
        self._bytes += len(event)
        self._is_slow = self._bytes > self._max_unsent
        self._something.set()
        if not self.begun.done():
            self.begun.set_result(None)

    def _taken(self) -> bytes:
        """Take as much as goes into one write."""
        taken, size = [], 0
        while self._unsent and size < _PIECE:
            event = self._unsent.popleft()
            taken.append(event)
            size += len(event)
        self._bytes -= size
        self._less.set()
        return b"".join(taken)

    def _sign_of_life(self, subscription: Subscription | None) -> bytes:
        """Give the position if it is another, else a comment. All deliveries up to it are sent."""
        position = subscription.position if subscription is not None else None
        if position is None or position == self._position or self._unsent:
            return b":\n\n"
        self._position = position
        return b"id: %b\n\n" % str(position).encode()


def _subscribed(position: Position) -> bytes:
    text = str(position).encode()
    return b'id: %b\nevent: subscribed\ndata: {"position":"%b"}\n\n' % (text, text)
