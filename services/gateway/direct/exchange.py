"""Requests that are answered without aiohttp's request objects, tasks and timers: REST, GraphQL, auth, functions, short
uploads and all other requests for objects that are no reads of them. Hot path.

    bytes of a client --> parser --> `begin`    the steps of `Edge` as far as the message to the pool
    reply of the pool ------------> `settle`    the response as bytes, written to the socket at once

A request is answered so if nothing about it has to wait: it is HTTP/1.1, its body is here, its key and its token are
accepted, and no limit rejects it. `begin` returns None for every other request, which takes the usual way through
`Edge.handle`. So does one that was sent and whose reply is not a whole response (no worker, an overloaded one, a stream, a
body that a thread should compress, the grant of an upload): `Edge.resume` goes on with it. The functions that decide are the
same on both ways; here nothing is awaited.

The client of a connection repeats the same header lines in every request. They are parsed and converted once, and compared
as bytes from then on (`known_heads.py`).
"""

import time
from typing import NamedTuple, Protocol, cast

from aiohttp import HttpVersion11, web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from msgspec import Struct

from broker.observability.observe import observe, traceback_of
from broker.requests.call import PoolReply
from broker.requests.open_calls import OpenCall
from schemas.blobs import SMALL_OBJECT
from schemas.caller import RejectedCaller
from schemas.http import Request, Response
from services.gateway.direct.known_heads import RequestHead
from services.gateway.edge import Edge, RequestCrashed
from services.gateway.requests.errors import gateway_error
from services.gateway.requests.head_checks import is_valid_host
from services.gateway.requests.request import GatewayRequest, first_headers, headers_of
from services.gateway.requests.response_bytes import response_bytes
from services.gateway.requests.route_handler import ForwardHandler, Reply
from services.gateway.requests.routes import HandlerName, route_of
from services.gateway.requests.session_cookies import hide_session
from services.middleware.api_keys import ApiKeyRejected
from services.middleware.request_id import request_id

_METHODS = frozenset({"GET", "POST", "PATCH", "PUT", "DELETE"})
_PREFIXES_OF_READS = ("/rest/v1/", "/graphql/v1", "/auth/v1/", "/functions/v1/")
_OBJECTS = "/storage/v1/object/"
_PREFIXES = (*_PREFIXES_OF_READS, _OBJECTS)
_HANDLERS = (
    HandlerName.REST,
    HandlerName.GRAPHQL,
    HandlerName.AUTH,
    HandlerName.FUNCTIONS,
    HandlerName.STORAGE,
)


class ClientAddress(NamedTuple):
    """Stands for aiohttp's request as long as there is none: all that the steps of these requests read of it."""

    remote: str
    scheme: str


def request_stand_in(address: str, scheme: str) -> web.BaseRequest:
    """Return what stands for aiohttp's requests of a connection."""
    return cast(web.BaseRequest, ClientAddress(address, scheme))


class DirectConnection(Protocol):
    """The connection of a request, as `DirectExchange` uses it."""

    @property
    def address(self) -> str:
        """The address of the peer."""

    @property
    def stand_in(self) -> web.BaseRequest:
        """What stands for aiohttp's request as long as there is none."""

    def is_last(self) -> bool:
        """Return whether the connection is to end with this response."""

    def end_directly(self, data: bytes, *, is_last: bool) -> None:
        """Send the response of the request that was begun, and end the connection with it if it `is_last`."""

    def go_on(self, exchange: "DirectExchange") -> None:
        """Let aiohttp call `Edge.resume` for the request that was begun."""


class DirectExchange(Struct, eq=False):
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
    """A response that still has to be compressed, or the grant of an upload."""
    source: "tuple[RawRequestMessage, StreamReader] | bytes" = b""
    """What aiohttp needs to answer it: the parsed message, or the bytes of a request that was not parsed."""

    def settle(self, call: OpenCall) -> None:
        """Send the response, or let aiohttp go on."""
        try:
            response = self.handler.calls.quick_response(call)
            if response is not None:
                self.response = response
                response = self._final(self.handler.finished(response))
        except Exception as error:  # last resort: the client must get an answer
            observe(RequestCrashed(self.request.id, traceback_of(error)))
            self.handler.calls.give_up(call)
            response = gateway_error(
                self.request, 500, f"Internal error; the request id is {self.request.id}"
            )
        if response is None:
            self.connection.go_on(self)
            return
        is_last = self.connection.is_last()
        data = response_bytes(response, self.request.response_headers, is_last=is_last)
        self.connection.end_directly(data, is_last=is_last)
        self.edge.note(self.request, response.status, len(response.body), self.started_at)

    def _final(self, response: Response) -> Response | None:
        """Return a response as it is sent; None where aiohttp's task has to go on with it. Raises: RuntimeError."""
        if response.grant is None and response.claim is None:
            return self.edge.encoded_now(self.request, response)
        if response.claim is not None or self.message is None or self.message.object_bytes is None:
            # Sent as it is, it would confirm an object whose bytes were never read, or send one without its bytes.
            raise RuntimeError("the pool answered a message that carries no object with one")
        return None

    def give_up(self) -> None:
        """Cancel the work: the client is gone."""
        if self.call is not None and self.response is None:
            self.handler.calls.give_up(self.call)
        self.edge.note_gone(self.request, self.started_at)

    async def resume(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer the request as `Edge.handle` does, from its reply on. Raises: as `Edge.handle`."""
        self.request.http = http
        return await self.edge.resume(self.request, self._reply, self.started_at)

    async def _reply(self) -> Reply:
        """Return the reply to the call. Raises: as `RouteHandler.handle`."""
        assert self.call is not None  # it was sent
        assert self.message is not None
        if self.response is not None:
            reply = PoolReply(self.response)
        else:
            reply = await self.handler.finish(self.request, self.message, self.call)
        return await self.handler.resume(self.request, self.message, reply)


class DirectRequests:
    """Begins requests. `edge` answers those that take the usual way."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    def begin_parsed(
        self, connection: DirectConnection, message: RawRequestMessage, payload: StreamReader
    ) -> DirectExchange | None:
        """Begin to answer a request that the parser has read; None if it takes the usual way."""
        if not payload.is_eof() or payload.exception() is not None or not _may_begin(message):
            return None
        head = self._head_of(message)
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

    def awaits_body(self, message: RawRequestMessage) -> bool:
        """Return whether the rest of a request's body is worth a short wait: it is an upload that is short. Pure."""
        length = message.headers.get("content-length", "")
        return (
            message.path.startswith(_OBJECTS)
            and message.method in ("POST", "PUT")
            and length.isdecimal()
            and len(length) <= len(str(SMALL_OBJECT))
            and int(length) <= SMALL_OBJECT
            and "expect" not in message.headers
            and _may_begin(message)
        )

    def note_gone(self, connection: DirectConnection, message: RawRequestMessage, started_at: float) -> None:
        """Leave the line of a request in the log whose client went away before its body was here."""
        read = self._read(connection, message.method, message.path, self._head_of(message))
        if read is not None:
            request, _ = read
            request.is_sampled = self._edge.samples()
            self._edge.note_gone(request, started_at)

    def begin(
        self, connection: DirectConnection, method: str, target: str, head: RequestHead, body: bytes = b""
    ) -> DirectExchange | None:
        """Begin to answer a request by sending it to its pool; None if it takes the usual way."""
        edge, started_at = self._edge, time.monotonic()
        read = self._read(connection, method, target, head)
        if read is None:
            return None
        request, handler = read
        if not self._identify(request, handler):
            return None
        content = handler.message_body(request, body)
        if content is None:
            return None  # before a token is taken from a bucket of the rate limits: the usual way takes one as well
        request.response_headers = edge.response_headers(request, handler)
        if edge.early_response(request, handler) is not None:
            return None
        request.is_sampled = edge.samples()
        exchange = DirectExchange(connection, edge, handler, request, head, started_at)
        sent = handler.begin(request, content, exchange.settle)
        if sent is None:
            return None
        exchange.message, exchange.call = sent
        return exchange

    def _read(
        self, connection: DirectConnection, method: str, target: str, head: RequestHead
    ) -> tuple[GatewayRequest, ForwardHandler] | None:
        """Return a request and the handler of its route; None if it takes the usual way."""
        edge = self._edge
        path, _, query = target.partition("?")
        match = route_of(path, method)
        if match is None or match[0].handler not in _HANDLERS or "apikey=" in query or "#" in query:
            return None
        route, below = match
        handler = edge.handler_of(route)
        if not isinstance(handler, ForwardHandler):
            return None
        headers, first, shows_secret = head
        if "cookie" in first:
            headers = hide_session(route, headers)
            first = first_headers(headers)
        request = GatewayRequest(
            connection.stand_in,
            request_id(first.get("x-request-id")),
            method,
            len(target),
            path,
            query,
            headers,
            first,
            route,
            below,
            edge.trust.networks_for(connection.address, is_shown=shows_secret),
            () if shows_secret else edge.address_headers.get(route.area, ()),
        )
        return request, handler

    def _head_of(self, message: RawRequestMessage) -> RequestHead:
        headers = headers_of(message.raw_headers)
        return RequestHead(headers, first_headers(headers), self._edge.trust.is_shown(message.raw_headers))

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


def _may_begin(message: RawRequestMessage) -> bool:
    """Return whether a request may be answered directly once its body is here. Pure."""
    return (
        message.method in _METHODS
        and message.path.startswith(_PREFIXES_OF_READS if message.method == "GET" else _PREFIXES)
        and message.version == HttpVersion11
        and not message.should_close
        and not message.upgrade
        and not message.chunked
        and message.path.isascii()
        # Lines that Connection names do not reach the pool, but the body would be read as they say.
        and all(value.lower() == "keep-alive" for value in message.headers.getall("connection", ()))
    )
