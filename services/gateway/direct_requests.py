"""Requests to REST, GraphQL and auth, and listings of storage, that are answered without aiohttp's request objects, tasks and timers. Hot path.

    bytes of a client --> parser --> `begin`    the steps of `Edge` as far as the message to the pool
    reply of the pool ------------> `settle`    the response as bytes, written to the socket at once

A request is answered so if nothing about it has to wait: it is HTTP/1.1, its body is here, its key and its token are
accepted, and no limit rejects it. `begin` returns None for every other request, which takes the usual way through
`Edge.handle`. So does one that was sent and whose reply is not a whole response (no worker, an overloaded one, a stream, a
body that a thread should compress): `Edge.resume` goes on with it. The functions that decide are the same on both ways;
here nothing is awaited.

The client of a connection repeats the same header lines in every request. They are parsed and converted once, and compared
as bytes from then on (`known_heads.py`).
"""

import time
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

from aiohttp import HttpVersion11, web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from broker.observability.observe import observe, traceback_of
from broker.requests.call import PoolReply
from broker.requests.open_calls import OpenCall
from schemas.caller import RejectedCaller
from schemas.http import Request, Response
from services.gateway.direct_response import response_bytes
from services.gateway.edge import Edge, RequestCrashed
from services.gateway.errors import gateway_error
from services.gateway.head_checks import is_valid_host
from services.gateway.known_heads import RequestHead
from services.gateway.request import GatewayRequest, first_headers, headers_of
from services.gateway.route_handler import ForwardHandler
from services.gateway.routes import HandlerName, route_of
from services.middleware.api_keys import ApiKeyRejected
from services.middleware.request_id import request_id

_METHODS = frozenset({"GET", "POST", "PATCH", "PUT", "DELETE"})
_BODILESS = "GET"
_PREFIXES = (
    "/rest/v1/",
    "/graphql/v1",
    "/auth/v1/",
    "/storage/v1/object/list/",
    "/storage/v1/object/list-v2/",
)
_HANDLERS = (HandlerName.REST, HandlerName.GRAPHQL, HandlerName.AUTH, HandlerName.STORAGE)


class ClientAddress(NamedTuple):
    """Stands for aiohttp's request as long as there is none: all that the steps of these requests read of it."""

    remote: str


class DirectConnection(Protocol):
    """The connection of a request, as `DirectExchange` uses it."""

    @property
    def address(self) -> str:
        """The address of the peer."""

    def is_last(self) -> bool:
        """Return whether the connection is to end with this response."""

    def end_directly(self, data: bytes) -> None:
        """Send the response of the request that was begun."""

    def go_on(self, exchange: "DirectExchange") -> None:
        """Let aiohttp call `Edge.resume` for the request that was begun."""


@dataclass(slots=True, eq=False)
class DirectExchange:
    """A request that was sent to its pool."""

    connection: DirectConnection
    edge: Edge
    handler: ForwardHandler
    request: GatewayRequest
    head: RequestHead
    """Its header lines as they were received."""
    started_at: float
    message: Request | None = None
    call: OpenCall | None = None
    response: Response | None = None
    """A response that still has to be compressed."""
    source: "tuple[RawRequestMessage, StreamReader] | bytes" = b""
    """What aiohttp needs to answer it: the parsed message, or the bytes of a request that was not parsed."""

    def settle(self, call: OpenCall) -> None:
        """Send the response, or let aiohttp go on."""
        try:
            response = self.handler.calls.quick_response(call)
            if response is not None:
                if response.grant is not None or response.claim is not None:
                    # Sent as it is, it would confirm an object whose bytes were never read, or send one without its bytes.
                    raise RuntimeError("the pool answered a message that carries no object with one")
                self.response = response
                response = self.edge.encoded_now(self.request, response)
        except Exception as error:  # last resort: the client must get an answer
            observe(RequestCrashed(self.request.id, traceback_of(error)))
            self.handler.calls.give_up(call)
            response = gateway_error(
                self.request, 500, f"Internal error; the request id is {self.request.id}"
            )
        if response is None:
            self.connection.go_on(self)
            return
        data = response_bytes(response, self.request.response_headers, is_last=self.connection.is_last())
        self.connection.end_directly(data)
        self.edge.note(self.request, response.status, len(response.body), self.started_at)

    def give_up(self) -> None:
        """Cancel the work: the client is gone."""
        if self.call is not None and self.response is None:
            self.handler.calls.give_up(self.call)
        self.edge.note_gone(self.request, self.started_at)

    async def resume(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer the request as `Edge.handle` does, from its reply on. Raises: as `Edge.handle`."""
        self.request.http = http
        return await self.edge.resume(self.request, self._reply, self.started_at)

    async def _reply(self) -> PoolReply:
        """Return the reply to the call. Raises: as `Calls.call`."""
        if self.response is not None:
            return PoolReply(self.response)
        assert self.call is not None  # it was sent
        assert self.message is not None
        return await self.handler.calls.finish(self.handler.subject, self.message, self.call)


class DirectRequests:
    """Begins requests. `edge` answers those that take the usual way."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    def begin_parsed(
        self, connection: DirectConnection, message: RawRequestMessage, payload: StreamReader
    ) -> DirectExchange | None:
        """Begin to answer a request that the parser has read; None if it takes the usual way."""
        if (
            message.method not in _METHODS
            or not message.path.startswith(_PREFIXES)
            or message.version != HttpVersion11
            or message.should_close
            or message.upgrade
            or not payload.is_eof()
            or payload.exception() is not None
            or message.chunked
            or not message.path.isascii()
        ):
            return None
        headers = headers_of(message.raw_headers)
        head = RequestHead(headers, first_headers(headers))
        host = head.first.get("host")
        if "expect" in head.first or "upgrade" in head.first or (host and not is_valid_host(host)):
            return None
        has_body = payload is not EMPTY_PAYLOAD
        body = (
            b"".join(payload._buffer) if has_body else b""
        )  # it stays there if the request takes the usual way
        exchange = self.begin(connection, message.method, message.path, head, body)
        if exchange is not None:
            exchange.source = (message, payload)
            if has_body:
                payload.read_nowait()
        return exchange

    def begin(
        self, connection: DirectConnection, method: str, target: str, head: RequestHead, body: bytes = b""
    ) -> DirectExchange | None:
        """Begin to answer a request by sending it to its pool; None if it takes the usual way."""
        edge = self._edge
        path, _, query = target.partition("?")
        match = route_of(path, method)
        if match is None or match[0].handler not in _HANDLERS or "apikey=" in query or "#" in query:
            return None
        route, below = match
        handler = edge.handler_of(route)
        if not isinstance(handler, ForwardHandler):
            return None
        started_at = time.monotonic()
        headers, first = head
        request = GatewayRequest(
            cast(web.BaseRequest, ClientAddress(connection.address)),
            request_id(first.get("x-request-id")),
            method,
            len(target),
            path,
            query,
            headers,
            first,
            route,
            below,
            edge.trusted,
            edge.address_headers.get(route.area, ()),
        )
        if not self._identify(request, handler):
            return None
        request.response_headers = edge.response_headers(request, handler)
        if edge.early_response(request, handler) is not None:
            return None
        request.is_sampled = edge.samples()
        exchange = DirectExchange(connection, edge, handler, request, head, started_at)
        sent = handler.begin(request, body, exchange.settle)
        if sent is None:
            return None
        exchange.message, exchange.call = sent
        return exchange

    def _identify(self, request: GatewayRequest, handler: ForwardHandler) -> bool:
        """Set the caller of a request; return False if its key or token is rejected, or may be once new keys are fetched."""
        assert request.route is not None
        request.key = handler.api_key(request)
        try:
            caller = self._edge.authenticator.caller(
                request.route, request.key, handler.authorization(request), time.time()
            )
        except ApiKeyRejected:
            return False
        request.caller = caller
        return not isinstance(caller, RejectedCaller)
