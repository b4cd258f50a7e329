"""The gateway: every HTTP request from its first line to its response.

    identify       request id, path, headers, route                      request.py
    limit          length of the URL, preflights, rate limits            here
    authenticate   API key and access token                              authentication.py
    handle         the handler that the route names                      handlers.py
    respond        the answer, or an error in the format of its area     here, forward.py

The table of routes is in `routes.py`. Preflights are answered before the rate limit, and paths without a route (health and
metrics) are not limited. An error in any step becomes a response in `_error_response`.
"""

import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar

import msgspec
from aiohttp import web

from broker.observability.observations import Observation
from broker.observability.observe import log_buffer, observe, traceback_of
from broker.requests.call import Calls, PoolReply
from schemas.client_networks import client_network
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Headers, Response
from schemas.settings.tree import RateLimit, Settings, Tls
from services.gateway.access_lines import CLIENT_GONE, AccessLines
from services.gateway.build_handlers import build_handlers
from services.gateway.functions import is_websocket_request
from services.gateway.handlers import UnroutedHandler
from services.gateway.health import Health
from services.gateway.key_figures import KeyFigures
from services.gateway.objects.s3.errors import error_as_xml
from services.gateway.objects.transfers import ObjectTransfers
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.compression import ResponseCompression, encoded_headers, with_known_tag
from services.gateway.requests.errors import gateway_error
from services.gateway.requests.forward import BodyRejected, http_response, stream_response
from services.gateway.requests.head_checks import answer_in_http11, head_fault
from services.gateway.requests.ready_response import ReadyResponse, may_be_ready
from services.gateway.requests.recent_writes import RecentWrites
from services.gateway.requests.request import GatewayRequest, address_headers_of, read_request
from services.gateway.requests.route_handler import Reply, RouteHandler
from services.gateway.requests.routes import GatewayRoute, HandlerName
from services.gateway.root_page import RootPage
from services.middleware import cors
from services.middleware.api_keys import ApiKeyRejected
from services.middleware.errors import error_response
from services.middleware.limits import Buckets
from services.middleware.proxy_trust import ProxyTrust
from services.middleware.request_id import request_id
from services.realtime.edge import RealtimeEdge
from services.subscriptions.edge import GraphQLSocketEdge
from services.subscriptions.live_reads import LiveReads
from services.sync.edge import SyncEdge

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class RequestCrashed(Observation, frozen=True):
    """The gateway could not answer a request because of a defect of its own."""

    level: ClassVar[str] = "error"
    id: str
    traceback: str


class Edge:
    """Answers HTTP requests. `handle` is the handler of an aiohttp low-level server."""

    def __init__(
        self,
        settings: Settings,
        calls: Calls,
        authenticator: Authenticator,
        health: Health,
        objects: ObjectTransfers | None = None,
        sockets: RealtimeEdge | None = None,
        subscriptions: GraphQLSocketEdge | None = None,
        live_reads: LiveReads | None = None,
        shapes: SyncEdge | None = None,
    ) -> None:
        gateway = settings.gateway
        self.authenticator = authenticator
        self._health = health
        self.recent_writes = RecentWrites()
        self._make_handlers = partial(
            build_handlers,
            recent_writes=self.recent_writes,
            calls=calls,
            authenticator=authenticator,
            objects=objects,
            sockets=sockets,
            subscriptions=subscriptions,
            live_reads=live_reads,
            shapes=shapes,
        )
        self._sockets = sockets
        self._compression = ResponseCompression(gateway.compression)
        self._max_url = gateway.max_url
        self._rate_limit: RateLimit | None = None
        lines = log_buffer()
        self._access = AccessLines(lines) if lines is not None else None
        self.trust = ProxyTrust.of(gateway)
        self._hsts = _hsts_headers(settings.api.tls)
        self._key_figures = KeyFigures(authenticator.keys)
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Answer later requests by these settings; those under way keep their handler. Buckets of unchanged rates stay as they are."""
        self.authenticator.keys.use_hashed(settings.auth.hashed_keys)
        self._key_figures.follow()
        self._policy = cors.policy_of("", settings.api.cors_allowed_origins)
        self._unrouted = UnroutedHandler(self._policy, self._health, RootPage(settings), self.authenticator)
        self._handlers = self._make_handlers(settings)
        self.address_headers = {"auth": address_headers_of(settings.auth)}
        limit = settings.gateway.rate_limit
        if limit != self._rate_limit:
            self._rate_limit = limit
            self._by_address = Buckets(limit.per_address, limit.per_address_burst)
            self._by_key = Buckets(limit.per_key, limit.per_key_burst)
            self._is_limited = limit.per_address > 0 or limit.per_key > 0
        if self._sockets is not None:
            self._sockets.use(settings.realtime)

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and leave its line in the log. Raises only when the client is gone."""
        request = read_request(http, self.trust, self.address_headers)
        if self._access is None:
            return await self._answer(request)
        request.is_sampled = self._access.samples()
        started_at = time.monotonic()
        sent: web.StreamResponse | None = None
        try:
            sent = await self._answer(request)
            return sent
        finally:
            self._access.note(request, sent, time.monotonic() - started_at)

    async def _answer(self, request: GatewayRequest) -> web.StreamResponse:
        """Answer one request. Raises: as `handle`."""
        route = request.route
        handler = self.handler_of(route)
        request.response_headers = self.response_headers(request, handler)
        if (fault := head_fault(request.http, request.first.get("host"))) is not None:
            return _head_rejected(request, *fault)

        async def reply_of_handler() -> Reply:
            early = self.early_response(request, handler)
            if early is not None:
                return early
            if route is not None and handler.needs_caller(request):
                request.key = handler.api_key(request)
                request.caller = await self.authenticator.authenticate(
                    route, request.key, handler.authorization(request)
                )
            return await handler.handle(request)

        return await self._respond(request, reply_of_handler)

    async def _respond(
        self, request: GatewayRequest, reply_of: Callable[[], Awaitable[Reply]]
    ) -> web.StreamResponse:
        """Return the response that a reply becomes, or the one to the error that it failed with."""
        try:
            reply = await reply_of()
            if isinstance(reply, PoolReply):
                if reply.chunks is not None:
                    return await self._stream(request, reply)
                reply = reply.response
            if isinstance(reply, web.StreamResponse):
                return reply  # the handler has sent it
            response = reply
            if len(response.body) >= self._compression.threshold or request.method == "HEAD":
                response = await self._compression.compressed(request, response)
            elif response.status == 304:
                response = with_known_tag(
                    response, request.first.get("if-none-match"), request.first.get("accept-encoding")
                )
        except Exception as error:  # any failure becomes a response
            response = _error_response(request, error)
        is_shape = request.route is not None and request.route.handler is HandlerName.SYNC
        if is_shape and may_be_ready(request, response):
            return ReadyResponse(request, response)
        return _sent(request, response)

    async def resume(
        self, request: GatewayRequest, reply_of: Callable[[], Awaitable[Reply]], started_at: float
    ) -> web.StreamResponse:
        """Answer a request that `direct/exchange.py` has begun, from its reply on. Raises: as `handle`."""
        sent: web.StreamResponse | None = None
        try:
            sent = await self._respond(request, reply_of)
            return sent
        finally:
            if self._access is not None:
                self._access.note(request, sent, time.monotonic() - started_at)

    def handler_of(self, route: GatewayRoute | None) -> RouteHandler:
        """Return the handler of a route, or that of the paths without one."""
        return self._unrouted if route is None else self._handlers[route.handler]

    def response_headers(self, request: GatewayRequest, handler: RouteHandler) -> Headers:
        """Return the headers of every response to a request."""
        headers = _common_headers(handler.policy, request.first.get("origin"), request.id)
        headers += self._hsts
        if request.route is not None and request.route.has_xml_errors:
            headers.append(("x-amz-request-id", request.id))
        return headers

    def encoded_now(self, request: GatewayRequest, response: Response) -> Response | None:
        """Return a response as it is sent to a request that is not HEAD: compressed if the client wants that; None if a
        thread should do it.
        """
        if len(response.body) >= self._compression.threshold:
            return self._compression.compressed_now(request, response)
        if response.status == 304:
            return with_known_tag(
                response, request.first.get("if-none-match"), request.first.get("accept-encoding")
            )
        return response

    def samples(self) -> bool:
        """Return whether the request that begins now leaves log lines although it is successful and quick."""
        return self._access is not None and self._access.samples()

    def note(self, request: GatewayRequest, status: int, size: int, started_at: float) -> None:
        """Leave the line of a request that is over in the log; `size` is that of the body in bytes."""
        if self._access is not None:
            self._access.note_sent(request, status, size, time.monotonic() - started_at)

    def note_gone(self, request: GatewayRequest, started_at: float) -> None:
        """Leave the line of a request whose client went away in the log."""
        self.note(request, CLIENT_GONE, 0, started_at)

    async def _stream(self, request: GatewayRequest, reply: PoolReply) -> web.StreamResponse:
        """Send the reply of a pool whose body follows in chunks."""
        coding = self._compression.stream_coding(request, reply.response)
        if coding is not None:
            headers = encoded_headers(reply.response.headers, coding)
            reply.response = msgspec.structs.replace(reply.response, headers=headers)
        encoder = self._compression.encoder(coding)
        return await stream_response(request.http, reply, request.response_headers, encoder)

    def reject(self, status: int, message: str) -> web.Response:
        """Return the response to bytes that the HTTP parser rejected."""
        headers = [*_common_headers(self._policy, None, request_id(None)), *self._hsts]
        return http_response(error_response("", status, message), headers, is_head=False)

    def early_response(self, request: GatewayRequest, handler: RouteHandler) -> Response | None:
        """Return the response to a request that stops before authentication; None if it goes on."""
        if request.url_length > self._max_url:
            return gateway_error(request, 414, f"The URL is longer than {self._max_url} characters")
        if request.method == "OPTIONS" and (response := handler.options(request)) is not None:
            return response
        if self._is_limited and request.route is not None:
            return self._limit(request, handler)
        return None

    def _limit(self, request: GatewayRequest, handler: RouteHandler) -> Response | None:
        """Take a token from the bucket of the address and from the bucket of the key; return 429 if either is empty.

        A request without an API key counts by its access token, and one without either by its address: callers that have
        no key must not share one bucket.
        """
        now, address = time.monotonic(), client_network(request.client_address())
        wait = self._by_address.take(address, now)
        if not wait:  # a request that the address bucket rejects must not consume a token of the key bucket
            key = handler.api_key(request) or handler.authorization(request)
            wait = self._by_key.take(key or address, now)
        if not wait:
            return None
        retry_after = ("retry-after", str(math.ceil(wait)))
        limited = "Request rate limit reached" if request.area == "auth" else "Too many requests"
        return gateway_error(request, 429, limited, headers=[retry_after])


def _common_headers(policy: cors.CorsPolicy, origin: str | None, id: str) -> Headers:
    """Return the headers of every response."""
    headers = cors.response_headers(policy, origin)
    headers.append(("x-request-id", id))
    return headers


def _hsts_headers(tls: Tls) -> Headers:
    """Return the header by which browsers use https alone. Source: RFC 6797, 6.1."""
    seconds = round(tls.hsts or 0)
    return [("strict-transport-security", f"max-age={seconds}")] if tls.enabled and seconds else []


def _error_response(request: GatewayRequest, error: Exception) -> Response:
    """Return the response to an error, in the format of the area. Raises: ConnectionError, TimeoutError, as they came."""
    match error:
        case ApiKeyRejected():
            return gateway_error(request, 401, error.message, hint=error.hint)
        case BodyRejected():
            return gateway_error(request, error.status, error.message)
        case Unavailable() | DeadlineExceeded():
            outcome = getattr(error, "outcome", "") if request.method not in _SAFE_METHODS else ""
            return gateway_error(request, error.status, str(error), headers=error.headers(), outcome=outcome)
        case ConnectionError() | TimeoutError():  # the client is gone
            raise error
    observe(RequestCrashed(request.id, traceback_of(error)))
    return gateway_error(request, 500, f"Internal error; the request id is {request.id}")


def _head_rejected(request: GatewayRequest, status: int, message: str) -> web.Response:
    """Return the response to a head that is not valid HTTP/1.1; it ends the connection."""
    answer_in_http11(request.http)
    sent = _sent(request, gateway_error(request, status, message))
    sent.force_close()
    return sent


def _sent(request: GatewayRequest, response: Response) -> web.Response:
    """Return a response as aiohttp sends it."""
    route = request.route
    if route is not None and route.has_xml_errors:
        response = error_as_xml(response, request.id)
    sent = http_response(response, request.response_headers, is_head=request.method == "HEAD")
    if route is not None and route.has_websockets and is_websocket_request(request.http):
        sent.force_close()  # the client sends WebSocket frames next, not HTTP
    return sent
