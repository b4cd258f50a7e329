"""Writing: chunks of any size in, pieces of half a MiB out, hashed and counted on the way.

    write(chunk) -> collected -> [ piece ] -> MD5 and sink at the same time, in threads
                                     ^ one piece in flight while the next one is collected

So a writer holds two pieces, however long the blob is. A piece in flight is never cancelled (a thread cannot be): who
leaves early waits for it, then the sink lets go of what it holds.
"""

import asyncio
import hashlib
from collections.abc import Callable
from types import TracebackType
from typing import Self

from broker.blobs.blob_names import Place
from broker.blobs.errors import BlobTooLarge
from broker.blobs.model import Run, Sink, Staged

PIECE = 512 * 1024
_INLINE = 64 * 1024
"""Up to here a hash is not worth a thread: 0.1 ms."""


class Md5:
    """A running MD5, which may go on in another writer."""

    def __init__(self) -> None:
        self._state = hashlib.md5(usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        """Take a piece."""
        self._state.update(piece)

    @property
    def hex(self) -> str:
        """Give the hash of all pieces so far."""
        return self._state.hexdigest()


class Pipe:
    """What lies between a writer and a sink."""

    def __init__(self, sink: Sink, run: Run, limit: int, md5: Md5 | None) -> None:
        self.size = 0
        """Bytes taken."""
        self.md5 = md5
        self._sink, self._run, self._limit = sink, run, limit
        self._held: list[bytes] = []
        self._held_size = 0
        self._flight: asyncio.Future[None] | None = None

    async def write(self, chunk: bytes) -> None:
        """Take a chunk. Raises: BlobTooLarge; BlobStoreDown, also for an earlier chunk."""
        if self.size + len(chunk) > self._limit:
            raise BlobTooLarge(self._limit)
        self.size += len(chunk)
        self._held.append(chunk)
        self._held_size += len(chunk)
        if self._held_size >= PIECE:
            await self._settled()
            self._flight = asyncio.ensure_future(self._send(self._piece()))

    async def finish(self, place: Place | None = None) -> None:
        """Send the rest, and wait until all is safe; at its place, if one is named."""
        await self._settled()
        self._flight = asyncio.ensure_future(self._send_last(self._piece(), place))
        await self._settled()

    async def abort(self) -> None:
        """Wait for the piece in flight, and let go."""
        self._held.clear()
        await asyncio.shield(asyncio.ensure_future(self._let_go()))

    async def _settled(self) -> None:
        if self._flight is not None:
            await asyncio.shield(self._flight)
            self._flight = None  # a failed one stays: it fails every later call

    def _piece(self) -> bytes:
        piece = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held, self._held_size = [], 0
        return piece

    async def _send(self, piece: bytes) -> None:
        await asyncio.gather(self._sink.write(piece), self._hash(piece))

    async def _send_last(self, piece: bytes, place: Place | None) -> None:
        await self._hash(piece)
        await self._sink.finish(piece, place)

    async def _hash(self, piece: bytes) -> None:
        if self.md5 is not None and len(piece) <= _INLINE:
            self.md5.update(piece)
        elif self.md5 is not None:
            await self._run(self.md5.update, piece)

    async def _let_go(self) -> None:
        if self._flight is not None:
            await asyncio.wait([self._flight])
            if not self._flight.cancelled():
                self._flight.exception()  # told to who wrote; here only that nobody may miss it
        await self._sink.abort()


class Staging:
    """A blob that is being written. As a context manager it aborts what was not finished."""

    def __init__(self, pipe: Pipe, md5: Md5, name: Place, place: Place) -> None:
        self._pipe, self._md5, self._name, self._place = pipe, md5, name, place
        self._is_open = True

    @property
    def size(self) -> int:
        """Give the bytes taken so far."""
        return self._pipe.size

    async def write(self, chunk: bytes) -> None:
        """Take a chunk, which must not change afterwards. Raises: BlobTooLarge, BlobStoreDown."""
        await self._pipe.write(chunk)

    async def finish(self) -> Staged:
        """Wait until all bytes are safe; give what can be promoted. Raises: BlobStoreDown."""
        await self._pipe.finish()
        self._is_open = False
        return Staged(self._place, self._name, self._pipe.size, self._md5.hex)

    async def finish_in_place(self) -> Staged:
        """Do what `finish` and `promote` do, in one step: less work for a short blob. Raises: BlobStoreDown.

        After a failure, or if the caller leaves meanwhile, `abort` sees to it that nothing lies at the place.
        """
        await self._pipe.finish(self._place)
        self._is_open = False
        return Staged(self._place, self._place, self._pipe.size, self._md5.hex)

    async def abort(self) -> None:
        """Leave nothing behind. What was finished is not touched."""
        if self._is_open:
            self._is_open = False
            await self._pipe.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.abort()


class Appending:
    """More bytes for an upload. As a context manager it keeps what came, also when its writer failed."""

    def __init__(self, pipe: Pipe, at: int, closed: Callable[[int, Md5 | None], None]) -> None:
        self._pipe, self._at, self._closed = pipe, at, closed
        self._is_open = True

    @property
    def offset(self) -> int:
        """Give where the upload ends with all that was taken."""
        return self._at + self._pipe.size

    async def write(self, chunk: bytes) -> None:
        """Take a chunk, which must not change afterwards. Raises: BlobTooLarge, BlobStoreDown."""
        await self._pipe.write(chunk)

    async def close(self) -> int:
        """Wait until what came is safe; give where the upload ends. Raises: BlobStoreDown; then ask `appended`."""
        if self._is_open:
            self._is_open = False
            try:
                await self._pipe.finish()
            except BaseException:
                await self._pipe.abort()
                raise
            self._closed(self.offset, self._pipe.md5)
        return self.offset

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
