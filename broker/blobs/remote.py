"""Blobs in an outside object store (S3, Google Cloud Storage, Azure), by the library `obstore`.

A blob is written straight to its own name: a version is written once, and no row names it before the commit, so there
is nothing to rename and no byte travels twice. A put or the end of a multipart upload is atomic: a reader sees a whole
blob or none. A writer that dies leaves either nothing or a blob that no row names; the sweep of objects against rows
finds it. The begun parts of a dead multipart upload are in no listing of blobs: S3 is asked for them (blobs_s3_uploads.py);
elsewhere, and where the keys of S3 come from the machine, let the bucket's life-cycle rule drop them
(`AbortIncompleteMultipartUpload`, a day).

The library cannot go on with a multipart upload of another process, so each append to a resumable upload becomes pieces
of its own, which are joined at the end.
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
from broker.blobs.blob_names import Folder, Place
from broker.blobs.errors import REMOTE_ERRORS, BlobMissing, BlobStoreDown, remote_error, remote_errors
from broker.blobs.model import Found, Reading, Run, Sink
from broker.blobs.remote_writing import PieceSink, RemoteSink
from broker.blobs.s3_uploads import BegunUploads

if TYPE_CHECKING:  # these types of the library exist for the type checker only
    from obstore import GetOptions, GetResult

_READ = 256 * 1024
_PAGE = 1000
_LONGEST_COPY = 5 * 1024**3
"""What S3 copies by itself."""


class RemoteBlobs:
    """A bucket of an outside store; `Backend`."""

    def __init__(self, store: ObjectStore, begun: BegunUploads | None = None, run: Run | None = None) -> None:
        self._store, self._begun, self._run = store, begun, run

    def staging_name(self, place: Place) -> Place:
        """Write a blob where it shall lie."""
        return place

    def sink(self, name: Place, limit: int) -> Sink:
        """Begin a blob."""
        return RemoteSink(self._store, name, limit)

    def append_sink(self, upload: UUID, at: int) -> Sink:
        """Begin pieces of an upload."""
        return PieceSink(self._store, upload, at)

    async def appended(self, upload: UUID) -> list[Found]:
        """List the pieces of an upload, in their order."""
        pieces = [
            each async for each in self.list(blob_names.upload(upload)) if each.place.offset is not None
        ]
        return sorted(pieces, key=lambda each: each.place)

    @asynccontextmanager
    async def read(self, place: Place, start: int, stop: int | None) -> AsyncIterator[Reading]:
        """Open a blob. Where a range has no byte, stores refuse it; here it is empty."""
        result = None if stop is not None and stop <= start else await self._get(place, start, stop)
        if result is None:
            yield Reading((await self.stat(place)).size, _nothing())
        else:
            yield Reading(result.meta["size"], _chunks(result, place))

    async def _get(self, place: Place, start: int, stop: int | None) -> "GetResult | None":
        options: GetOptions = {}
        if start or stop is not None:
            options = {"range": {"offset": start} if stop is None else (start, stop)}
        try:
            return await obstore.get_async(self._store, place.name, options=options)
        except REMOTE_ERRORS as error:
            told = remote_error(error, "read", place)
            if options and isinstance(told, BlobStoreDown) and start >= (await self.stat(place)).size:
                return None
            raise told from None

    def local_path(self, place: Place) -> Path | None:
        """Give none: the blob is elsewhere."""
        return None

    async def stat(self, place: Place) -> Found:
        """Look a blob up."""
        with remote_errors("look up", place):
            try:
                meta = await obstore.head_async(self._store, place.name)
            except FileNotFoundError:
                # The answer to HEAD has no body, so it does not tell a missing bucket: this one does.
                meta = (await obstore.get_async(self._store, place.name)).meta
        return Found(place, meta["size"], meta["last_modified"])

    async def promote(self, name: Place, place: Place) -> None:
        """Do nothing: the blob was written where it shall lie."""

    async def copy(self, source: Place, target: Place) -> bool:
        """Have the store copy a blob, if it is not too long for that."""
        try:
            await obstore.copy_async(self._store, source.name, target.name)
        except REMOTE_ERRORS as error:
            told = remote_error(error, "copy", source)
            if isinstance(told, BlobMissing) or (await self.stat(source)).size <= _LONGEST_COPY:
                raise told from None
            return False
        return True

    async def delete(self, places: Sequence[Place]) -> None:
        """Delete blobs, many at a time where the store can."""
        with remote_errors("delete"):
            try:
                await obstore.delete_async(self._store, [place.name for place in places])
                return
            except FileNotFoundError:
                pass  # some stores stop at the first that is missing
        for place in places:
            with suppress(BlobMissing), remote_errors("delete", place):
                await obstore.delete_async(self._store, place.name)

    async def delete_folder(self, folder: Folder) -> None:
        """Delete all that stands under a name, a page at a time."""
        page: list[Place] = []
        async for each in self.list(folder):
            page.append(each.place)
            if len(page) == _PAGE:
                await self.delete(page)
                page = []
        if page:
            await self.delete(page)

    async def list(self, folder: Folder) -> AsyncIterator[Found]:
        """List what stands under a name, a page at a time."""
        with remote_errors("list"):
            async for page in obstore.list(self._store, f"{folder.name}/", chunk_size=_PAGE):
                for meta in page:
                    place = blob_names.found(meta["path"])
                    if place is not None:
                        yield Found(place, meta["size"], meta["last_modified"])

    async def abort_begun(self, older_than: datetime) -> int:
        """Abort multipart uploads whose writer is dead, where the store can be asked for them."""
        if self._begun is None or self._run is None:
            return 0
        with remote_errors("list"):
            return await self._run(self._begun.abort, older_than)

    async def check(self) -> None:
        """Ask for one page of what is least."""
        async for _ in self.list(blob_names.STAGING):
            break


async def _chunks(result: "GetResult", place: Place) -> AsyncIterator[bytes]:
    with remote_errors("read", place):
        async for chunk in result.stream(min_chunk_size=_READ):
            yield bytes(chunk)


async def _nothing() -> AsyncIterator[bytes]:
    empty: tuple[bytes, ...] = ()
    for chunk in empty:
        yield chunk
