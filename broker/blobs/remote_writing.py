"""Writing to an outside object store: one put where that is enough, else a multipart upload of equal parts.

A multipart upload is fed through an iterator that the library pulls; when the iterator fails, the library tells the
store to forget the parts. (Its own writer object would leave them, or complete the blob.) Parts are as small as S3
allows, and two are under way at most: a writer holds 15 MiB beside its piece.
"""

import asyncio
import enum
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID, uuid4

import obstore
from obstore.store import ObjectStore

from broker.blobs import blob_names
from broker.blobs.blob_names import Place
from broker.blobs.errors import REMOTE_ERRORS, BlobError, remote_errors

LEAST_PART = 5 * 1024 * 1024
LONGEST_PIECE = 64 * 1024 * 1024
"""What a dead process may lose of an append; shorter pieces would cost more requests."""
_MOST_PARTS = 10_000
_AT_ONCE = 2


class _End(enum.Enum):
    """What follows the last piece."""

    DONE = enum.auto()
    GIVEN_UP = enum.auto()


class _GivenUp(Exception):
    """The writer has left."""


class RemoteSink:
    """A blob that is put; `Sink`."""

    def __init__(self, store: ObjectStore, name: Place, limit: int) -> None:
        self._store, self._name = store, name
        self._part_size = max(LEAST_PART, -(-limit // _MOST_PARTS))
        self._held: list[bytes] = []
        self._held_size = 0
        self._coming: asyncio.Queue[bytes | _End] = asyncio.Queue(1)
        self._upload: asyncio.Task[None] | None = None
        self._is_sent = False

    async def write(self, piece: bytes) -> None:
        """Hold a piece until there is a part, then send."""
        if self._upload is not None:
            await self._feed(self._upload, piece)
            return
        self._held.append(piece)
        self._held_size += len(piece)
        if self._held_size > self._part_size:
            self._is_sent = True
            self._upload = asyncio.create_task(self._put_parts())

    async def finish(self, last: bytes, place: Place | None = None) -> None:
        """Send the rest, and wait until the store has the blob: it is written where it shall lie."""
        self._is_sent = True
        if self._upload is None:
            await self._put(b"".join([*self._held, last]))
            return
        if last:
            await self._feed(self._upload, last)
        await self._feed(self._upload, _End.DONE)
        await self._upload

    async def abort(self) -> None:
        """Have the store forget the parts; and the blob, if it was too late for that."""
        if self._upload is not None:
            if self._coming.full():
                self._coming.get_nowait()
            self._coming.put_nowait(_End.GIVEN_UP)
            with suppress(BlobError, _GivenUp):
                await self._upload
        if self._is_sent:
            with suppress(*REMOTE_ERRORS):
                await obstore.delete_async(self._store, self._name.name)

    async def _feed(self, upload: asyncio.Task[None], item: bytes | _End) -> None:
        """Hand the next item to the upload. Raises: what the upload has failed with."""
        putting = asyncio.ensure_future(self._coming.put(item))
        await asyncio.wait({putting, upload}, return_when=asyncio.FIRST_COMPLETED)
        if not putting.done():
            putting.cancel()
            await upload

    async def _put(self, whole: bytes) -> None:
        self._held.clear()
        with remote_errors("write"):
            await obstore.put_async(self._store, self._name.name, whole, use_multipart=False)

    async def _put_parts(self) -> None:
        with remote_errors("write"):
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
        while (item := await self._coming.get()) is not _End.DONE:
            if item is _End.GIVEN_UP:
                raise _GivenUp
            yield item


class PieceSink:
    """What is appended to an upload, as blobs of their own; `Sink`. What is aborted keeps the pieces that are whole."""

    def __init__(self, store: ObjectStore, upload: UUID, at: int) -> None:
        self._store, self._id, self._at = store, upload, at
        self._writer = uuid4()
        self._current: RemoteSink | None = None
        self._size = 0

    async def write(self, piece: bytes) -> None:
        """Write to the blob in hand; end it when it is long."""
        current = self._begun()
        await current.write(piece)
        self._at += len(piece)
        self._size += len(piece)
        if self._size >= LONGEST_PIECE:
            await self._end(current, b"")

    async def finish(self, last: bytes, place: Place | None = None) -> None:
        """End the blob in hand."""
        if last or self._current is not None:
            await self._end(self._begun(), last)

    async def abort(self) -> None:
        """Forget the blob in hand."""
        if self._current is not None:
            await self._current.abort()

    def _begun(self) -> RemoteSink:
        if self._current is None:
            self._size = 0
            name = blob_names.piece(self._id, self._at, self._writer)
            self._current = RemoteSink(self._store, name, LONGEST_PIECE)
        return self._current

    async def _end(self, current: RemoteSink, last: bytes) -> None:
        await current.finish(last)
        self._current = None
