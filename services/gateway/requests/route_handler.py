"""What every handler of a route has, and the handler that sends a request to a pool. `handlers.py` explains the order of calls."""

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from aiohttp import web

from broker.requests.call import Calls, PoolReply
from broker.requests.open_calls import OpenCall
from broker.subjects import Subject
from schemas.http import Request, Response
from services.gateway.requests.forward import Forwarder
from services.gateway.requests.request import GatewayRequest
from services.middleware import cors
from services.middleware.caller_key import CallerKeys

Reply = Response | PoolReply | web.StreamResponse


class MessageBody(NamedTuple):
    """A whole body as a message carries it (`schemas/http.py`)."""

    body: bytes
    object_bytes: bytes | None = None


class RouteHandler:
    """What every handler has. `policy` is the CORS policy of its responses."""

    def __init__(self, policy: cors.CorsPolicy) -> None:
        self.policy = policy

    def options(self, request: GatewayRequest) -> Response | None:
        """Return the response to a CORS preflight; None for any other OPTIONS request."""
        first = request.first
        origin = first.get("origin")
        if origin is None or first.get("access-control-request-method") is None:
            return None
        return cors.preflight(self.policy, origin, first.get("access-control-request-headers"))

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return whether the caller is authenticated before `handle`."""
        del request
        return True

    def api_key(self, request: GatewayRequest) -> str | None:
        """Return the API key of a request."""
        return request.api_key()

    def authorization(self, request: GatewayRequest) -> str | None:
        """Return the `Authorization` header that authenticates a request."""
        return request.first.get("authorization")

    async def handle(self, request: GatewayRequest) -> Reply:
        """Answer a request. Raises: BodyRejected, ApiKeyRejected, Unavailable, DeadlineExceeded."""
        raise NotImplementedError


class ForwardHandler(RouteHandler):
    """Sends a request to the pool of its route. `sends_client`: with the client's address."""

    def __init__(
        self,
        policy: cors.CorsPolicy,
        forwarder: Forwarder,
        caller_keys: CallerKeys,
        subject: Subject,
        *,
        sends_client: bool = True,
    ) -> None:
        super().__init__(policy)
        self._forwarder, self._caller_keys, self.subject = forwarder, caller_keys, subject
        self.calls: Calls = forwarder.calls
        self._sends_client = sends_client

    async def handle(self, request: GatewayRequest) -> Reply:
        """Send the request to the pool."""
        return await self._forward(request, request.query)

    def _forward(self, request: GatewayRequest, query: str) -> Coroutine[Any, Any, PoolReply]:
        """Return the call of the pool; not a coroutine function, because one more would cost the hot path a frame."""
        client = request.client_address() if self._sends_client else ""
        key = self._caller_key(request, client)
        return self._forwarder.call(self.subject, request, query, request.headers, client, key)

    def message_body(self, request: GatewayRequest, body: bytes) -> MessageBody | None:
        """Return what the message of a request carries of its whole body; None where `handle` has to answer it. Pure."""
        del request
        return MessageBody(body)

    def begin(
        self, request: GatewayRequest, body: MessageBody, on_settled: Callable[[OpenCall], None]
    ) -> tuple[Request, OpenCall] | None:
        """Send a request with its body to the pool and return at once; None where `handle` has to answer it."""
        client = request.client_address() if self._sends_client else ""
        key = self._caller_key(request, client)
        message = self._forwarder.message(request, request.query, request.headers, client, key, *body)
        call = self._forwarder.begin(self.subject, message, on_settled)
        return None if call is None else (message, call)

    def finished(self, response: Response) -> Response:
        """Return a whole response of the pool as clients get it. Pure."""
        return response

    async def finish(self, request: GatewayRequest, message: Request, call: OpenCall) -> PoolReply:
        """Return the reply to a message that `begin` has sent, if it is no whole response. Raises: as `handle`."""
        del request
        return await self.calls.finish(self.subject, message, call)

    async def resume(self, request: GatewayRequest, message: Request, reply: PoolReply) -> Reply:
        """Answer a request whose message `begin` has sent, from the pool's reply on. Raises: as `handle`."""
        del request, message
        return reply

    def _caller_key(self, request: GatewayRequest, client: str) -> str:
        """Return the key by which the caller's requests share the workers. Only a verified API key counts for it."""
        assert request.caller is not None  # authenticated before
        assert request.route is not None
        key = request.key if request.route.needs_key else None
        return self._caller_keys.key_of(request.caller, key, lambda: client or request.client_address())
