"""The edge of shapes: requests go to the pool `sync`; those that wait for changes wait here (`waits.py`).

    /shape     GET, HEAD, POST, DELETE; with `live` it waits, with `live_sse` it is a stream of server-sent events
    /health    whether shapes are served

A token that expires ends a request that waits: the next one needs a new token. Source: docs/sync.md.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls, PoolReply
from schemas.caller import Caller, UserCaller
from schemas.errors import ApiError
from schemas.http import Headers, Request, Response
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from schemas.settings.sync import SyncSettings
from schemas.sync import CURSOR, SEPARATOR, SHAPE, UP_TO_DATE, WAIT
from services.middleware.errors import JSON
from services.sync.cursors import next_cursor
from services.sync.waits import ShapeWaits, ShapeWatch, place_of, whole

HEALTH = "/health"
_KEEP_ALIVE_S = 21.0
_WRITE_S = 30.0
_HEALTH_MS = 2000
_NO_CACHE = ("cache-control", "no-cache, no-store, must-revalidate")
_NO_STORE = ("cache-control", "private, no-store")
_VARY = ("vary", "authorization, apikey")
_FIELDS = 2000
Forward = Callable[[bool], Awaitable[PoolReply]]
"""Sends the request to the pool; True: the answer has its bytes, as one that this edge may wait for needs."""


class SyncEdge:
    """Answers requests about shapes in one edge process."""

    def __init__(self, settings: SyncSettings, connection: NatsConnection, calls: Calls) -> None:
        self._settings, self._calls = settings, calls
        self._waits = ShapeWaits(connection, calls)
        self._of_callers: Counter[str] = Counter()
        self._jump = random.Random()
        self._is_stopping = False

    async def drain(self) -> None:
        """End the streams, and answer what waits at once: the server waits for them."""
        self._is_stopping = True
        self._waits.stop()

    async def close(self) -> None:
        """Stop."""
        await self._waits.close()

    async def health(self) -> Response:
        """Answer whether shapes are served."""
        request = Request("health", "GET", HEALTH, budget_ms=_HEALTH_MS)
        try:
            reply = await self._calls.call(subjects.health(subjects.SYNC.pool), request)
            is_active = reply.response.status == 200
        except ApiError:
            is_active = False
        body = b'{"status":"active"}' if is_active else b'{"status":"starting"}'
        return Response(200 if is_active else 202, [JSON, _NO_CACHE], body)

    async def answer(
        self,
        http: web.BaseRequest,
        query: str,
        caller: Caller,
        caller_key: str,
        headers: Headers,
        forward: Forward,
    ) -> Response | PoolReply | web.StreamResponse:
        """Answer a request for a shape. `forward` sends it to the pool; `headers` are those of every response.

        Raises: BodyRejected, Unavailable, DeadlineExceeded; ConnectionError when the client is gone.
        """
        options = _options(query)
        if not _flag(options, "live"):
            return await forward(False)
        if (rejection := self._rejection(caller_key)) is not None:
            return rejection
        handle = options.get("handle", "")
        watch = self._waits.enter(handle)
        self._of_callers[caller_key] += 1
        try:
            version = watch.version
            first = await whole(await forward(True))
            if first.status not in (200, WAIT):
                return first
            until = _expiry(caller)
            if _flag(options, "live_sse") or _flag(options, "experimental_live_sse"):
                return await self._stream(http, first, watch, version, until, options, headers)
            if first.status == WAIT:
                deadline = self._deadline(self._settings.poll_timeout, until)
                handle, offset = place_of(first)
                first, _ = await self._waits.next_part(handle, offset, watch, version, deadline)
            return self._with_cursor(first, options, self._settings.poll_timeout)
        finally:
            self._waits.leave(options.get("handle", ""), watch)
            self._of_callers[caller_key] -= 1
            if not self._of_callers[caller_key]:
                del self._of_callers[caller_key]

    def _rejection(self, caller_key: str) -> Response | None:
        """Return the response to one request too many that would wait."""
        settings = self._settings
        retry = ("retry-after", str(self._jump.randint(5, 10)))
        if (
            settings.max_waiting_per_caller
            and self._of_callers[caller_key] >= settings.max_waiting_per_caller
        ):
            body = b'{"message":"Too many requests of this caller wait for changes"}'
            return Response(429, [JSON, retry, _NO_STORE, _VARY], body)
        if settings.max_waiting and self._of_callers.total() >= settings.max_waiting:
            text = "Too many requests wait for changes"
            body = msgspec.json.encode({"code": "concurrent_request_limit_exceeded", "message": text})
            return Response(503, [JSON, retry, _NO_STORE, _VARY], body)
        return None

    # Server-sent events

    async def _stream(
        self,
        http: web.BaseRequest,
        first: Response,
        watch: ShapeWatch,
        version: int,
        until: float,
        options: dict[str, str],
        headers: Headers,
    ) -> web.StreamResponse:
        """Send messages until the time is over, the shape ends, or the process stops."""
        deadline = self._deadline(self._settings.sse_timeout, until)
        sent = web.StreamResponse()
        named = self._with_cursor(first, options, self._settings.sse_timeout).headers
        for name, value in [*named, *headers]:
            if name not in ("content-type", "etag", UP_TO_DATE, "cache-control", "content-length"):
                sent.headers.add(name, value)
        sent.headers["content-type"] = "text/event-stream"
        sent.headers["cache-control"] = "private, no-store"
        sent.headers["x-accel-buffering"] = "no"
        await sent.prepare(http)
        with contextlib.suppress(ConnectionError, TimeoutError, ApiError):
            await self._send_parts(sent, first, watch, version, deadline)
        return sent

    async def _send_parts(
        self, sent: web.StreamResponse, first: Response, watch: ShapeWatch, version: int, deadline: float
    ) -> None:
        loop = asyncio.get_running_loop()
        handle, offset = place_of(first)
        part = first
        while not self._is_stopping:
            if part.status == 200 and _has_messages(part):
                await self._write(
                    sent, b"".join(b"data: %b\n\n" % one for one in part.body[1:-1].split(SEPARATOR))
                )
                offset = place_of(part)[1]
            elif part.status not in (200, WAIT):
                return  # it has ended: the client's next request learns that
            elif part is not first:
                await self._write(sent, b": keep-alive\n\n")
            if loop.time() >= deadline:
                return
            until = min(deadline, loop.time() + _KEEP_ALIVE_S)
            part, version = await self._waits.next_part(handle, offset, watch, version, until)

    async def _write(self, sent: web.StreamResponse, data: bytes) -> None:
        async with asyncio.timeout(_WRITE_S):
            await sent.write(data)

    # Helpers

    def _deadline(self, longest_s: float, until: float) -> float:
        """Return when a request stops waiting, by the event loop's clock: at its token's expiry at the latest."""
        return asyncio.get_running_loop().time() + max(min(longest_s, until - time.time()), 0.0)

    def _with_cursor(self, response: Response, options: dict[str, str], interval_s: float) -> Response:
        if response.status not in (200, WAIT):
            return response
        cursor = next_cursor(options.get("cursor", ""), time.time(), max(interval_s, 1.0), self._jump)
        return msgspec.structs.replace(response, headers=[*response.headers, (CURSOR, cursor)])


def _has_messages(part: Response) -> bool:
    return any(name == "electric-has-data" and value == "true" for name, value in part.headers)


def _options(query: str) -> dict[str, str]:
    """Return the parameters that the edge looks at; malformed ones are the pool's to reject."""
    try:
        return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        return {}


def _flag(options: dict[str, str], name: str) -> bool:
    return name in options and options[name] != "false"


def _expiry(caller: Caller) -> float:
    """Return when a caller's token expires, in seconds since 1970."""
    if not isinstance(caller, UserCaller):
        return float("inf")
    until = read_json_number(caller.decoded().get("exp"), least=0, most=FAR_S)
    return float("inf") if until is None else until


def is_shape(below: str) -> bool:
    """Return whether a path below the prefix is that of shapes; the pool's other paths are not for clients."""
    return below == SHAPE
