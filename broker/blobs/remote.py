"""Store blobs in an object store (S3, Google Cloud Storage, Azure), by the library `obstore`.

A blob is written directly to its final path: a version is written once, and a row names it only after the commit. So
nothing is renamed and no byte is transferred twice. A put and the completion of a multipart upload are atomic: a
reader sees a whole blob or none. A writer that dies leaves either nothing or a blob without a row, which the sweep of
objects against rows finds. The parts of an abandoned multipart upload do not appear in a listing of blobs. S3 is
queried for them (`broker/blobs/s3_uploads.py`). For other stores, and where the S3 keys come from the machine, use a
life-cycle rule of the bucket (`AbortIncompleteMultipartUpload`, a day).

The library cannot continue a multipart upload of another process. So each append to a resumable upload is stored as
separate pieces, which are joined at the end.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import obstore
from obstore.store import ObjectStore

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobFolder, BlobPath
from broker.blobs.errors import BlobMissing, BlobStoreDown
from broker.blobs.model import BlobInfo, BlobSink, OpenBlob, ThreadRunner
from broker.blobs.remote_errors import REMOTE_ERRORS, remote_error, translate_remote_errors
from broker.blobs.remote_writing import PieceSink, RemoteSink
from broker.blobs.s3_uploads import UnfinishedUploads

if TYPE_CHECKING:  # these types of the library exist for the type checker only
    from obstore import GetOptions, GetResult

_READ = 256 * 1024
_PAGE = 1000
_DELETED = 256
"""Blobs of one request to delete, the most of Azure: several such requests at once broke the connection of its emulator."""
_LONGEST_COPY = 5 * 1024**3
"""The largest object that S3 copies in one request."""


class RemoteBlobs:
    """A bucket of an object store; implements `BlobBackend`."""

    writes_short = False

    def __init__(
        self, store: ObjectStore, begun: UnfinishedUploads | None = None, run: ThreadRunner | None = None
    ) -> None:
        self._store, self._begun, self._run = store, begun, run

    def staging_name(self, place: BlobPath) -> BlobPath:
        """Return the final path: blobs are written there directly."""
        return place

    def sink(self, name: BlobPath, limit: int) -> BlobSink:
        """Return a sink for a new blob."""
        return RemoteSink(self._store, name, limit)

    async def put_short(self, place: BlobPath, data: bytes) -> None:
        """Write a short new blob by one request."""
        await RemoteSink(self._store, place, len(data)).finish([data])

    def append_sink(self, upload: UUID, at: int) -> BlobSink:
        """Return a sink that stores an append as pieces."""
        return PieceSink(self._store, upload, at)

    async def appended(self, upload: UUID) -> list[BlobInfo]:
        """Return the pieces of an upload in order."""
        pieces = [
            piece async for piece in self.list(blob_names.upload(upload)) if piece.place.offset is not None
        ]
        return sorted(pieces, key=lambda piece: piece.place)

    @asynccontextmanager
    async def read(self, place: BlobPath, start: int, stop: int | None) -> AsyncIterator[OpenBlob]:
        """Open a blob. Stores reject a range beyond the end; here it yields no bytes."""
        result = None if stop is not None and stop <= start else await self._get(place, start, stop)
        if result is None:
            yield OpenBlob((await self.stat(place)).size, _nothing())
        else:
            yield OpenBlob(result.meta["size"], _chunks(result, place))

    async def _get(self, place: BlobPath, start: int, stop: int | None) -> "GetResult | None":
        options: GetOptions = {}
        if start or stop is not None:
            options = {"range": {"offset": start} if stop is None else (start, stop)}
        try:
            return await obstore.get_async(self._store, place.name, options=options)
        except REMOTE_ERRORS as error:
            translated = remote_error(error, "read", place)
            if options and isinstance(translated, BlobStoreDown) and start >= (await self.stat(place)).size:
                return None
            raise translated from None

    def local_path(self, place: BlobPath) -> Path | None:
        """Return None: the blob is not on the local disk."""
        return None

    @property
    def log_folder(self) -> Path | None:
        """None: short blobs are durable when the store has them."""
        return None

    async def stat(self, place: BlobPath) -> BlobInfo:
        """Return size and time of a blob."""
        with translate_remote_errors("look up", place):
            try:
                meta = await obstore.head_async(self._store, place.name)
            except FileNotFoundError:
                # A response to HEAD comes without a body and cannot name a missing bucket; a response to GET can.
                meta = (await obstore.get_async(self._store, place.name)).meta
        return BlobInfo(place, meta["size"], meta["last_modified"])

    async def promote(self, name: BlobPath, place: BlobPath) -> None:
        """Do nothing: the blob was written to its final path."""

    async def copy(self, source: BlobPath, target: BlobPath) -> bool:
        """Copy a blob inside the store; return False if it is too long for that."""
        try:
            await obstore.copy_async(self._store, source.name, target.name)
        except REMOTE_ERRORS as error:
            translated = remote_error(error, "copy", source)
            if isinstance(translated, BlobMissing) or (await self.stat(source)).size <= _LONGEST_COPY:
                raise translated from None
            return False
        return True

    async def delete(self, places: Sequence[BlobPath]) -> None:
        """Delete blobs, several in one request where the store can."""
        for start in range(0, len(places), _DELETED):
            await self._delete_together(places[start : start + _DELETED])

    async def _delete_together(self, places: Sequence[BlobPath]) -> None:
        with translate_remote_errors("delete"):
            try:
                await obstore.delete_async(self._store, [place.name for place in places])
                return
            except FileNotFoundError:
                pass  # some stores stop at the first missing blob
        for place in places:
            with suppress(BlobMissing), translate_remote_errors("delete", place):
                await obstore.delete_async(self._store, place.name)

    async def delete_folder(self, folder: BlobFolder) -> None:
        """Delete all blobs with a prefix, a page at a time."""
        page: list[BlobPath] = []
        async for info in self.list(folder):
            page.append(info.place)
            if len(page) == _PAGE:
                await self.delete(page)
                page = []
        if page:
            await self.delete(page)

    async def list(self, folder: BlobFolder) -> AsyncIterator[BlobInfo]:
        """Yield all blobs with a prefix, read a page at a time."""
        with translate_remote_errors("list"):
            async for page in obstore.list(self._store, f"{folder.name}/", chunk_size=_PAGE):
                for meta in page:
                    place = blob_names.parse_path(meta["path"])
                    if place is not None:
                        yield BlobInfo(place, meta["size"], meta["last_modified"])

    async def abort_unfinished(self, older_than: datetime) -> int:
        """Abort multipart uploads whose writer is dead, where the store can list them."""
        if self._begun is None or self._run is None:
            return 0
        with translate_remote_errors("list"):
            return await self._run(self._begun.abort, older_than)

    async def check(self) -> None:
        """List one page of the staging folder, which is empty here."""
        async for _ in self.list(blob_names.STAGING):
            break

    async def close(self) -> None:
        """Do nothing: every blob is finished by its own writer."""


async def _chunks(result: "GetResult", place: BlobPath) -> AsyncIterator[bytes]:
    with translate_remote_errors("read", place):
        async for chunk in result.stream(min_chunk_size=_READ):
            yield bytes(chunk)


async def _nothing() -> AsyncIterator[bytes]:
    empty: tuple[bytes, ...] = ()
    for chunk in empty:
        yield chunk
