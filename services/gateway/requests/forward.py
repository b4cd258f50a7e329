"""HTTP -> Request -> call -> Response -> HTTP: how a request reaches a pool and its response the client. Hot path.

A body of up to `INLINE_LIMIT` bytes with a Content-Length is part of the message. A longer body, or one of unknown length, is
streamed in chunks with flat memory; so is a long response. When the client disconnects, aiohttp cancels the handler; that
cancels the call, and the worker cancels the statement in the database.
"""

from collections.abc import AsyncIterator, Callable

from aiohttp import HttpVersion10, hdrs, web
from aiohttp.http_exceptions import PayloadEncodingError, TransferEncodingError
from multidict import CIMultiDict

from broker.requests.call import Calls, PoolReply
from broker.requests.open_calls import OpenCall
from broker.subjects import Subject
from schemas.caller import AnonymousCaller
from schemas.errors import Unavailable
from schemas.http import INLINE_LIMIT, Headers, Request, Response
from services.gateway.requests.encoders import Encoder, encoded_piece
from services.gateway.requests.request import FRAMING, UNSENDABLE, GatewayRequest
from services.gateway.requests.transfer_rate import BodyTooSlow, TransferLimits, TransferRate
from services.middleware.server_name import SERVER

_SERVER = ("server", SERVER)


class BodyRejected(Exception):
    """The body of a request is too long, too slow or malformed: status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Forwarder:
    """Sends requests to pools. `max_body` in bytes, `request_timeout` in seconds."""

    def __init__(
        self, calls: Calls, *, max_body: int, limits: TransferLimits, request_timeout: float
    ) -> None:
        self.calls = calls
        self._max_body = max_body
        self._limits = limits
        self._budget_ms = int(request_timeout * 1000)

    def message(
        self,
        request: GatewayRequest,
        query: str,
        headers: Headers,
        client: str,
        caller_key: str,
        body: bytes = b"",
        object_bytes: bytes | None = None,
    ) -> Request:
        """Return the message that a pool receives."""
        return Request(
            id=request.id,
            method=request.method,
            path=request.below,
            query=query,
            headers=headers,
            caller=request.caller or AnonymousCaller(),
            budget_ms=self._budget_ms,
            body=body,
            client=client,
            caller_key=caller_key,
            is_sampled=request.is_sampled,
            object_bytes=object_bytes,
        )

    async def call(
        self,
        subject: Subject,
        request: GatewayRequest,
        query: str,
        headers: Headers,
        client: str,
        caller_key: str,
    ) -> PoolReply:
        """Call the pool of a subject. Raises: BodyRejected, Unavailable, DeadlineExceeded."""
        http = request.http
        length = http.content_length
        if length is not None and length > self._max_body:
            raise self._too_long()
        body, rest = b"", None
        if http.can_read_body:
            await send_continue(http)
            if length is not None and length <= INLINE_LIMIT:
                body = await self._inline_body(http, length)
            else:
                rest = self._pieces(http)
        message = self.message(request, query, headers, client, caller_key, body)
        return await self.calls.call(subject, message, body=rest)

    def begin(
        self, subject: Subject, message: Request, on_settled: Callable[[OpenCall], None]
    ) -> OpenCall | None:
        """Send a message whose body is whole, as `Calls.begin` does; None where `call` has to answer."""
        if len(message.body) > self._max_body:
            return None
        return self.calls.begin(subject, message, on_settled)

    async def read(self, request: web.BaseRequest) -> bytes:
        """Return the whole body, for requests that the gateway answers itself. Raises: BodyRejected."""
        if not request.can_read_body:
            return b""
        if request.content_length is not None and request.content_length > self._max_body:
            raise self._too_long()
        await send_continue(request)
        body = _arrived(request)
        if body is None:
            return b"".join([piece async for piece in self._pieces(request)])
        if len(body) > self._max_body:
            raise self._too_long()
        return body

    async def _inline_body(self, request: web.BaseRequest, length: int) -> bytes:
        body = _arrived(request)
        if body is None:
            body = b"".join([piece async for piece in self._pieces(request)])
        if len(body) != length:
            raise BodyRejected(400, "The body is shorter than its Content-Length says")
        return body

    def _too_long(self) -> BodyRejected:
        return BodyRejected(413, f"The body is longer than {self._max_body} bytes")

    async def _pieces(self, request: web.BaseRequest) -> AsyncIterator[bytes]:
        """Return the body as it arrives. Raises: BodyRejected."""
        size, rate = 0, TransferRate(self._limits)
        while True:
            try:
                piece = await rate.wait(request.content.readany())
            except BodyTooSlow as error:
                raise BodyRejected(408, str(error)) from None
            except (PayloadEncodingError, TransferEncodingError, web.PayloadAccessError) as error:
                raise BodyRejected(400, f"The body is malformed: {error}") from None
            if not piece:
                return
            size += len(piece)
            if size > self._max_body:
                raise self._too_long()
            yield piece


def _arrived(request: web.BaseRequest) -> bytes | None:
    """Return a body that arrived with its head, whole: it needs no wait and no timer. None for any other."""
    content = request.content
    return content.read_nowait() if content.is_eof() and content.exception() is None else None


async def send_continue(request: web.BaseRequest) -> None:
    """Send `100 Continue` to a client that waits for it before it sends the body; never to HTTP/1.0. Source: RFC 9110, 10.1.1."""
    if request.version == HttpVersion10:
        return
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the final response has not started


def http_response(response: Response, extra: Headers, *, is_head: bool) -> web.Response:
    """Return a response as aiohttp sends it. A header of the pool wins over one of the gateway."""
    headers = response_headers(response.headers, extra)
    sent = web.Response(
        status=response.status, reason=reason_of(response), body=response.body or None, headers=headers
    )
    if not response.body and "content-type" not in headers:
        sent.headers.popall("Content-Type", None)
    if is_head or response.status == 204:
        sent.headers.popall("Content-Length", None)
    return sent


async def stream_response(
    request: web.BaseRequest, answer: PoolReply, extra: Headers, encoder: Encoder | None = None
) -> web.StreamResponse:
    """Send a response whose body arrives in chunks. If the chunks break off, the connection is aborted, so that the client notices.

    With an encoder the body is compressed; the headers say so already.
    """
    response = answer.response
    sent = web.StreamResponse(
        status=response.status,
        reason=reason_of(response),
        headers=response_headers(response.headers, extra),
    )
    if response.stream is not None and response.stream.size >= 0 and encoder is None:
        sent.content_length = response.stream.size
    try:
        await sent.prepare(request)
        if answer.chunks is not None and request.method != "HEAD":
            async for chunk in answer.chunks:
                await sent.write(chunk if encoder is None else await encoded_piece(encoder, chunk))
            if encoder is not None:
                await sent.write(encoder.finish())
        await sent.write_eof()
    except Unavailable:
        if request.transport is not None:
            request.transport.abort()
    finally:
        await answer.close()
    return sent


def reason_of(response: Response) -> str | None:
    """Return the reason phrase of a response; None for the usual one of its status."""
    return UNSENDABLE.sub(" ", response.reason) if response.reason else None


def response_headers(headers: Headers, extra: Headers) -> CIMultiDict[str]:
    """Return the headers of a response as aiohttp takes them."""
    return CIMultiDict(sendable_headers(headers, extra)[0])


def sendable_headers(headers: Headers, extra: Headers) -> tuple[Headers, set[str]]:
    """Return the headers of a response, and the names that the pool set.

    They are the pool's, then the gateway's whose names the pool did not set, without unsendable characters.
    `Vary` of the gateway is a further line beside that of the pool: lines of one name are one list.
    """
    pairs, names = merged_headers(headers, extra)
    # What is printable needs no search.
    if not "".join([text for pair in pairs for text in pair]).isprintable():
        pairs = without_unsendable(pairs)
    return pairs, names


def merged_headers(headers: Headers, extra: Headers) -> tuple[Headers, set[str]]:
    """Do what `sendable_headers` does, but leave unsendable characters."""
    names = {name for name, _ in headers}
    if not names.isdisjoint(FRAMING):
        headers = [pair for pair in headers if pair[0] not in FRAMING]
    return [*headers, *[pair for pair in extra if pair[0] not in names or pair[0] == "vary"], _SERVER], names


def without_unsendable(headers: Headers) -> Headers:
    """Return headers without unsendable characters; names are searched as well, because a pool may return any text as a name."""
    return [(UNSENDABLE.sub("", name), UNSENDABLE.sub(" ", value)) for name, value in headers]
