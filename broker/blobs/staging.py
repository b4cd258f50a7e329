"""Write a blob: collect chunks of any size into pieces of one MiB, hash them and pass them to the sink, without joining them.

    write(chunk) -> collected -> [ piece ] -> MD5 and sink at the same time, in threads
                                     ^ one piece in flight while the next one is collected

Every piece but the last one has the same size, so its place in the file is aligned: the kernel keeps it in few large parts of
its page cache, and sends it in less time (100 MB: 13 ms of CPU, 16 where pieces lie across).

So a writer holds two pieces, however long the blob is. A piece in flight is never cancelled, because a thread cannot
be: a writer that aborts waits for it, then the sink releases what it holds.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobTooLarge
from broker.blobs.model import BlobSink, Piece, StagedBlob, ThreadRunner

PIECE = 1024 * 1024
_INLINE = 64 * 1024
"""Up to this size hashing takes less than 0.1 ms and is done without a thread."""
_MOST_CHUNKS = 64
"""Chunks of a piece that are hashed and written as they are: each costs a turn of Python's lock. The kernel takes 1024."""


class Md5:
    """A running MD5, which another writer may continue."""

    def __init__(self) -> None:
        self._state = hashlib.md5(usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        """Add a piece."""
        self._state.update(piece)

    def update_all(self, piece: Piece) -> None:
        """Add all chunks of a piece."""
        for chunk in piece:
            self._state.update(chunk)

    @property
    def hex(self) -> str:
        """Return the hash of all pieces so far, in hexadecimal digits."""
        return self._state.hexdigest()


class PiecePipe:
    """Collects chunks into pieces, hashes them, and writes them to a sink."""

    def __init__(self, sink: BlobSink, run: ThreadRunner, limit: int, md5: Md5 | None) -> None:
        self.size = 0
        """Bytes received."""
        self.md5 = md5
        self._sink, self._run, self._limit = sink, run, limit
        self._held: deque[bytes | memoryview] = deque()
        self._held_size = 0
        self._flight: asyncio.Future[None] | None = None

    async def write(self, chunk: bytes) -> None:
        """Add a chunk. Raises: BlobTooLarge; BlobStoreDown, also for an earlier chunk."""
        if self.size + len(chunk) > self._limit:
            raise BlobTooLarge(self._limit)
        self.size += len(chunk)
        self._held.append(chunk)
        self._held_size += len(chunk)
        while self._held_size >= PIECE:
            await (
                self._settled()
            )  # a writer that is cancelled here has lost nothing: `finish` writes all that is held
            self._flight = asyncio.ensure_future(self._send(self._piece(PIECE)))

    async def finish(self, place: BlobPath | None = None) -> None:
        """Write the rest, and wait until everything is durable; at the final path, if one is given."""
        await self._settled()
        self._flight = asyncio.ensure_future(self._send_last(self._piece(self._held_size), place))
        await self._settled()

    async def abort(self) -> None:
        """Wait for the piece in flight, then abort the sink."""
        self._held.clear()
        await asyncio.shield(asyncio.ensure_future(self._abort()))

    async def _settled(self) -> None:
        if self._flight is not None:
            await asyncio.shield(self._flight)
            self._flight = None  # a failed piece stays, so that every later call raises its error

    def _piece(self, size: int) -> Piece:
        """Take the first bytes of those that are held. Many short chunks are joined, and those for a sink that has to join them."""
        taken: list[bytes | memoryview] = []
        self._held_size -= size
        while size:
            chunk = self._held.popleft()
            if len(chunk) > size:
                whole = memoryview(chunk)
                self._held.appendleft(whole[size:])
                chunk = whole[:size]
            taken.append(chunk)
            size -= len(chunk)
        takes_chunks = self._sink.has_thread and len(taken) <= _MOST_CHUNKS
        return taken if takes_chunks else [b"".join(taken)]  # here, so that the chunks are freed

    async def _send(self, piece: Piece) -> None:
        await asyncio.gather(self._sink.write(piece), self._hash(piece))

    async def _send_last(self, piece: Piece, place: BlobPath | None) -> None:
        if self.md5 is None or not self._sink.has_thread or _is_short(piece):
            await self._hash(piece)
            await self._sink.finish(piece, place)
        else:  # hashed in the thread that writes: a thread less to wait for
            await self._sink.finish(piece, place, partial(self.md5.update_all, piece))

    async def _hash(self, piece: Piece) -> None:
        if self.md5 is not None and _is_short(piece):
            self.md5.update_all(piece)
        elif self.md5 is not None:
            await self._run(self.md5.update_all, piece)

    async def _abort(self) -> None:
        if self._flight is not None:
            await asyncio.wait([self._flight])
            if not self._flight.cancelled():
                self._flight.exception()  # mark it as retrieved: the writer has already got it
        await self._sink.abort()


def _is_short(piece: Piece) -> bool:
    return sum(map(len, piece)) <= _INLINE


class BlobWriter:
    """Writes one blob. As a context manager it aborts a blob that was not finished."""

    def __init__(self, pipe: PiecePipe, md5: Md5, name: BlobPath, place: BlobPath) -> None:
        self._pipe, self._md5, self._name, self._place = pipe, md5, name, place
        self._is_open = True

    @property
    def size(self) -> int:
        """Return the bytes received so far."""
        return self._pipe.size

    async def write(self, chunk: bytes) -> None:
        """Add a chunk, which must not change afterwards. Raises: BlobTooLarge, BlobStoreDown."""
        await self._pipe.write(chunk)

    async def finish(self) -> StagedBlob:
        """Wait until all bytes are durable; return the blob, ready for `promote`. Raises: BlobStoreDown."""
        await self._pipe.finish()
        self._is_open = False
        return StagedBlob(self._place, self._name, self._pipe.size, self._md5.hex)

    async def finish_in_place(self) -> StagedBlob:
        """Finish and promote in one step, which is cheaper for a short blob. Raises: BlobStoreDown.

        After a failure, or if the caller is cancelled, `abort` removes the blob from its final path.
        """
        await self._pipe.finish(self._place)
        self._is_open = False
        return StagedBlob(self._place, self._place, self._pipe.size, self._md5.hex)

    async def abort(self) -> None:
        """Remove everything that was written. A finished blob is not changed."""
        if self._is_open:
            self._is_open = False
            await self._pipe.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.abort()


class UploadAppender:
    """Appends to an upload. As a context manager it keeps the received bytes, even when its writer failed."""

    def __init__(self, pipe: PiecePipe, at: int, closed: Callable[[int, Md5 | None], None]) -> None:
        self._pipe, self._at, self._closed = pipe, at, closed
        self._is_open = True

    @property
    def offset(self) -> int:
        """Return the end of the upload with all received bytes."""
        return self._at + self._pipe.size

    async def write(self, chunk: bytes) -> None:
        """Add a chunk, which must not change afterwards. Raises: BlobTooLarge, BlobStoreDown."""
        await self._pipe.write(chunk)

    async def close(self) -> int:
        """Wait until the received bytes are durable; return the end of the upload. Raises: BlobStoreDown; then see `appended`."""
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
