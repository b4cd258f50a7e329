"""HTTP -> Request -> call -> Response -> HTTP: the way of every request through the door. Hot path.

Bodies that fit ride inside the message; longer ones are streamed both ways with flat memory. A client that leaves
cancels its call (aiohttp cancels the handler), and with it the statement in the database.
"""

import re
from collections.abc import AsyncIterator

from aiohttp import hdrs, web
from aiohttp.http_exceptions import PayloadEncodingError, TransferEncodingError
from multidict import CIMultiDict

from broker.requests.call import Answer, Calls
from broker.subjects import IDEMPOTENCY_REPLAYED
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import INLINE_LIMIT, Headers, Request, Response
from services.gateway.pace import Pace, Patience, TooSlow
from services.gateway.routes import Route

_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip


_SERVER = ("server", "Headwater")
_FRAMING = _HOP_BY_HOP | {"content-length", "server"}
"""Headers of an answer that are the door's alone."""
_UNSENDABLE = re.compile("[\0-\x08\x0a-\x1f\x7f]")
"""What may not stand in a header: aiohttp refuses to send it."""
_USUAL_CONNECTION = (b"keep-alive", b"close")
_NOT_OF_A_HOP = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""What proxies say of a client: it cannot have that taken away by naming it in Connection."""
_names: dict[bytes, str] = {}
_MOST_NAMES = 1024
_LONGEST_NAME = 64


class BodyRefused(Exception):
    """The body of a request is too long, too slow or broken: status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Forwarder:
    """Carries requests to pools."""

    def __init__(self, calls: Calls, *, max_body: int, patience: Patience, request_timeout: float) -> None:
        self._calls = calls
        self._max_body = max_body
        self._patience = patience
        self._budget_ms = int(request_timeout * 1000)

    def head(
        self,
        id: str,
        method: str,
        path: str,
        query: str,
        headers: Headers,
        caller: Caller,
        client: str = "",
        caller_key: str = "",
    ) -> Request:
        """Make a request without its body."""
        return Request(
            id=id,
            method=method,
            path=path,
            query=query,
            headers=headers,
            caller=caller,
            budget_ms=self._budget_ms,
            client=client,
            caller_key=caller_key,
        )

    async def ask(
        self,
        route: Route,
        path: str,
        query: str,
        request: web.BaseRequest,
        id: str,
        caller: Caller,
        headers: Headers,
        client: str = "",
        caller_key: str = "",
    ) -> Answer:
        """Ask the pool of a route. Raises: BodyRefused, Unavailable, DeadlineExceeded."""
        assert route.subject is not None  # routes without one are answered before
        length = request.content_length
        if length is not None and length > self._max_body:
            raise BodyRefused(413, f"The body is longer than {self._max_body} bytes")
        body, rest = b"", None
        if request.can_read_body:
            await let_go_on(request)
            if length is not None and length <= INLINE_LIMIT:
                body = await self._whole(request, length)
            else:
                rest = self._pieces(request)
        asked = Request(
            id=id,
            method=request.method,
            path=path,
            query=query,
            headers=headers,
            caller=caller,
            budget_ms=self._budget_ms,
            body=body,
            client=client,
            caller_key=caller_key,
        )
        return await self._calls.call(route.subject, asked, body=rest)

    async def read(self, request: web.BaseRequest) -> bytes:
        """Give the whole body, for what the door answers itself. Raises: BodyRefused."""
        if not request.can_read_body:
            return b""
        if request.content_length is not None and request.content_length > self._max_body:
            raise BodyRefused(413, f"The body is longer than {self._max_body} bytes")
        await let_go_on(request)
        return b"".join([piece async for piece in self._pieces(request)])

    async def _whole(self, request: web.BaseRequest, length: int) -> bytes:
        content = request.content
        if content.is_eof() and content.exception() is None:  # it came with the head: no wait, no clock
            body = content.read_nowait()
        else:
            body = b"".join([piece async for piece in self._pieces(request)])
        if len(body) != length:
            raise BodyRefused(400, "The body is shorter than its Content-Length says")
        return body

    async def _pieces(self, request: web.BaseRequest) -> AsyncIterator[bytes]:
        """Give the body as it arrives. Raises: BodyRefused."""
        size, pace = 0, Pace(self._patience)
        while True:
            try:
                piece = await pace.wait(request.content.readany())
            except TooSlow as error:
                raise BodyRefused(408, str(error)) from None
            except (PayloadEncodingError, TransferEncodingError, web.PayloadAccessError) as error:
                raise BodyRefused(400, f"The body is malformed: {error}") from None
            if not piece:
                return
            size += len(piece)
            if size > self._max_body:
                raise BodyRefused(413, f"The body is longer than {self._max_body} bytes")
            yield piece


async def let_go_on(request: web.BaseRequest) -> None:
    """Tell a client that asked whether its body is wanted that it is. Source: RFC 9110, 10.1.1."""
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun


def received_headers(request: web.BaseRequest) -> Headers:
    """Give the client's headers, names in lower case, without those that end at this hop or that Connection names."""
    headers: Headers = []
    nominated: set[str] = set()
    for raw_name, value in request.raw_headers:
        name = _names.get(raw_name)
        if name is None:
            name = _learn_name(raw_name)
        if name:
            headers.append((name, value.decode("utf-8", "replace")))
        elif value.lower() not in _USUAL_CONNECTION and raw_name.lower() == b"connection":
            nominated |= {each.strip().lower() for each in value.decode("latin-1").split(",")}
    if nominated:
        headers = [pair for pair in headers if pair[0] not in nominated - _NOT_OF_A_HOP]
    return headers


def _learn_name(raw: bytes) -> str:
    """Give a header's name in lower case, empty for those that end at this hop; clients send the same few ones."""
    name = raw.decode("latin-1").lower()
    if name in _HOP_BY_HOP:
        name = ""
    if len(_names) < _MOST_NAMES and len(raw) <= _LONGEST_NAME:
        _names[raw] = name
    return name


def outgoing(response: Response, extra: Headers, *, is_head: bool) -> web.Response:
    """Turn an answer into HTTP. Headers set by the pool win over those of the door."""
    headers = headers_out(response.headers, extra)
    sent = web.Response(
        status=response.status, reason=_reason(response), body=response.body or None, headers=headers
    )
    if not response.body and "content-type" not in headers:
        sent.headers.popall("Content-Type", None)
    if is_head or response.status == 204:
        sent.headers.popall("Content-Length", None)
    return sent


async def stream_out(request: web.BaseRequest, answer: Answer, extra: Headers) -> web.StreamResponse:
    """Send an answer whose body follows in pieces. One that breaks off ends the connection: that is how clients see it."""
    response = answer.response
    sent = web.StreamResponse(
        status=response.status,
        reason=_reason(response),
        headers=headers_out(response.headers, extra),
    )
    if response.stream is not None and response.stream.size >= 0:
        sent.content_length = response.stream.size
    try:
        await sent.prepare(request)
        if answer.chunks is not None and request.method != "HEAD":
            async for chunk in answer.chunks:
                await sent.write(chunk)
        await sent.write_eof()
    except Unavailable:
        if request.transport is not None:
            request.transport.abort()
    finally:
        await answer.close()
    return sent


def _reason(response: Response) -> str | None:
    return _UNSENDABLE.sub(" ", response.reason) if response.reason else None


_REPLAYED_EXPOSED = ("access-control-expose-headers", IDEMPOTENCY_REPLAYED)
"""For pages of other origins, in a line of its own: the lines count as one list, and the other one is the reference's."""


def headers_out(headers: Headers, extra: Headers) -> CIMultiDict[str]:
    """Give the headers of an answer as they are sent: those of the pool, the door's where it has none, nothing unsendable."""
    own = {name for name, _ in headers}
    if not own.isdisjoint(_FRAMING):
        headers = [each for each in headers if each[0] not in _FRAMING]
    every = [*headers, *(each for each in extra if each[0] not in own), _SERVER]
    if IDEMPOTENCY_REPLAYED in own:
        every.append(_REPLAYED_EXPOSED)
    if _UNSENDABLE.search("".join([*own, *[value for _, value in every]])):
        every = [(_UNSENDABLE.sub("", name), _UNSENDABLE.sub(" ", value)) for name, value in every]
    return CIMultiDict(every)
