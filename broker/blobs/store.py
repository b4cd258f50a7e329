"""The blob store: where the bytes of objects lie, for edges and workers alike (claim check: messages only name them).

    async with store.stage(blob("avatars", version), limit=most) as staging:     a new version of an object
        async for chunk in body:
            await staging.write(chunk)                                           hashed, counted, sent in pieces
        staged = await staging.finish()                                          all bytes are safe
    await store.promote(staged)                                                  the blob lies at its place
    ... or both in one step: staged = await staging.finish_in_place()
    ... the row is committed; if that fails: await store.discard(staged)

    async with store.read(place, start, stop) as reading:                        BlobMissing before the first byte
        async for chunk in reading.chunks: ...                                   or reading.file, for sendfile

Order of an upload: promote, then commit, so a row never names a missing blob. A crash between leaves a blob without a
row, which the sweep finds with `list(OBJECTS, older_than=...)`; a crash before leaves a file in STAGING on a local disk.
Blobs are immutable: a version is written once. Places are made by `blobs_names`; errors stand in `blobs_errors`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self
from uuid import UUID

from broker.blobs import blob_names
from broker.blobs.blob_names import Folder, Id, Place
from broker.blobs.connect import connect
from broker.blobs.disk import DiskBlobs
from broker.blobs.errors import BlobOffset, BlobTooLarge
from broker.blobs.folder import store_folder
from broker.blobs.model import Backend, Found, P, Reading, Staged, T
from broker.blobs.remote import RemoteBlobs
from broker.blobs.s3_uploads import begun_uploads
from broker.blobs.staging import Appending, Md5, Pipe, Staging
from broker.blobs.uploads import Hashes, Span, cover
from schemas.settings.storage import Storage

_THREADS = 16


class BlobStore:
    """A store of blobs on a local disk or elsewhere. All methods raise BlobStoreDown where it cannot be reached."""

    def __init__(self, make_backend: Callable[["BlobStore"], Backend]) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="blobs")
        self._hashes = Hashes()
        self._backend = make_backend(self)

    @classmethod
    def open(cls, settings: Storage, data_folder: Path) -> Self:
        """Open the store that the settings name. Nothing is touched yet; `check` tells whether it is there."""
        if settings.backend == "file":
            root = store_folder(settings, data_folder)
            return cls(lambda store: DiskBlobs(root, store.run, settings.staging_limit))
        outside = connect(settings)
        begun = begun_uploads(settings)
        return cls(lambda store: RemoteBlobs(outside, begun, store.run))

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Call a function in one of the store's threads."""
        return asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args, **kwargs))

    async def close(self) -> None:
        """Wait for what is under way in threads, and end them."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    async def check(self) -> None:
        """Make sure that the store is there; on a local disk its folder is made. Raises: BlobStoreDown."""
        await self._backend.check()

    def stage(self, place: Place, *, limit: int) -> Staging:
        """Begin to write what shall lie at a place. Nothing is there before `promote`, or it is in no row yet."""
        name, md5 = self._backend.staging_name(place), Md5()
        return Staging(Pipe(self._backend.sink(name, limit), self.run, limit, md5), md5, name, place)

    async def promote(self, staged: Staged) -> None:
        """Have a finished blob lie at its place. Doing it twice is fine. Raises: BlobMissing if it was swept."""
        if staged.name == staged.place:
            return
        if blob_names.is_in(blob_names.UPLOADS, staged.name):
            # What was uploaded stays until `forget`, so that a completion that fails can be tried again.
            await self.copy(staged.name, staged.place)
        else:
            await self._backend.promote(staged.name, staged.place)

    async def discard(self, staged: Staged) -> None:
        """Drop a finished blob, promoted or not. What was appended to an upload stays."""
        is_upload = blob_names.is_in(blob_names.UPLOADS, staged.name)
        await self.delete([staged.place] if is_upload else {staged.name, staged.place})

    def read(
        self, place: Place, start: int = 0, stop: int | None = None
    ) -> AbstractAsyncContextManager[Reading]:
        """Open a blob for the bytes from `start` up to, not including, `stop`. Beyond its end there are none.

        Raises: BlobMissing, BlobStoreDown, both when it is opened; later only BlobStoreDown.
        """
        if start < 0:
            raise ValueError("a range begins at 0 or later")
        return self._backend.read(place, start, stop)

    def local_path(self, place: Place) -> Path | None:
        """Give the path of a blob on the local disk, whether it is there or not; None if the store is elsewhere."""
        return self._backend.local_path(place)

    async def stat(self, place: Place) -> Found:
        """Give a blob's size and time. Raises: BlobMissing."""
        return await self._backend.stat(place)

    async def get_small(self, place: Place, *, limit: int) -> bytes:
        """Give all bytes of a blob. Raises: BlobMissing; BlobTooLarge, before any byte is read."""
        async with self.read(place) as reading:
            if reading.size > limit:
                raise BlobTooLarge(limit)
            return b"".join([chunk async for chunk in reading.chunks])

    async def put_small(self, place: Place, data: bytes) -> Staged:
        """Write a blob at once, in place of another that may be there; a reader sees one or the other."""
        async with self.stage(place, limit=len(data)) as staging:
            await staging.write(data)
            staged = await staging.finish()
        await self.promote(staged)
        return staged

    async def copy(self, source: Place, target: Place) -> None:
        """Have the bytes of a blob lie at another place too. Raises: BlobMissing."""
        if not await self._backend.copy(source, target):
            await self.promote(await self.join([source], target))

    async def join(self, parts: Sequence[Place], place: Place) -> Staged:
        """Write the parts one behind the other into a new blob, ready for `promote`. Raises: BlobMissing."""
        return await self._joined([Span(part, 0) for part in parts], place)

    async def delete(self, places: Iterable[Place]) -> None:
        """Delete blobs; what is not there is fine."""
        if listed := list(dict.fromkeys(places)):
            await self._backend.delete(listed)

    async def delete_folder(self, folder: Folder) -> None:
        """Delete all blobs of a folder, such as the `transforms` of a version, or a finished `upload`."""
        await self._backend.delete_folder(folder)

    async def list(self, folder: Folder, older_than: datetime | None = None) -> AsyncIterator[Found]:
        """List the blobs of a folder, in no order; only those last written before a time, if one is given."""
        async for found in self._backend.list(folder):
            if older_than is None or found.modified < older_than:
                yield found

    async def append(self, upload: Id, at: int, *, limit: int) -> Appending:
        """Begin to append to a resumable upload of at most `limit` bytes in all. One writer at a time: the caller sees to it.

        Raises: BlobOffset if the upload does not end at `at`.
        """
        id = UUID(str(upload))
        end = await self.appended(id)
        if at != end:
            raise BlobOffset(end)
        pipe = Pipe(self._backend.append_sink(id, at), self.run, limit - at, self._hashes.take(id, at))
        return Appending(pipe, at, partial(self._hashes.keep, id))

    async def appended(self, upload: Id) -> int:
        """Give where an upload ends; 0 if nothing was appended."""
        return cover(await self._backend.appended(UUID(str(upload))))[1]

    async def complete(self, upload: Id, place: Place) -> Staged:
        """Make a blob of all that was appended, ready for `promote`; then `forget` the upload.

        One piece is taken as it is. More of them (never on a local disk) are joined, which takes the time of reading
        and writing them.
        """
        id = UUID(str(upload))
        spans, size = cover(await self._backend.appended(id))
        if len(spans) != 1:
            return await self._joined(spans, place)
        name = spans[0].place
        return Staged(place, name, size, self._hashes.whole(id, size) or await self._hashed(name))

    async def forget(self, upload: Id) -> None:
        """Delete an upload with all its parts."""
        await self.delete_folder(blob_names.upload(upload))

    async def abort_begun(self, older_than: datetime) -> int:
        """Abort multipart uploads of ours to the outside store that had no part since a time; return how many.

        Their writer is dead: a living one sends a part sooner. Raises: BlobStoreDown.
        """
        return await self._backend.abort_begun(older_than)

    async def _joined(self, spans: Sequence[Span], place: Place) -> Staged:
        sizes = [(await self.stat(span.place)).size for span in spans]
        async with self.stage(place, limit=sum(sizes)) as staging:
            for span in spans:
                async with self.read(span.place, span.start) as reading:
                    async for chunk in reading.chunks:
                        await staging.write(chunk)
            return await staging.finish()

    async def _hashed(self, place: Place) -> str:
        md5 = Md5()
        async with self.read(place) as reading:
            async for chunk in reading.chunks:
                await self.run(md5.update, chunk)
        return md5.hex
