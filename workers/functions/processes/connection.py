"""One connection to a process, as an asyncio protocol: writes requests, buffers the response up to a limit.

Flow control works through the transport: reading is paused while `_HIGH_WATER` bytes of the response wait to be taken
(`pause_reading`), and `flush` waits while the transport has too much to write (`pause_writing`). Every byte that arrives is
reported (`on_bytes`): it is the sign that the process is alive.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from workers.functions.processes.http_wire import ResponseHead, ResponseReader, WireBroken

_HIGH_WATER = 256 * 1024


class ProcessConnection(asyncio.Protocol):
    """One connection to a process. `on_bytes` is called whenever bytes arrive."""

    def __init__(self, on_bytes: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_bytes = on_bytes
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._pieces: deque[bytes] = deque()
        self._buffered = 0
        self._arrival: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._broken: WireBroken | None = None
        self._is_paused = False

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._transport is not None and self._broken is None

    @property
    def reader(self) -> ResponseReader:
        """The parser of the response that is awaited."""
        assert self._reader is not None
        return self._reader

    def begin(self, head: bytes, *, is_head: bool) -> None:
        """Write the head of a request and start to parse its response."""
        self._reader = ResponseReader(is_head=is_head)
        self._pieces.clear()
        self._buffered = 0
        self.write(head)

    def write(self, data: bytes) -> None:
        """Write bytes. Raises: WireBroken if the connection is closed."""
        if self._transport is None:
            raise self._broken or WireBroken("the connection is closed")
        self._transport.write(data)

    async def flush(self) -> None:
        """Wait until the process has read most of what was written. Raises: WireBroken."""
        if self._writable is not None:
            await asyncio.shield(self._writable)
        if self._transport is None:
            raise self._broken or WireBroken("the connection is closed")

    async def head(self) -> ResponseHead:
        """Wait for the head of the response. Raises: WireBroken."""
        while self.reader.head is None:
            await self._wait()
        return self.reader.head

    async def piece(self) -> bytes:
        """Wait for a piece of the body; an empty piece is its end. Raises: WireBroken."""
        while not self._pieces:
            if self.reader.is_complete:
                return b""
            await self._wait()
        piece = self._pieces.popleft()
        self._buffered -= len(piece)
        if self._is_paused and self._buffered < _HIGH_WATER and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def take_buffered(self) -> bytes:
        """Return and drop the part of the body that has arrived."""
        body = b"".join(self._pieces)
        self._pieces.clear()
        self._buffered = 0
        return body

    def close(self) -> None:
        """Close the connection at once; bytes that are not yet written are dropped."""
        if self._transport is not None:
            self._transport.abort()

    def finish(self) -> None:
        """Close the connection when all bytes are written."""
        if self._transport is not None:
            self._transport.close()

    async def _wait(self) -> None:
        if self._broken is not None:
            raise self._broken
        self._arrival = self._loop.create_future()
        try:
            await self._arrival
        finally:
            self._arrival = None

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast: uvloop's transport has the interface but not the class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._on_bytes()
        if self._reader is None:
            self.close()
            return
        try:
            pieces = self._reader.feed(data)
        except WireBroken as broken:
            self._broken = broken
            self.close()
            self._wake()
            return
        for piece in pieces:
            self._pieces.append(piece)
            self._buffered += len(piece)
        if self._buffered >= _HIGH_WATER and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._reader is not None and self._broken is None:
            try:
                self._reader.end()
            except WireBroken as broken:
                self._broken = broken
        self._broken = self._broken or WireBroken("the connection is closed")
        self.resume_writing()
        self._wake()

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None
