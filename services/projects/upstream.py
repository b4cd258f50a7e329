"""HTTP/1.1 connections to the gateway of one project, kept open between requests.

aiohttp's parser reads the responses (llhttp, in C). Its client session is not used: much of its work is for cookies, redirections, encodings and
URLs, which a proxy must leave alone, and costs 0.2 ms a request (docs/decisions.md).

- One request at a time on a connection. It is used again when the response was read to its end and the request was sent to its end.
- A request is sent twice only if an idle connection breaks before the first byte of a response, and the request changes nothing and has no
  body: the project closed that connection in the moment in which it was used.
- After 101 both directions are raw bytes (tunnel.py).
"""

import asyncio
import time
from collections.abc import AsyncIterator

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpResponseParser, RawResponseMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from services.supervisor.ports import LOOPBACK

_CONNECT_S = 5.0
_IDLE_S = 15.0
"""Less than `gateway.keepalive_timeout`: after it an idle connection is not used again."""
_MOST_IDLE = 64
_READ_AHEAD = 128 * 1024
_HEAD_BYTES = 64 * 1024
_WITHOUT_BODY = frozenset({204, 304})
_SWITCHING = 101
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class UpstreamLost(Exception):
    """The connection broke before the response was whole. `is_unsent`: nothing of the request can have been read."""

    def __init__(self, *, is_unsent: bool = False) -> None:
        super().__init__("the connection to the project broke")
        self.is_unsent = is_unsent


class UpstreamConnection(BaseProtocol):
    """One connection; `pool` gets it back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._parser: HttpResponseParser | None = None
        self._head: asyncio.Future[tuple[RawResponseMessage, StreamReader]] | None = None
        self._payload: StreamReader | None = None
        self.raw: StreamReader | None = None
        """The bytes after 101."""
        self.is_used = False
        """A request was answered on it before."""
        self.idle_since = 0.0
        self.is_open = True

    def begin(self, method: str) -> None:
        """Prepare for the response to a request."""
        self._head = self._loop.create_future()
        self._payload = None
        self._parser = HttpResponseParser(
            self,
            self._loop,
            _READ_AHEAD,
            max_line_size=_HEAD_BYTES,
            max_field_size=_HEAD_BYTES,
            payload_exception=UpstreamLost,
            response_with_body=method != "HEAD",
            read_until_eof=True,
            auto_decompress=False,
        )

    async def head(self) -> tuple[RawResponseMessage, StreamReader]:
        """Return the head of the response and its body. Raises: UpstreamLost."""
        assert self._head is not None
        return await self._head

    async def write(self, data: bytes) -> None:
        """Write, and wait while the project reads more slowly. Raises: UpstreamLost."""
        if self.transport is None or self.transport.is_closing():
            raise UpstreamLost
        self.transport.write(data)
        try:
            await self._drain_helper()
        except ConnectionError:
            raise UpstreamLost from None

    def close(self) -> None:
        """Close the connection; what is under way is cut off."""
        if self.transport is not None:
            self.transport.abort()
        self.is_open = False

    def end(self) -> None:
        """Close the connection when what was written is sent."""
        if self.transport is not None:
            self.transport.close()
        self.is_open = False

    def data_received(self, data: bytes) -> None:
        if self.raw is not None:
            self.raw.feed_data(data)
            return
        if self._parser is None or self._head is None:  # nothing was asked
            self.close()
            return
        try:
            messages, is_upgraded, tail = self._parser.feed_data(data)
        except Exception as error:  # the parser's own kinds; whatever it is, the response cannot be read
            self._fail(error)
            self.close()
            return
        for message, payload in messages:
            if message.code < 200 and message.code != _SWITCHING:
                continue
            if self._head.done():  # a second response, without a request
                self.close()
                return
            if message.code == _SWITCHING:
                self.raw = StreamReader(self, _READ_AHEAD, loop=self._loop)
                payload = self.raw
            elif message.code in _WITHOUT_BODY:
                payload = EMPTY_PAYLOAD
            self._payload = payload
            self._head.set_result((message, payload))
        if is_upgraded and tail and self.raw is not None:
            self.raw.feed_data(tail)

    def eof_received(self) -> bool:
        """Read no more; the transport closes itself."""
        return False

    def connection_lost(self, exc: BaseException | None) -> None:
        self.is_open = False
        super().connection_lost(exc)
        if self.raw is not None:
            self.raw.feed_eof()
            return
        if self._parser is not None:
            try:
                self._parser.feed_eof()
            except Exception as error:  # as above: the response ended too early
                self._fail(error)
                return
        self._fail(exc)

    def _fail(self, cause: BaseException | None) -> None:
        error = UpstreamLost(is_unsent=self.is_used and self._head is not None and not self._head.done())
        error.__cause__ = cause
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
            self._head.exception()  # it may be that no request waits for it any more
        elif self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(error)


class UpstreamConnections:
    """The connections to one project."""

    def __init__(self) -> None:
        self._idle: list[UpstreamConnection] = []
        self._port = 0

    async def send(self, method: str, port: int, head: bytes, body: bytes = b"") -> UpstreamConnection:
        """Send a head, with a body that is whole; return the connection. Raises: UpstreamLost, OSError."""
        connection = await self._take(port)
        connection.begin(method)
        try:
            await connection.write(head + body)
        except UpstreamLost:
            if not connection.is_used:
                raise
            return await self._again(method, port, head + body)
        return connection

    async def response(
        self, connection: UpstreamConnection, method: str, port: int, head: bytes, *, has_body: bool
    ) -> tuple[UpstreamConnection, RawResponseMessage, StreamReader]:
        """Return the response; a request that changes nothing is sent again if an idle connection lost it. Raises: UpstreamLost, OSError."""
        try:
            return connection, *await connection.head()
        except UpstreamLost as error:
            if not error.is_unsent or has_body or method not in _SAFE:
                raise
        connection = await self._again(method, port, head)
        return connection, *await connection.head()

    def put_back(self, connection: UpstreamConnection, message: RawResponseMessage) -> None:
        """Keep a connection whose response was read to its end, for another request."""
        connection.is_used = True
        if message.should_close or not connection.is_open or len(self._idle) >= _MOST_IDLE:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def _take(self, port: int) -> UpstreamConnection:
        if port != self._port:  # the project was started again
            self.close()
            self._port = port
        oldest = time.monotonic() - _IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.close()
        return await _open(port)

    async def _again(self, method: str, port: int, data: bytes) -> UpstreamConnection:
        connection = await _open(port)
        connection.begin(method)
        await connection.write(data)
        return connection


async def _open(port: int) -> UpstreamConnection:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, connection = await loop.create_connection(lambda: UpstreamConnection(loop), LOOPBACK, port)
    except TimeoutError:
        raise UpstreamLost(is_unsent=True) from None
    return connection


async def chunked(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield pieces of a body in the chunked coding, its end included. Source: RFC 9112, 7.1."""
    async for piece in pieces:
        if piece:
            yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"
