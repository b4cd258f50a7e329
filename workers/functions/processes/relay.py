"""HTTP client for one process of a function: sends requests over its unix socket and streams the responses.

    Relay.send --> head and body are written while the response is read --> RelayedRequest: head, then pieces of the body

- Flow control: a request body is written as it arrives, and no faster than the process reads it (`flush`). Of a response at
  most 256 KB are read ahead (`connection.py`). So memory stays flat in both directions. The first piece is passed on at once.
- A request that is closed before the end of its response closes the connection: the function sees its request aborted.
- A connection whose response was read to its end is reused; at most `_MAX_IDLE` are kept. A request is never sent twice:
  when a connection breaks before the head arrived, the function may already have acted on it. Only a connection that could
  not be opened raises ProcessUnreachable, and then the caller may choose another process.
- After status 101 both directions carry raw bytes: what arrives as the request's body goes to the process unchanged.

Two of these rules are why this is not a general HTTP client: no request may be retried on a reused connection, and after 101
the connection is a pair of raw byte streams for any protocol.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from workers.functions.processes import http_wire
from workers.functions.processes.connection import ProcessConnection
from workers.functions.processes.http_wire import ResponseHead, WireBroken

_CONNECT_S = 5.0
_MAX_IDLE = 32


class ProcessUnreachable(Exception):
    """The process accepts no connection: the request was not sent, and may be sent to another process."""


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """One HTTP request for a process: its head as bytes, and its body, whole or in pieces."""

    head: bytes
    body: bytes | AsyncIterator[bytes]
    is_head: bool
    """The method is HEAD: the response ends after its head."""
    is_chunked: bool
    """The length of the body is unknown, so it is sent in chunks."""
    is_raw: bool
    """The request asks for an upgrade: the body is sent unchanged after status 101, and only then."""


class RelayedRequest:
    """A request that was sent, and its response. Close it in every case."""

    def __init__(
        self,
        connection: ProcessConnection,
        head: ResponseHead,
        sending: asyncio.Task[None] | None,
        relay: "Relay",
    ) -> None:
        self.head = head
        self._connection = connection
        self._sending = sending
        self._relay = relay

    def whole(self) -> bytes | None:
        """Return the body if all of it has arrived, else None."""
        if not self._connection.reader.is_complete:
            return None
        return self._connection.take_buffered()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises: WireBroken."""
        while piece := await self._connection.piece():
            yield piece

    async def close(self) -> None:
        """Reuse the connection if the response was read to its end, else close it."""
        is_sent = self._sending is None or (self._sending.done() and self._sending.exception() is None)
        if self._sending is not None:
            await _stop(self._sending)
        self._relay.release(self._connection, is_sent=is_sent)


class Relay:
    """The connections to one process, by the path of its unix socket."""

    def __init__(self, path: str, on_bytes: Callable[[], None]) -> None:
        self._path = path
        self._on_bytes = on_bytes
        self._idle: list[ProcessConnection] = []
        self._is_closed = False

    async def connect(self) -> ProcessConnection:
        """Open a connection. Raises: ProcessUnreachable, OSError, TimeoutError."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT_S):
            try:
                _, connection = await loop.create_unix_connection(
                    lambda: ProcessConnection(self._on_bytes), self._path
                )
            except (ConnectionRefusedError, FileNotFoundError):
                raise ProcessUnreachable from None
        return connection

    async def send(self, request: ProcessRequest) -> RelayedRequest:
        """Send a request; return when the head of its response has arrived.

        Raises: ProcessUnreachable if the process has exited and nothing was sent; WireBroken, OSError; what the body raises.
        """
        # A connection that the process closes just now breaks here, and the request is not repeated (see above).
        connection = self._idle_connection() or await self.connect()
        body = request.body
        sending: asyncio.Task[None] | None = None
        try:
            if isinstance(body, bytes):
                connection.begin(request.head + body, is_head=request.is_head)
            else:
                connection.begin(request.head, is_head=request.is_head)
                if not request.is_raw:
                    sending = asyncio.ensure_future(_send(connection, body, is_chunked=request.is_chunked))
            response_head = await _head_or_error(connection, sending)
            if request.is_raw and not isinstance(body, bytes):
                if connection.reader.is_upgraded:
                    sending = asyncio.ensure_future(_splice(connection, body))
                else:
                    await _close_body(body)
        except BaseException:
            if sending is not None:
                await _stop(sending)
            connection.close()
            raise
        return RelayedRequest(connection, response_head, sending, self)

    def release(self, connection: ProcessConnection, *, is_sent: bool) -> None:
        """Take back a connection: keep it if its request was sent and its response read to the end, else close it."""
        reader = connection.reader
        is_reusable = is_sent and reader.is_complete and reader.keeps_alive and not reader.is_upgraded
        if is_reusable and connection.is_open and not self._is_closed and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all idle connections; those in use are closed as their requests end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _idle_connection(self) -> ProcessConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None


async def _head_or_error(connection: ProcessConnection, sending: asyncio.Task[None] | None) -> ResponseHead:
    """Wait for the head of the response; raise the error of the request body if sending it fails first."""
    if sending is None:
        return await connection.head()
    heading = asyncio.ensure_future(connection.head())
    try:
        await asyncio.wait({heading, sending}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not heading.done():
            error = sending.exception()
            # After WireBroken a response may still be here: the process may have answered before it closed.
            if error is not None and not isinstance(error, WireBroken):
                raise error
        return await heading
    finally:
        heading.cancel()


async def _send(connection: ProcessConnection, body: AsyncIterator[bytes], *, is_chunked: bool) -> None:
    async for piece in body:
        connection.write(http_wire.chunk(piece) if is_chunked else piece)
        await connection.flush()
    if is_chunked:
        connection.write(http_wire.LAST_CHUNK)


async def _splice(connection: ProcessConnection, body: AsyncIterator[bytes]) -> None:
    """Forward what the client sends after the upgrade; close the connection when the client has ended."""
    try:
        async for piece in body:
            connection.write(piece)
            await connection.flush()
    finally:
        connection.finish()


async def _close_body(body: AsyncIterator[bytes]) -> None:
    if (close := getattr(body, "aclose", None)) is not None:
        await close()


async def _stop(sending: asyncio.Task[None]) -> None:
    sending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([sending])
    if not sending.cancelled():
        sending.exception()  # marks the exception as retrieved: the response has arrived, or is not wanted any more
