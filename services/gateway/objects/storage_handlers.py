"""The handlers of storage: REST, resumable uploads and S3. Bytes of objects pass between the client and the blob store here."""

from broker.requests.call import PoolReply
from broker.subjects import STORAGE
from schemas.http import STORAGE_URL, Request, Response
from services.gateway.objects.lookup_reuse import PublicLookup
from services.gateway.objects.resumable import uploads
from services.gateway.objects.s3.errors import session_token
from services.gateway.objects.s3.form import S3Form, is_form, open_form
from services.gateway.objects.transfers import ObjectTransfers, carries_object
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.forward import Forwarder
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.route_handler import ForwardHandler, MessageBody, Reply
from services.gateway.requests.routes import names_version
from services.gateway.requests.transfer_rate import TransferLimits, TransferRate
from services.middleware import cors
from services.middleware.caller_key import CallerKeys
from services.middleware.errors import versioning_disabled


class StorageHandler(ForwardHandler):
    """Storage: uploads and downloads pass between the client and the blob store here, all else goes to the pool."""

    def __init__(
        self,
        policy: cors.CorsPolicy,
        forwarder: Forwarder,
        caller_keys: CallerKeys,
        objects: ObjectTransfers,
    ) -> None:
        super().__init__(policy, forwarder, caller_keys, STORAGE)
        self._objects = objects

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False for the version of an object: that is answered with an error for every caller."""
        return not names_version(request.method, request.below, request.query)

    def message_body(self, request: GatewayRequest, body: bytes) -> MessageBody | None:
        """Return the body of a message; None for an upload that is not short."""
        if not carries_object(request.method, request.below):
            return MessageBody(body)
        return self._objects.short_body(request.first, body)

    async def resume(self, request: GatewayRequest, message: Request, reply: PoolReply) -> Reply:
        """Answer from the reply on: an object that the pool has not stored itself becomes a blob first."""
        del request
        return reply if message.object_bytes is None else await self._objects.finish_small(message, reply)

    async def handle(self, request: GatewayRequest) -> Reply:
        """Receive an object, send one, or send the request to the pool."""
        if request.caller is None:
            return versioning_disabled()
        if carries_object(request.method, request.below):
            answer = await self._objects.receive(request.http, self._message(request))
        elif (
            lookup := self._objects.lookups.start(request.method, request.below, request.query, request.first)
        ) is not None:
            return await self._send_public(request, lookup)
        else:
            answer = await self._forward(request, request.query)
            if answer.chunks is None and answer.response.grant is not None:
                # An answer of 200 would confirm an object whose bytes were never read.
                raise RuntimeError("the storage pool granted an upload on a path that carries no object")
        return await self._send_object(request, answer)

    async def _send_public(self, request: GatewayRequest, lookup: PublicLookup) -> Reply:
        """Send an object of a public bucket; the pool is asked about it only if its last answer must not be reused."""
        sent = await self._objects.send_public(request.http, lookup, request.first, request.response_headers)
        if sent is not None:
            return sent
        answer = await self._forward(request, request.query)
        if answer.chunks is None:
            lookup.store(answer.response)
        return await self._send_object(request, answer)

    def _message(self, request: GatewayRequest, form: S3Form | None = None) -> Request:
        """Return the head of an upload as the pool receives it."""
        client = request.client_address()
        headers = request.headers if form is None else form.headers(request.headers)
        key = self._caller_key(request, client)
        return self._forwarder.message(request, request.query, headers, client, key)

    async def _send_object(self, request: GatewayRequest, answer: PoolReply) -> Reply:
        """Send the blob that an answer refers to; return any other answer."""
        if answer.chunks is not None or answer.response.claim is None:
            return answer
        return await self._objects.send(
            request.http, answer.response, request.first, request.response_headers
        )


class ResumableUploadHandler(StorageHandler):
    """Resumable uploads (TUS): OPTIONS returns the capabilities of the protocol."""

    def __init__(
        self,
        policy: cors.CorsPolicy,
        forwarder: Forwarder,
        caller_keys: CallerKeys,
        objects: ObjectTransfers,
        max_upload: int,
    ) -> None:
        super().__init__(policy, forwarder, caller_keys, objects)
        self._max_upload = max_upload

    def options(self, request: GatewayRequest) -> Response:
        """Return the capabilities of the protocol, with the headers of a preflight."""
        names = request.first.get("access-control-request-headers")
        return uploads.options_response(self._max_upload, names)


class S3Handler(StorageHandler):
    """The S3 endpoint. Its `Authorization` header holds a signature, which the pool verifies; the caller is in a session token."""

    def __init__(
        self,
        policy: cors.CorsPolicy,
        forwarder: Forwarder,
        caller_keys: CallerKeys,
        objects: ObjectTransfers,
        authenticator: Authenticator,
        limits: TransferLimits,
    ) -> None:
        super().__init__(policy, forwarder, caller_keys, objects)
        self._authenticator, self._limits = authenticator, limits

    def needs_caller(self, request: GatewayRequest) -> bool:
        """Return False for an upload by a form: its session token is a field of the form."""
        return not is_form(request.method, request.below, request.first.get("content-type"))

    def authorization(self, request: GatewayRequest) -> str | None:
        """Return the session token as an `Authorization` header."""
        return session_token(request.first, request.query)

    async def handle(self, request: GatewayRequest) -> Reply:
        """Answer as storage does, but for forms. A POST carries the URL of storage, for the `Location` of its answer."""
        request.headers = [pair for pair in request.headers if pair[0] != STORAGE_URL]
        if request.method == "POST":
            url = self._objects.address.of(request.http, request.first)
            request.headers.append((STORAGE_URL, url))
        if request.caller is not None:
            return await super().handle(request)
        assert request.route is not None  # only routes name this handler
        form = await open_form(request.http, TransferRate(self._limits))
        request.key = request.api_key()
        request.caller = await self._authenticator.authenticate(
            request.route, request.key, form.authorization
        )
        answer = await self._objects.receive(form.file, self._message(request, form))
        return await self._send_object(request, answer)
