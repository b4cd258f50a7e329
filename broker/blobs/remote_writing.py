"""Write to an object store: a single put if that is enough, otherwise a multipart upload of equal parts.

The library pulls the bytes of a multipart upload from an iterator. When the iterator raises, the library aborts the
upload in the store. (Its own writer object would leave the parts, or complete the blob.) Parts are as small as S3
allows, and at most two are sent at a time: a writer holds 15 MiB in addition to its piece.
"""

import asyncio
import enum
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from uuid import UUID, uuid4

import obstore
from obstore.store import ObjectStore

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobError
from broker.blobs.model import Piece
from broker.blobs.remote_errors import REMOTE_ERRORS, translate_remote_errors

LEAST_PART = 5 * 1024 * 1024
LONGEST_PIECE = 64 * 1024 * 1024
"""The bytes of an append that a dying process may lose; shorter pieces would cost more requests."""
_MOST_PARTS = 10_000
_AT_ONCE = 2


class _PartsEnd(enum.Enum):
    """What follows the last piece."""

    DONE = enum.auto()
    GIVEN_UP = enum.auto()


class _GivenUp(Exception):
    """The writer has aborted the upload."""


class RemoteSink:
    """A new blob; implements `BlobSink`."""

    has_thread = False

    def __init__(self, store: ObjectStore, name: BlobPath, limit: int) -> None:
        self._store, self._name = store, name
        self._part_size = max(LEAST_PART, -(-limit // _MOST_PARTS))
        self._held: list[bytes] = []
        self._held_size = 0
        self._coming: asyncio.Queue[bytes | _PartsEnd] = asyncio.Queue(1)
        self._upload: asyncio.Task[None] | None = None
        self._is_sent = False

    async def write(self, piece: Piece) -> None:
        """Collect pieces until they fill a part, then start the multipart upload."""
        whole = b"".join(piece)
        if self._upload is not None:
            await self._feed(self._upload, whole)
            return
        self._held.append(whole)
        self._held_size += len(whole)
        if self._held_size > self._part_size:
            self._is_sent = True
            self._upload = asyncio.create_task(self._put_parts())

    async def finish(
        self, last: Piece, place: BlobPath | None = None, first: Callable[[], object] | None = None
    ) -> None:
        """Send the rest, and wait until the store has the blob. `place` is ignored: the blob is written to its final path."""
        self._is_sent = True
        if self._upload is None:
            await self._put(b"".join([*self._held, *last]))
            return
        if last:
            await self._feed(self._upload, b"".join(last))
        await self._feed(self._upload, _PartsEnd.DONE)
        await self._upload

    async def abort(self) -> None:
        """Abort the upload in the store, and delete the blob if it was already complete."""
        if self._upload is not None:
            if self._coming.full():
                self._coming.get_nowait()
            self._coming.put_nowait(_PartsEnd.GIVEN_UP)
            with suppress(BlobError, _GivenUp):
                await self._upload
        if self._is_sent:
            with suppress(*REMOTE_ERRORS):
                await obstore.delete_async(self._store, self._name.name)

    async def _feed(self, upload: asyncio.Task[None], item: bytes | _PartsEnd) -> None:
        """Pass the next item to the upload. Raises: the error of the upload."""
        putting = asyncio.ensure_future(self._coming.put(item))
        await asyncio.wait({putting, upload}, return_when=asyncio.FIRST_COMPLETED)
        if not putting.done():
            putting.cancel()
            await upload

    async def _put(self, whole: bytes) -> None:
        self._held.clear()
        with translate_remote_errors("write"):
            await obstore.put_async(self._store, self._name.name, whole, use_multipart=False)

    async def _put_parts(self) -> None:
        with translate_remote_errors("write"):
            await obstore.put_async(
                self._store,
                self._name.name,
                self._pieces(),
                use_multipart=True,
                chunk_size=self._part_size,
                max_concurrency=_AT_ONCE,
            )

    async def _pieces(self) -> AsyncIterator[bytes]:
        held, self._held = self._held, []
        while held:
            yield held.pop(0)
        while (item := await self._coming.get()) is not _PartsEnd.DONE:
            if item is _PartsEnd.GIVEN_UP:
                raise _GivenUp
            yield item


class PieceSink:
    """Stores appended bytes as separate blobs; implements `BlobSink`. An aborted one keeps its complete pieces."""

    has_thread = False

    def __init__(self, store: ObjectStore, upload: UUID, at: int) -> None:
        self._store, self._id, self._at = store, upload, at
        self._writer = uuid4()
        self._current: RemoteSink | None = None
        self._size = 0

    async def write(self, piece: Piece) -> None:
        """Write to the current blob; finish it when it is long."""
        current, size = self._open_piece(), sum(map(len, piece))
        await current.write(piece)
        self._at += size
        self._size += size
        if self._size >= LONGEST_PIECE:
            await self._end(current, ())

    async def finish(
        self, last: Piece, place: BlobPath | None = None, first: Callable[[], object] | None = None
    ) -> None:
        """Finish the current blob."""
        if last or self._current is not None:
            await self._end(self._open_piece(), last)

    async def abort(self) -> None:
        """Abort the current blob."""
        if self._current is not None:
            await self._current.abort()

    def _open_piece(self) -> RemoteSink:
        if self._current is None:
            self._size = 0
            name = blob_names.piece(self._id, self._at, self._writer)
            self._current = RemoteSink(self._store, name, LONGEST_PIECE)
        return self._current

    async def _end(self, current: RemoteSink, last: Piece) -> None:
        await current.finish(last)
        self._current = None
