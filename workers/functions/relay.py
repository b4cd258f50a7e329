"""The way to a function's process and back: a request over its unix socket, the answer as it is made.

    ask --> head and body are written while the answer is read --> Exchange: its head, then its pieces

- A body is written as it arrives, and no faster than the process takes it; of an answer no more is read ahead than
  `_HIGH_WATER` bytes: memory stays flat in both directions. The first piece of an answer leaves at once.
- An exchange that is closed before its end closes the connection: the function sees its request aborted.
- A connection whose answer was read to its end is used again. One that ended before its head came is not asked twice:
  nobody knows what the function has done.
- After 101 both directions are bytes: what comes in as the request's body goes to the process as it is.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import cast

from workers.functions import http_wire
from workers.functions.http_wire import AnswerReader, Head, WireBroken

_HIGH_WATER = 256 * 1024
_CONNECT_S = 5.0
_MOST_RESTING = 32


class Unreached(Exception):
    """Nobody listens any more: the request was not sent, and may be sent elsewhere."""


class Wire(asyncio.Protocol):
    """One connection to a process. `progress` is called whenever bytes arrive."""

    def __init__(self, progress: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._progress = progress
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._heard: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._broken: WireBroken | None = None
        self._is_paused = False

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._transport is not None and self._broken is None

    @property
    def reader(self) -> AnswerReader:
        """Give what reads the answer that is awaited."""
        assert self._reader is not None
        return self._reader

    def begin(self, head: bytes, *, is_head: bool) -> None:
        """Write the head of a request, and read an answer from now on."""
        self._reader = AnswerReader(is_head=is_head)
        self._pieces.clear()
        self._waiting = 0
        self.write(head)

    def write(self, data: bytes) -> None:
        """Write bytes. Raises: WireBroken if the connection is over."""
        if self._transport is None:
            raise self._broken or WireBroken("the connection is over")
        self._transport.write(data)

    async def flush(self) -> None:
        """Wait until the process has taken most of what was written. Raises: WireBroken."""
        if self._writable is not None:
            await asyncio.shield(self._writable)
        if self._transport is None:
            raise self._broken or WireBroken("the connection is over")

    async def head(self) -> Head:
        """Wait for the head of the answer. Raises: WireBroken."""
        while self.reader.head is None:
            await self._wait()
        return self.reader.head

    async def piece(self) -> bytes:
        """Wait for a piece of the body; an empty one is its end. Raises: WireBroken."""
        while not self._pieces:
            if self.reader.is_complete:
                return b""
            await self._wait()
        piece = self._pieces.popleft()
        self._waiting -= len(piece)
        if self._is_paused and self._waiting < _HIGH_WATER and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def pieces_here(self) -> bytes:
        """Give what has arrived of the body."""
        here = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        return here

    def close(self) -> None:
        """End the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def finish(self) -> None:
        """End the connection when all is written."""
        if self._transport is not None:
            self._transport.close()

    async def _wait(self) -> None:
        if self._broken is not None:
            raise self._broken
        self._heard = self._loop.create_future()
        try:
            await self._heard
        finally:
            self._heard = None

    def _wake(self) -> None:
        if self._heard is not None and not self._heard.done():
            self._heard.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class

    def data_received(self, data: bytes) -> None:
        self._progress()
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
            self._waiting += len(piece)
        if self._waiting >= _HIGH_WATER and not self._is_paused and self._transport is not None:
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
        self._broken = self._broken or WireBroken("the connection is over")
        self.resume_writing()
        self._wake()

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None


class Exchange:
    """A request that is under way and its answer. Close it, whatever happened."""

    def __init__(self, wire: Wire, head: Head, sending: asyncio.Task[None] | None, rest: "Relay") -> None:
        self.head = head
        self._wire = wire
        self._sending = sending
        self._relay = rest

    def whole(self) -> bytes | None:
        """Give the body if all of it is here; the exchange is over then."""
        if not self._wire.reader.is_complete:
            return None
        return self._wire.pieces_here()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Give the body as it is made. Raises: WireBroken."""
        while piece := await self._wire.piece():
            yield piece

    async def close(self) -> None:
        """End it. Its connection is kept for another if the answer was read to its end, and cut else."""
        is_sent = self._sending is None or self._sending.done()
        if self._sending is not None:
            await _stop(self._sending)
        self._relay.give_back(self._wire, is_sent=is_sent)


class Relay:
    """The connections to one process, by the path of its socket."""

    def __init__(self, path: str, progress: Callable[[], None]) -> None:
        self._path = path
        self._progress = progress
        self._resting: list[Wire] = []
        self._is_closed = False

    async def connect(self) -> Wire:
        """Open a connection. Raises: Unreached, OSError, TimeoutError."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT_S):
            try:
                _, wire = await loop.create_unix_connection(lambda: Wire(self._progress), self._path)
            except (ConnectionRefusedError, FileNotFoundError):
                raise Unreached from None
        return wire

    async def ask(
        self,
        head: bytes,
        body: bytes | AsyncIterator[bytes],
        *,
        is_head: bool,
        is_chunked: bool,
        is_raw: bool,
    ) -> Exchange:
        """Send a request, and give its answer as soon as its head is there. `is_raw`: the body follows 101 as it is.

        Raises: Unreached if the process is gone and was asked nothing; WireBroken, OSError; what the body raises.
        """
        wire = self._take() or await self.connect()
        sending: asyncio.Task[None] | None = None
        try:
            if isinstance(body, bytes):
                wire.begin(head + body, is_head=is_head)
            else:
                wire.begin(head, is_head=is_head)
                if not is_raw:
                    sending = asyncio.ensure_future(_send(wire, body, is_chunked=is_chunked))
            answer = await _head_or_failure(wire, sending)
            if is_raw and not isinstance(body, bytes):
                if wire.reader.is_upgraded:
                    sending = asyncio.ensure_future(_splice(wire, body))
                else:
                    await _dismiss(body)
        except BaseException:
            if sending is not None:
                await _stop(sending)
            wire.close()
            raise
        return Exchange(wire, answer, sending, self)

    def give_back(self, wire: Wire, *, is_sent: bool) -> None:
        """Take a connection whose exchange is over."""
        reader = wire.reader
        may_rest = is_sent and reader.is_complete and reader.keeps_alive and not reader.is_upgraded
        if may_rest and wire.is_open and not self._is_closed and len(self._resting) < _MOST_RESTING:
            self._resting.append(wire)
        else:
            wire.close()

    def close(self) -> None:
        """Cut all connections at rest; those in use are cut as their exchanges end."""
        self._is_closed = True
        while self._resting:
            self._resting.pop().close()

    def _take(self) -> Wire | None:
        while self._resting:
            wire = self._resting.pop()
            if wire.is_open:
                return wire
        return None


async def _head_or_failure(wire: Wire, sending: asyncio.Task[None] | None) -> Head:
    """Wait for the head of an answer, no longer than the body can be sent."""
    if sending is None:
        return await wire.head()
    heading = asyncio.ensure_future(wire.head())
    try:
        await asyncio.wait({heading, sending}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not heading.done():
            error = sending.exception()
            if error is not None and not isinstance(
                error, WireBroken
            ):  # the process may have answered before it closed
                raise error
        return await heading
    finally:
        heading.cancel()


async def _send(wire: Wire, body: AsyncIterator[bytes], *, is_chunked: bool) -> None:
    async for piece in body:
        wire.write(http_wire.chunk(piece) if is_chunked else piece)
        await wire.flush()
    if is_chunked:
        wire.write(http_wire.LAST_CHUNK)


async def _splice(wire: Wire, body: AsyncIterator[bytes]) -> None:
    """Pass on what the client says after the upgrade; when it has ended, so has the connection."""
    try:
        async for piece in body:
            wire.write(piece)
            await wire.flush()
    finally:
        wire.finish()


async def _dismiss(body: AsyncIterator[bytes]) -> None:
    if (close := getattr(body, "aclose", None)) is not None:
        await close()


async def _stop(sending: asyncio.Task[None]) -> None:
    sending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([sending])
    if not sending.cancelled():
        sending.exception()  # seen: the answer is there, or nobody waits for it
