"""The handlers of interfaces whose answers stay open: realtime's sockets and streams, and shapes that wait for changes."""

from collections.abc import Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from broker.requests.call import PoolReply
from broker.requests.open_calls import OpenCall
from broker.subjects import Subject
from schemas.caller import RejectedCaller
from schemas.http import Request, Response
from schemas.sync import FOLDER_HEADER
from services.gateway.objects.shape_files import ShapeFiles
from services.gateway.requests.errors import gateway_error
from services.gateway.requests.forward import Forwarder
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.route_handler import ForwardHandler, MessageBody, Reply, RouteHandler
from services.middleware import cors
from services.middleware.caller_key import CallerKeys
from services.realtime import edge as realtime
from services.sync.edge import HEALTH, SyncEdge, is_shape


class RealtimeHandler(RouteHandler):
    """Realtime: sockets, server-sent events and its HTTP endpoints are served by this edge."""

    def __init__(self, policy: cors.CorsPolicy, forwarder: Forwarder, sockets: realtime.RealtimeEdge) -> None:
        super().__init__(policy)
        self._forwarder, self._sockets = forwarder, sockets

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False for a socket: realtime checks its key itself."""
        return not self._sockets.is_socket(request.below)

    def api_key(self, request: GatewayRequest) -> str:
        """Return the API key: realtime takes it from `x-api-key` as well."""
        return realtime.key_of(request.first, request.query)

    async def handle(self, request: GatewayRequest) -> Reply:
        """Serve a socket or a stream to its end, or answer."""
        caller = request.caller
        key = self.api_key(request) if caller is None else request.key or ""
        realtime_request = realtime.RealtimeRequest(
            request.http, request.below, request.query, request.first, key, request.client_address()
        )
        if caller is None:
            return await self._sockets.connect(realtime_request)
        if isinstance(caller, RejectedCaller):
            return gateway_error(request, 401, caller.message)
        if self._sockets.is_stream(request.below):
            return await self._sockets.stream(realtime_request, caller, request.response_headers)
        return await self._sockets.answer(realtime_request, await self._forwarder.read(request.http), caller)


class SyncHandler(ForwardHandler):
    """Shapes: what waits for changes waits in this edge; all else goes to the pool."""

    def __init__(
        self,
        policy: cors.CorsPolicy,
        forwarder: Forwarder,
        caller_keys: CallerKeys,
        subject: Subject,
        edge: SyncEdge,
        files: ShapeFiles,
    ) -> None:
        super().__init__(policy, forwarder, caller_keys, subject)
        self._edge, self._files = edge, files

    def options(self, request: GatewayRequest) -> Response:
        """Return the response to a preflight, and to OPTIONS without one: both need no key."""
        preflight = super().options(request)
        return Response(204) if preflight is None else replace(preflight, status=204)

    def begin(
        self, request: GatewayRequest, body: MessageBody, on_settled: Callable[[OpenCall], None]
    ) -> tuple[Request, OpenCall] | None:
        """Return None: `handle` decides which requests reach the pool."""
        del request, body, on_settled
        return None

    async def handle(self, request: GatewayRequest) -> Reply:
        """Answer a request for a shape, or for the health of the area."""
        if request.below == HEALTH:
            return await self._edge.health()
        if not is_shape(request.below):
            return gateway_error(request, 404, "There is nothing here; shapes are at /sync/v1/shape")
        if isinstance(request.caller, RejectedCaller):
            return gateway_error(request, 401, request.caller.message)
        assert request.caller is not None  # authenticated before
        key = self._caller_key(request, request.client_address())
        reply = await self._edge.answer(
            request.http,
            request.query,
            request.caller,
            key,
            request.response_headers,
            lambda is_live: self._send(request, key, is_whole=is_live),
        )
        if not isinstance(reply, PoolReply) or reply.response.file is None:
            return reply
        part = reply.response.file
        try:
            file = self._files.open(part)
        except OSError:
            return await self._send(request, key, is_whole=True)
        return await self._files.send(request.http, reply.response, file, part, request.response_headers)

    def _send(self, request: GatewayRequest, key: str, *, is_whole: bool) -> Coroutine[Any, Any, PoolReply]:
        """Send the request to the pool; unless `is_whole` the pool may answer with a part of a file that this edge has."""
        headers = [pair for pair in request.headers if pair[0] != FOLDER_HEADER]
        if not is_whole and (mark := self._files.mark()):
            headers.append((FOLDER_HEADER, mark))
        client = request.client_address()
        return self._forwarder.call(self.subject, request, request.query, headers, client, key)
