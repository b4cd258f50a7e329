"""Send a request to the gateway of its project and pass the response on, both as streams; after 101 the bytes of a WebSocket.

- A body is never held as a whole, beyond 64 KB: a piece is read when the one before it was written, so a slow side slows the other.
- A response that breaks off closes the client's connection, so that it cannot be taken for a whole one.
- A client that leaves cancels the handler, which closes the connection to the project: the project sees that, too.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import hdrs, web
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

from services.gateway.requests.forward import send_continue
from services.projects.headers import ForwardedClient, request_head, response_headers
from services.projects.tunnel import run_tunnel
from services.projects.upstream import UpstreamConnection, UpstreamConnections, UpstreamLost, chunked

_WHOLE = 64 * 1024
"""Bodies of a known length up to this many bytes are read whole, and sent with their head in one write."""
_BODY_S = 60.0
"""Longest time for such a body to arrive. Of longer ones the project's gateway measures the rate."""
_WITHOUT_BODY = frozenset({204, 304})
_SWITCHING = 101


class SmallBodyLate(Exception):
    """A small body did not arrive in time."""


async def forward(
    request: web.BaseRequest,
    connections: UpstreamConnections,
    port: int,
    path: str,
    client: ForwardedClient,
    public_url: str,
    *,
    is_websocket: bool,
) -> web.StreamResponse:
    """Answer a request by its project. Raises: UpstreamLost before anything was sent to the client, OSError, SmallBodyLate."""
    body, length, is_chunked = b"", request.content_length, False
    has_body = request.can_read_body
    if has_body:
        await send_continue(request)
        if length is not None and length <= _WHOLE:
            body = await _small_body(request)
        is_chunked = length is None
    head = request_head(
        request.method,
        path,
        request.raw_headers,
        client,
        length=length,
        is_chunked=is_chunked,
        is_websocket=is_websocket,
    )
    connection = await connections.send(request.method, port, head, body)
    sending = (
        asyncio.get_running_loop().create_task(_send_body(request, connection, is_chunked=is_chunked))
        if has_body and not body and length != 0
        else None
    )
    is_whole = False
    try:
        connection, message, payload = await connections.response(
            connection, request.method, port, head, has_body=has_body
        )
        if message.code == _SWITCHING:
            if not is_websocket or connection.raw is None:
                raise UpstreamLost
            headers = response_headers(message.raw_headers, prefix=client.prefix, is_websocket=True)
            return await run_tunnel(request, connection, connection.raw, headers)
        response = await _pass_on(request, message, payload, client.prefix, public_url)
        is_whole = payload.is_eof() and (sending is None or sending.done())
        return response
    finally:
        if sending is not None:
            sending.cancel()
        if is_whole:
            connections.put_back(connection, message)
        else:
            connection.close()


async def _small_body(request: web.BaseRequest) -> bytes:
    try:
        async with asyncio.timeout(_BODY_S):
            return await request.content.read()
    except TimeoutError:
        raise SmallBodyLate from None


async def _send_body(request: web.BaseRequest, connection: UpstreamConnection, *, is_chunked: bool) -> None:
    """Send a body as it arrives. If it breaks off, so does the connection to the project."""
    pieces: AsyncIterator[bytes] = request.content.iter_any()
    try:
        async for piece in chunked(pieces) if is_chunked else pieces:
            await connection.write(piece)
    except UpstreamLost:
        return  # the response says why, if there is one
    except asyncio.CancelledError:
        raise
    except Exception:  # of aiohttp's parser, or the client is gone: the body is not whole
        connection.close()


async def _pass_on(
    request: web.BaseRequest, message: RawResponseMessage, payload: StreamReader, prefix: str, public_url: str
) -> web.StreamResponse:
    """Send the response of a project to its client."""
    headers = response_headers(message.raw_headers, prefix=prefix, public_url=public_url)
    length = headers.get(hdrs.CONTENT_LENGTH)
    has_body = request.method != hdrs.METH_HEAD and message.code not in _WITHOUT_BODY
    has_type = hdrs.CONTENT_TYPE in headers
    if has_body and length is not None and int(length) <= _WHOLE:
        body = await payload.read()
        whole = web.Response(status=message.code, reason=message.reason, headers=headers, body=body or None)
        if not has_type:
            whole.headers.popall(hdrs.CONTENT_TYPE, None)
        return whole
    sent = web.StreamResponse(status=message.code, reason=message.reason, headers=headers)
    await sent.prepare(request)
    try:
        if has_body:
            async for piece in payload.iter_any():
                await sent.write(piece)
        await sent.write_eof()
    except UpstreamLost:
        with suppress(AttributeError):  # the client has gone first
            request.transport.abort()  # type: ignore[union-attr]  # None is what is suppressed
    return sent
