"""Requests to functions at the door: what they are told of their client, their preflights, and WebSockets.

- Time and length have limits of their own (`edge_runtime`): the pool says when a function is too slow, the door later.
- `X-Forwarded-Host`, `-Proto`, `-For` and `-Prefix` are the door's finding; a client's own count only from a known proxy.
- A preflight goes to the function; one that it does not answer well is answered here.
- A WebSocket is a request whose body and whose answer are both streamed, behind a head with status 101: the broker carries
  both directions at once (`broker/requests/body.py`). Each costs two transfers, so some 4 KB and 8 small messages a second.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

from aiohttp import web

from broker.requests.call import Answer, Calls
from broker.subjects import FUNCTIONS_WANTED
from schemas.caller import Caller, Service, User
from schemas.errors import Unavailable
from schemas.functions.errors import NameMissing, NoFunction
from schemas.http import Headers, Response
from schemas.settings.functions import EdgeRuntime
from services.gateway.forward import Forwarder, headers_out
from services.gateway.pace import Patience
from services.gateway.public_address import told_by
from services.gateway.routes import Route
from services.middleware.refusals import JSON

PREFIX = "/functions/v1"
_ADMIN = "/_internal/"
"""Where functions are administered (workers/functions/admin.py)."""
_HEALTH = "/_internal/health"
_GRACE_S = 10.0
"""Seconds that the door waits longer than the pool."""
_OURS = frozenset(
    {"x-forwarded-host", "x-forwarded-proto", "x-forwarded-for", "x-forwarded-prefix", "x-forwarded-port"}
)
_HIGH_WATER = 256 * 1024


class Functions:
    """The way of requests to functions."""

    def __init__(self, calls: Calls, runtime: EdgeRuntime, patience: Patience) -> None:
        def forwarder(seconds: float) -> Forwarder:
            return Forwarder(
                calls,
                max_body=runtime.max_body,
                patience=patience,
                request_timeout=seconds + _GRACE_S,
            )

        self._calls = calls
        self._usual = forwarder(max(runtime.wall_s, runtime.timeout_s))
        self._sockets = forwarder(runtime.websocket_s)

    async def ask(
        self,
        route: Route,
        path: str,
        query: str,
        request: web.BaseRequest,
        id: str,
        caller: Caller,
        headers: Headers,
        client: str,
        caller_key: str = "",
    ) -> Answer:
        """Ask the pool of functions. Raises: BodyRefused, Unavailable, DeadlineExceeded."""
        if not wants_socket(request):
            try:
                return await self._usual.ask(
                    route, path, query, request, id, caller, headers, client, caller_key
                )
            except Unavailable:
                if path == _HEALTH and await self._calls.is_heard(FUNCTIONS_WANTED):
                    return Answer(
                        Response(200, [JSON], b'{"message":"ok"}')
                    )  # as the worker that is waited for
                if path.startswith(_ADMIN) and _is_service(caller):
                    self._calls.wake(FUNCTIONS_WANTED)  # a worker may wait for the first function
                elif await self._calls.is_heard(FUNCTIONS_WANTED):
                    return Answer((NoFunction() if path.strip("/") else NameMissing()).response())
                raise
        assert route.subject is not None  # functions have one
        head = self._sockets.head(
            id, request.method, path, query, [*headers, ("upgrade", "websocket")], caller, client, caller_key
        )
        return await self._calls.call(route.subject, head, body=_Incoming(request))


def _is_service(caller: Caller) -> bool:
    return isinstance(caller, Service) or (
        isinstance(caller, User) and caller.decoded().get("role") == "service_role"
    )


def wants_socket(request: web.BaseRequest) -> bool:
    """Tell whether a request asks for a WebSocket. Source: RFC 6455, 4.1."""
    return (
        request.method == "GET"
        and request.headers.get("Upgrade", "").lower() == "websocket"
        and "upgrade" in request.headers.get("Connection", "").lower()
    )


def forwarded(
    headers: Headers, first: Mapping[str, str], scheme: str, client: str, *, is_trusted: bool
) -> Headers:
    """Give the headers for a function, with what the door knows of the client."""
    place = urlsplit(told_by(first, scheme, is_trusted=is_trusted))
    told = [("x-forwarded-proto", place.scheme or scheme), ("x-forwarded-prefix", PREFIX)]
    if place.netloc:
        told.append(("x-forwarded-host", place.netloc))
    if client:
        told.append(("x-forwarded-for", client))
    return [*(each for each in headers if each[0] not in _OURS), *told]


async def join(request: web.BaseRequest, answer: Answer, extra: Headers) -> web.StreamResponse:
    """Tell the client that its WebSocket is open, and pass on what the function says until either side ends."""
    response = answer.response
    headers = headers_out(response.headers, extra)
    headers["Connection"], headers["Upgrade"] = "upgrade", "websocket"
    sent = web.StreamResponse(status=101, headers=headers)
    sent.force_close()
    try:
        await sent.prepare(request)
        if answer.chunks is not None:
            async for chunk in answer.chunks:
                await sent.write(chunk)
    except Unavailable:
        if request.transport is not None:
            request.transport.abort()
    finally:
        await answer.close()
    return sent


class _Incoming(AsyncIterator[bytes]):
    """The bytes that a client sends behind its request for a WebSocket; aiohttp hands them over as to a parser."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._is_ended = False
        self._is_paused = False
        self._heard = asyncio.Event()
        request.protocol.set_parser(self)  # type: ignore[arg-type]  # it asks for no more than these two methods

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes."""
        self._pieces.append(bytes(data))
        self._size += len(data)
        if self._size >= _HIGH_WATER and not self._is_paused and self._request.transport is not None:
            self._is_paused = True
            self._request.transport.pause_reading()
        self._heard.set()
        return False, b""

    def feed_eof(self) -> None:
        """Take note of the end."""
        self._is_ended = True
        self._heard.set()

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self._is_ended:
                raise StopAsyncIteration
            self._heard.clear()
            await self._heard.wait()
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._is_paused and self._size < _HIGH_WATER and self._request.transport is not None:
            self._is_paused = False
            self._request.transport.resume_reading()
        return piece
