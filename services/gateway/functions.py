"""Calls of functions from the gateway: time limits, forwarding headers and WebSockets.

- The settings of `edge_runtime` limit time and length. The pool reports a function that is too slow; the gateway waits 10 s longer.
- The gateway sets `X-Forwarded-Host`, `-Proto`, `-For` and `-Prefix`. The values of a request count only if a trusted proxy sent it.
- A WebSocket is a request whose body and response are both streamed, after a head with status 101: the broker carries
  both directions at once (`broker/requests/body.py`). Each socket needs two transfers: about 4 KB and 8 small messages a second.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from urllib.parse import urlsplit

from aiohttp import web

from broker.requests.call import Calls, PoolReply
from broker.requests.open_calls import OpenCall
from broker.subjects import FUNCTIONS, FUNCTIONS_WAKE
from schemas.caller import Caller, ServiceCaller, UserCaller
from schemas.errors import Unavailable
from schemas.functions.errors import FunctionNameMissing, FunctionNotFound
from schemas.http import Headers, Request, Response
from schemas.settings.functions import EdgeRuntime
from services.gateway.requests.forward import Forwarder, response_headers
from services.gateway.requests.public_address import url_from_headers
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.route_handler import MessageBody
from services.gateway.requests.transfer_rate import TransferLimits
from services.middleware.errors import JSON

PREFIX = "/functions/v1"
_ADMIN = "/_internal/"
"""Prefix of the administration of functions (workers/functions/deployments/endpoints.py)."""
_HEALTH = "/_internal/health"
_GRACE_S = 10.0
"""Seconds that the gateway waits longer than the pool."""
_FORWARDING = frozenset(
    {"x-forwarded-host", "x-forwarded-proto", "x-forwarded-for", "x-forwarded-prefix", "x-forwarded-port"}
)
_HIGH_WATER = 256 * 1024


class FunctionCaller:
    """Calls functions."""

    def __init__(self, calls: Calls, runtime: EdgeRuntime, limits: TransferLimits) -> None:
        def forwarder(seconds: float) -> Forwarder:
            return Forwarder(
                calls,
                max_body=runtime.max_body,
                limits=limits,
                request_timeout=seconds + _GRACE_S,
            )

        self._calls = calls
        self._forwarder = forwarder(max(runtime.wall_s, runtime.timeout_s))
        self._socket_forwarder = forwarder(runtime.websocket_s)

    async def call(
        self, request: GatewayRequest, headers: Headers, client: str, caller_key: str
    ) -> PoolReply:
        """Call a function. `headers` are those it receives. Raises: BodyRejected, Unavailable, DeadlineExceeded."""
        if is_websocket_request(request.http):
            upgrade: Headers = [*headers, ("upgrade", "websocket")]
            message = self._socket_forwarder.message(request, request.query, upgrade, client, caller_key)
            return await self._calls.call(FUNCTIONS, message, body=_IncomingBytes(request.http))
        try:
            return await self._forwarder.call(FUNCTIONS, request, request.query, headers, client, caller_key)
        except Unavailable:
            answer = await self._answer_without_worker(request)
            if answer is None:
                raise
            return answer

    def begin(
        self,
        request: GatewayRequest,
        headers: Headers,
        client: str,
        caller_key: str,
        body: MessageBody,
        on_settled: Callable[[OpenCall], None],
    ) -> tuple[Request, OpenCall] | None:
        """Call a function with a whole body and return at once; None where `call` has to answer."""
        message = self._forwarder.message(request, request.query, headers, client, caller_key, *body)
        call = self._forwarder.begin(FUNCTIONS, message, on_settled)
        return None if call is None else (message, call)

    async def finish(self, request: GatewayRequest, message: Request, call: OpenCall) -> PoolReply:
        """Return the reply to a call that was begun, if it is no whole response. Raises: Unavailable, DeadlineExceeded."""
        try:
            return await self._calls.finish(FUNCTIONS, message, call)
        except Unavailable:
            answer = await self._answer_without_worker(request)
            if answer is None:
                raise
            return answer

    async def _answer_without_worker(self, request: GatewayRequest) -> PoolReply | None:
        """Return the answer while no worker serves functions; None if that is an error.

        A functions worker starts only for a project that has functions. Until then a supervisor listens on `FUNCTIONS_WAKE`:
        while it does, the interface is healthy and every function is unknown. A request to administer functions wakes it.
        """
        path = request.below
        if path == _HEALTH and await self._calls.is_heard(FUNCTIONS_WAKE):
            return PoolReply(Response(200, [JSON], b'{"message":"ok"}'))  # as the worker would answer
        if path.startswith(_ADMIN) and _is_service(request.caller):
            self._calls.wake(FUNCTIONS_WAKE)
        elif await self._calls.is_heard(FUNCTIONS_WAKE):
            return PoolReply((FunctionNotFound() if path.strip("/") else FunctionNameMissing()).response())
        return None


def _is_service(caller: Caller | None) -> bool:
    return isinstance(caller, ServiceCaller) or (
        isinstance(caller, UserCaller) and caller.decoded().get("role") == "service_role"
    )


def is_websocket_request(request: web.BaseRequest) -> bool:
    """Return whether a request asks for a WebSocket. Source: RFC 6455, 4.1."""
    return (
        request.method == "GET"
        and request.headers.get("Upgrade", "").lower() == "websocket"
        and "upgrade" in request.headers.get("Connection", "").lower()
    )


def forwarded_headers(
    headers: Headers, first: Mapping[str, str], scheme: str, client: str, *, is_trusted: bool
) -> Headers:
    """Return the headers for a function, with the forwarding headers that the gateway sets."""
    url = urlsplit(url_from_headers(first, scheme, is_trusted=is_trusted))
    forwarding = [("x-forwarded-proto", url.scheme or scheme), ("x-forwarded-prefix", PREFIX)]
    if url.netloc:
        forwarding.append(("x-forwarded-host", url.netloc))
    if client:
        forwarding.append(("x-forwarded-for", client))
    return [*(pair for pair in headers if pair[0] not in _FORWARDING), *forwarding]


async def run_websocket(request: web.BaseRequest, answer: PoolReply, extra: Headers) -> web.StreamResponse:
    """Send the 101 of a WebSocket, then pass on the function's bytes until either side closes."""
    response = answer.response
    headers = response_headers(response.headers, extra)
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


class _IncomingBytes(AsyncIterator[bytes]):
    """The bytes that a client sends after its WebSocket handshake. aiohttp feeds them as it feeds a parser.

    At 256 KiB of unread bytes reading from the socket is paused until the function has read below that.
    """

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._is_at_end = False
        self._is_paused = False
        self._arrived = asyncio.Event()
        request.protocol.set_parser(self)  # type: ignore[arg-type]  # aiohttp calls only the two methods below

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Store bytes that arrived."""
        self._pieces.append(bytes(data))
        self._size += len(data)
        if self._size >= _HIGH_WATER and not self._is_paused and self._request.transport is not None:
            self._is_paused = True
            self._request.transport.pause_reading()
        self._arrived.set()
        return False, b""

    def feed_eof(self) -> None:
        """Record that the client sends no more."""
        self._is_at_end = True
        self._arrived.set()

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self._is_at_end:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._is_paused and self._size < _HIGH_WATER and self._request.transport is not None:
            self._is_paused = False
            self._request.transport.resume_reading()
        return piece
