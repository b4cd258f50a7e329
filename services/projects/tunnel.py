"""The bytes of a WebSocket, both ways and unread, between a client and its project.

Each direction waits until the other side has taken the bytes before it reads more: `StreamReader` pauses its socket at 128 KB. When either
side closes, both are closed.
"""

import asyncio

from aiohttp import web
from aiohttp.streams import StreamReader
from multidict import CIMultiDict

from services.projects.upstream import UpstreamConnection, UpstreamLost

_READ_AHEAD = 128 * 1024


class ClientBytes:
    """The bytes that a client sends after its handshake. aiohttp feeds them as it feeds a parser of frames."""

    def __init__(self, request: web.BaseRequest) -> None:
        self.stream = StreamReader(request.protocol, _READ_AHEAD, loop=asyncio.get_running_loop())
        request.protocol.set_parser(self)  # type: ignore[arg-type]  # aiohttp calls only the two methods below

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Store bytes that arrived."""
        self.stream.feed_data(bytes(data))
        return False, b""

    def feed_eof(self) -> None:
        """Record that the client sends no more."""
        self.stream.feed_eof()


async def run_tunnel(
    request: web.BaseRequest,
    connection: UpstreamConnection,
    from_project: StreamReader,
    headers: CIMultiDict[str],
) -> web.StreamResponse:
    """Send the 101, then pass on the bytes of both sides until either closes."""
    sent = web.StreamResponse(status=101, headers=headers)
    sent.force_close()
    await sent.prepare(request)
    from_client = ClientBytes(request).stream
    loop = asyncio.get_running_loop()
    directions = {
        loop.create_task(_to_project(from_client, connection)),
        loop.create_task(_to_client(from_project, sent)),
    }
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
        connection.end()
        if request.transport is not None:
            request.transport.close()
    return sent


async def _to_project(stream: StreamReader, connection: UpstreamConnection) -> None:
    try:
        while piece := await stream.readany():
            await connection.write(piece)
    except UpstreamLost:
        return


async def _to_client(stream: StreamReader, sent: web.StreamResponse) -> None:
    try:
        while piece := await stream.readany():
            await sent.write(piece)
    except ConnectionError:
        return
