"""The handlers of the routes: each answers the requests of the routes that name it in `routes.py`. `build_handlers.py` builds them.

`Edge.handle` calls a handler in this order:

    options        a request with the method OPTIONS, before the rate limit: CORS preflights
    needs_caller   whether the gateway authenticates the caller first
    api_key, authorization   the credentials, where it does
    handle         the answer

A handler that needs no caller finds `request.caller` None and authenticates by itself (sockets, S3 forms) or not at all.
`handle` returns a `Response`, the `PoolReply` of a pool (its body may be streamed), or the `web.StreamResponse` that it has sent.
"""

import time
from collections.abc import Callable

from msgspec.structs import replace

from broker.requests.call import PoolReply
from broker.requests.open_calls import OpenCall
from broker.subjects import Subject
from schemas.active_documents import in_sandbox
from schemas.caller import AnonymousCaller, ServiceCaller
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import SERVER_ORIGIN, Headers, Request, Response
from schemas.subscriptions import METHOD as SUBSCRIBE
from services.dashboard.files import PREFIX, DashboardFiles
from services.gateway.functions import FunctionCaller, forwarded_headers, run_websocket
from services.gateway.health import METRICS, OFFICIAL_METRICS, Health, basic_password
from services.gateway.health import PATHS as HEALTH_PATHS
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.errors import gateway_error
from services.gateway.requests.forward import Forwarder
from services.gateway.requests.public_address import origin_from_headers
from services.gateway.requests.recent_writes import RecentWrites
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.route_handler import ForwardHandler, MessageBody, Reply, RouteHandler
from services.gateway.requests.routes import switch_of
from services.gateway.root_page import RootPage
from services.middleware import cors
from services.middleware.api_keys import without_bearer, without_key
from services.middleware.caller_key import CallerKeys
from services.middleware.errors import error_response
from services.subscriptions.edge import GraphQLSocketEdge, is_subscribing
from services.subscriptions.live_reads import LiveReads, LiveRequest, is_live

_READS = ("GET", "HEAD")
_ALLOW = ("allow", "GET, HEAD, OPTIONS")


class UnroutedHandler(RouteHandler):
    """Answers the paths of no route: the root, health and metrics, else 404."""

    def __init__(
        self, policy: cors.CorsPolicy, health: Health, root: RootPage, authenticator: Authenticator
    ) -> None:
        super().__init__(policy)
        self._health, self._root, self._authenticator = health, root, authenticator

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False: these paths are open, or check the metrics token or the secret key."""
        del request
        return False

    async def handle(self, request: GatewayRequest) -> Response:
        """Answer the root or a health path; else 404, or 405 for a method that does not read."""
        if request.path != "/" and request.path not in HEALTH_PATHS:
            return error_response(
                "",
                404,
                f"There is nothing at {request.path}. The interfaces are below /rest/v1, /auth/v1 and their like.",
            )
        if request.method == "OPTIONS":
            return Response(204, [_ALLOW])
        if request.method not in _READS:
            return error_response("", 405, f"{request.path} takes GET and HEAD", headers=[_ALLOW])
        if request.path == "/":
            return self._root.answer(request.first.get("accept"))
        # An unknown proxy on this machine must not make its clients count as local.
        peer = "" if request.is_from_unknown_proxy() else request.client_address()
        authorization = request.first.get("authorization")
        return await self._health.answer(
            request.path,
            peer,
            authorization,
            has_secret_key=request.path in (METRICS, OFFICIAL_METRICS)
            and self._has_secret_key(request, authorization),
        )

    def _has_secret_key(self, request: GatewayRequest, authorization: str | None) -> bool:
        """Return whether the secret API key is sent, as the key or as a bearer token."""
        sent = (request.api_key(), authorization, basic_password(authorization))
        keys = self._authenticator.keys
        return any(
            isinstance(keys.holder(without_bearer(text), time.time()), ServiceCaller) for text in sent if text
        )


class DisabledHandler(RouteHandler):
    """Answers 501 for an interface that is switched off."""

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False: the answer is the same for every caller."""
        del request
        return False

    async def handle(self, request: GatewayRequest) -> Response:
        """Answer 501 with the name of the setting."""
        area = request.area
        return gateway_error(request, 501, f"The {area} interface is switched off ({switch_of(area)})")


class DataHandler(ForwardHandler):
    """REST and GraphQL: an API key in the query is removed, for it would be read as a filter on a column."""

    recent_writes = RecentWrites()
    """Those of the edge; empty where the database has no replicas."""

    async def handle(self, request: GatewayRequest) -> Reply:
        """Send the request to the pool without the API key of its query, and with the position of its caller's last write."""
        query = request.query
        self._add_position(request)
        if "apikey=" in query and not request.first.get("apikey"):
            query = without_key(query)
        return await self._forward(request, query)

    def begin(
        self, request: GatewayRequest, body: MessageBody, on_settled: Callable[[OpenCall], None]
    ) -> tuple[Request, OpenCall] | None:
        """Send a request without a key in its query to the pool at once, with the position of its caller's last write."""
        self._add_position(request)
        return super().begin(request, body, on_settled)

    def _add_position(self, request: GatewayRequest) -> None:
        if not self.recent_writes.is_empty:
            key = self._caller_key(request, "")
            request.headers = self.recent_writes.with_position(request.headers, key)


class RestHandler(DataHandler):
    """REST: reads that want events are served by the live reads of this edge to their end."""

    live_reads: LiveReads | None = None

    def message_body(self, request: GatewayRequest, body: bytes) -> MessageBody | None:
        """Return the body of a request for the pool; None for a live read."""
        if request.method == "GET" and is_live(request.first.get("accept")):
            return None
        return MessageBody(body)

    async def handle(self, request: GatewayRequest) -> Reply:
        """Send the request to the pool, or serve a live read."""
        if request.method == SUBSCRIBE:
            return gateway_error(request, 405, "Read live by GET with Accept: text/event-stream")
        if self.live_reads is None or request.method != "GET" or not is_live(request.first.get("accept")):
            return await super().handle(request)
        assert request.caller is not None  # authenticated before
        address = request.client_address()
        return await self.live_reads.serve(
            LiveRequest(
                request.http,
                request.below,
                without_key(request.query),
                request.headers,
                request.caller,
                self._caller_key(request, address),
                address,
                request.first.get("last-event-id", ""),
                request.response_headers,
            )
        )


class GraphQLHandler(DataHandler):
    """GraphQL: queries go to the pool; a WebSocket is served by the subscriptions of this edge to its end."""

    subscriptions: GraphQLSocketEdge | None = None

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False for a subscription: its credentials may come in the first frame."""
        return not is_subscribing(request.http)

    async def handle(self, request: GatewayRequest) -> Reply:
        """Send a query to the pool, or serve a socket."""
        if request.caller is not None:
            return await super().handle(request)
        if request.below not in ("", "/"):
            return gateway_error(request, 404, "There is nothing below this path")
        if request.method == SUBSCRIBE:
            return gateway_error(
                request, 405, "Send a query by POST or GET", headers=[("allow", "GET, HEAD, POST")]
            )
        if self.subscriptions is None:
            return gateway_error(
                request, 501, "Subscriptions are switched off (graphql.subscriptions.enabled)"
            )
        return await self.subscriptions.connect(
            request.http, request.first, request.api_key(), request.client_address()
        )


class FunctionHandler(ForwardHandler):
    """Functions: requests, WebSockets, and preflights, which the function may answer itself."""

    def __init__(
        self,
        policy: cors.CorsPolicy,
        forwarder: Forwarder,
        caller_keys: CallerKeys,
        subject: Subject,
        functions: FunctionCaller,
        *,
        runs_pages: bool,
    ) -> None:
        super().__init__(policy, forwarder, caller_keys, subject)
        self._functions, self._runs_pages = functions, runs_pages

    def options(self, request: GatewayRequest) -> Response | None:
        """Return None: a preflight goes to the function first."""
        del request
        return None

    async def handle(self, request: GatewayRequest) -> Reply:
        """Call the function. A preflight that it does not answer with 2xx is answered here; one that it answers without
        `access-control-allow-headers` is completed, for a browser would not send the request.
        """
        calling = self._functions.call(request, *self._sent_by(request))
        preflight = super().options(request) if request.method == "OPTIONS" else None
        if preflight is None:
            answer = await calling
            if answer.chunks is not None and answer.response.status == 101:
                return await run_websocket(request.http, answer, request.response_headers)
            answer.response = self.finished(answer.response)
            return answer
        try:
            answer = await calling
            if 200 <= answer.response.status < 300:
                if any(name.lower() == cors.ALLOW_HEADERS for name, _ in answer.response.headers):
                    return answer
                preflight = cors.completed(preflight, answer.response.headers)
            await answer.close()
        except (Unavailable, DeadlineExceeded):
            pass
        return preflight

    def begin(
        self, request: GatewayRequest, body: MessageBody, on_settled: Callable[[OpenCall], None]
    ) -> tuple[Request, OpenCall] | None:
        """Call the function with a whole body and return at once."""
        return self._functions.begin(request, *self._sent_by(request), body, on_settled)

    def finished(self, response: Response) -> Response:
        """Return a function's response; a page of a function has an origin of its own."""
        if self._runs_pages:
            return response
        return replace(response, headers=in_sandbox(response.headers))

    async def finish(self, request: GatewayRequest, message: Request, call: OpenCall) -> PoolReply:
        """Return the reply to a call that was begun."""
        return await self._functions.finish(request, message, call)

    async def resume(self, request: GatewayRequest, message: Request, reply: PoolReply) -> Reply:
        """Return the reply to a call that was begun."""
        del request, message
        reply.response = self.finished(reply.response)
        return reply

    def _sent_by(self, request: GatewayRequest) -> tuple[Headers, str, str]:
        """Return the headers that the function receives, the client's address and the caller's key."""
        client = request.client_address()
        headers = forwarded_headers(
            request.headers,
            request.first,
            request.http.scheme,
            client,
            is_trusted=request.is_from_trusted_proxy(),
        )
        return headers, client, self._caller_key(request, client)


class ManagementHandler(ForwardHandler):
    """The interface of administrators and of agents, whose pool authenticates them."""

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False: administrators sign in instead of sending an API key."""
        del request
        return False

    async def handle(self, request: GatewayRequest) -> Reply:
        """Send the request to the pool with the origin under which the client sent it; the client cannot set that header."""
        request.caller = AnonymousCaller()
        is_trusted = request.is_from_trusted_proxy()
        origin = origin_from_headers(request.first, request.http.scheme, is_trusted=is_trusted)
        headers = [pair for pair in request.headers if pair[0] != SERVER_ORIGIN]
        client = request.client_address()
        key = self._caller_keys.key_of(request.caller, None, lambda: client)
        return await self._forwarder.call(
            self.subject, request, request.query, [*headers, (SERVER_ORIGIN, origin)], client, key
        )


class DashboardHandler(RouteHandler):
    """The dashboard: its page and files. It has no secrets, so it authenticates no one; its pages sign in."""

    def __init__(self, policy: cors.CorsPolicy, files: DashboardFiles) -> None:
        super().__init__(policy)
        self._files = files

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False: files are the same for every caller."""
        del request
        return False

    async def handle(self, request: GatewayRequest) -> Response:
        """Answer a request that reads; 405 for others. `/_` without a slash leads to `/_/`, under which names are relative."""
        if request.method not in _READS:
            return gateway_error(request, 405, f"{request.path} takes GET and HEAD", headers=[_ALLOW])
        if request.path == PREFIX:
            return Response(308, [("location", "_/"), ("cache-control", "no-store")])
        first = request.first
        return self._files.answer(
            request.below, first.get("accept-encoding", ""), first.get("if-none-match", "")
        )
