"""Store and read the bytes of objects, for edges and workers alike. Messages only contain references to them (claim
check).

    async with store.stage(blob("avatars", version), limit=most) as writer:      a new version of an object
        async for chunk in body:
            await writer.write(chunk)                                            hashed, counted, sent in pieces
        staged = await writer.finish()                                           all bytes are durable
    await store.promote(staged)                                                  the blob is at its final path
    ... or both in one step: staged = await writer.finish_in_place()
    ... the row is committed; if that fails: await store.discard(staged)

    async with store.read(place, start, stop) as blob:                           BlobMissing before the first byte
        async for chunk in blob.chunks: ...                                      or blob.file, for sendfile

Order of an upload: promote, then commit, so a row never names a missing blob. A crash between the two leaves a blob
without a row, which the sweep finds with `list(OBJECTS, older_than=...)`. A crash before leaves a file in STAGING on
a local disk. Blobs are immutable: a version is written once. Paths are built by `broker/blobs/blob_names.py`; errors
are in `broker/blobs/errors.py`.
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
from broker.blobs.blob_names import BlobFolder, BlobPath, Id
from broker.blobs.disk import DiskBlobs
from broker.blobs.errors import BlobOffset, BlobTooLarge
from broker.blobs.folder import store_folder
from broker.blobs.model import BlobBackend, BlobInfo, OpenBlob, P, StagedBlob, T
from broker.blobs.staging import BlobWriter, Md5, PiecePipe, UploadAppender
from broker.blobs.uploads import PieceRange, UploadHashes, covering_ranges
from schemas.settings.storage import Storage

_THREADS = 16


class BlobStore:
    """A store of blobs on a local disk or in an object store. All methods raise BlobStoreDown if it cannot be reached."""

    def __init__(self, make_backend: Callable[["BlobStore"], BlobBackend]) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="blobs")
        self._hashes = UploadHashes()
        self._backend = make_backend(self)

    @classmethod
    def open(cls, settings: Storage, data_folder: Path) -> Self:
        """Return the store of the settings. Short blobs that a dead process left in its log on the local disk are restored first."""
        if settings.backend == "file":
            root = store_folder(settings, data_folder)
            return cls(lambda store: DiskBlobs(root, store.run, settings.staging_limit))
        from broker.blobs.remote_backend import remote_backend  # its library takes 5 MB

        return cls(lambda store: remote_backend(settings, store.run))

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Call a function in one of the store's threads."""
        return asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args, **kwargs))

    async def close(self) -> None:
        """Finish what is still being written, wait for running calls in threads, and stop the threads."""
        await self._backend.close()
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    async def check(self) -> None:
        """Check that the store is available; on a local disk create its folder. Raises: BlobStoreDown."""
        await self._backend.check()

    def stage(self, place: BlobPath, *, limit: int) -> BlobWriter:
        """Return a writer for a new blob. Before `promote` no blob is at its path, or a row does not name it yet."""
        name, md5 = self._backend.staging_name(place), Md5()
        return BlobWriter(PiecePipe(self._backend.sink(name, limit), self.run, limit, md5), md5, name, place)

    @property
    def writes_short(self) -> bool:
        """Whether short blobs are written in milliseconds (`put_short`), so that a transaction may wait for them."""
        return self._backend.writes_short

    async def put_short(self, place: BlobPath, data: bytes) -> None:
        """Write a new blob of some KiB, which no row names yet, durably to its final path.

        Nothing remains after an error. If the caller is cancelled the blob may remain without a row. Raises: BlobStoreDown.
        """
        await self._backend.put_short(place, data)

    async def promote(self, staged: StagedBlob) -> None:
        """Move a finished blob to its final path. Repeating it is harmless. Raises: BlobMissing if the sweep removed it."""
        if staged.name == staged.place:
            return
        if blob_names.is_in(blob_names.UPLOADS, staged.name):
            # The uploaded bytes stay until `forget`, so that a failed completion can be repeated.
            await self.copy(staged.name, staged.place)
        else:
            await self._backend.promote(staged.name, staged.place)

    async def discard(self, staged: StagedBlob) -> None:
        """Delete a finished blob, promoted or not. Bytes that were appended to an upload stay."""
        is_upload = blob_names.is_in(blob_names.UPLOADS, staged.name)
        await self.delete([staged.place] if is_upload else {staged.name, staged.place})

    def read(
        self, place: BlobPath, start: int = 0, stop: int | None = None
    ) -> AbstractAsyncContextManager[OpenBlob]:
        """Open a blob for reading from `start` up to, not including, `stop`, which may be beyond its end.

        Raises: BlobMissing, BlobStoreDown, both when it is opened; later only BlobStoreDown.
        """
        if start < 0:
            raise ValueError("a range begins at 0 or later")
        return self._backend.read(place, start, stop)

    def local_path(self, place: BlobPath) -> Path | None:
        """Return the path of a blob on the local disk, whether it exists or not; None for an object store."""
        return self._backend.local_path(place)

    @property
    def log_folder(self) -> Path | None:
        """The folder of the logs of short blobs and of notes about them, which may not exist; None for an object store."""
        return self._backend.log_folder

    async def stat(self, place: BlobPath) -> BlobInfo:
        """Return a blob's size and time. Raises: BlobMissing."""
        return await self._backend.stat(place)

    async def get_small(self, place: BlobPath, *, limit: int) -> bytes:
        """Return all bytes of a blob. Raises: BlobMissing; BlobTooLarge, before any byte is read."""
        async with self.read(place) as reading:
            if reading.size > limit:
                raise BlobTooLarge(limit)
            return b"".join([chunk async for chunk in reading.chunks])

    async def put_small(self, place: BlobPath, data: bytes) -> StagedBlob:
        """Write a blob, replacing an existing one; a reader sees one or the other."""
        async with self.stage(place, limit=len(data)) as writer:
            await writer.write(data)
            staged = await writer.finish()
        await self.promote(staged)
        return staged

    async def copy(self, source: BlobPath, target: BlobPath) -> None:
        """Copy a blob to another path. Raises: BlobMissing."""
        if not await self._backend.copy(source, target):
            await self.promote(await self.join([source], target))

    async def join(self, parts: Sequence[BlobPath], place: BlobPath) -> StagedBlob:
        """Concatenate parts into a new blob, ready for `promote`. Raises: BlobMissing."""
        return await self._joined([PieceRange(part, 0) for part in parts], place)

    async def delete(self, places: Iterable[BlobPath]) -> None:
        """Delete blobs; missing ones are ignored."""
        if listed := list(dict.fromkeys(places)):
            await self._backend.delete(listed)

    async def delete_folder(self, folder: BlobFolder) -> None:
        """Delete all blobs of a folder, such as the `transforms` of a version, or a finished `upload`."""
        await self._backend.delete_folder(folder)

    async def list(self, folder: BlobFolder, older_than: datetime | None = None) -> AsyncIterator[BlobInfo]:
        """Yield the blobs of a folder, in arbitrary order; only those last written before `older_than`, if it is given."""
        async for info in self._backend.list(folder):
            if older_than is None or info.modified < older_than:
                yield info

    async def append(self, upload: Id, at: int, *, limit: int) -> UploadAppender:
        """Return an appender for a resumable upload of at most `limit` bytes in all. The caller must ensure a single
        writer.

        Raises: BlobOffset if the upload does not end at `at`.
        """
        id = UUID(str(upload))
        end = await self.appended(id)
        if at != end:
            raise BlobOffset(end)
        pipe = PiecePipe(self._backend.append_sink(id, at), self.run, limit - at, self._hashes.take(id, at))
        return UploadAppender(pipe, at, partial(self._hashes.store, id))

    async def appended(self, upload: Id) -> int:
        """Return the end of an upload in bytes; 0 if nothing was appended."""
        return covering_ranges(await self._backend.appended(UUID(str(upload))))[1]

    async def complete(self, upload: Id, place: BlobPath) -> StagedBlob:
        """Build a blob of everything that was appended, ready for `promote`; then `forget` the upload.

        A single piece is used as it is. Several pieces (never on a local disk) are joined, which takes the time of
        reading and writing them.
        """
        id = UUID(str(upload))
        spans, size = covering_ranges(await self._backend.appended(id))
        if len(spans) != 1:
            return await self._joined(spans, place)
        name = spans[0].place
        return StagedBlob(place, name, size, self._hashes.whole(id, size) or await self._hashed(name))

    async def forget(self, upload: Id) -> None:
        """Delete an upload with all its parts."""
        await self.delete_folder(blob_names.upload(upload))

    async def abort_unfinished(self, older_than: datetime) -> int:
        """Abort the platform's multipart uploads in an object store that received no part since a time; return their
        number.

        Their writer is dead, because a living one sends a part sooner. Raises: BlobStoreDown.
        """
        return await self._backend.abort_unfinished(older_than)

    async def _joined(self, spans: Sequence[PieceRange], place: BlobPath) -> StagedBlob:
        sizes = [(await self.stat(span.place)).size for span in spans]
        async with self.stage(place, limit=sum(sizes)) as writer:
            for span in spans:
                async with self.read(span.place, span.start) as reading:
                    async for chunk in reading.chunks:
                        await writer.write(chunk)
            return await writer.finish()

    async def _hashed(self, place: BlobPath) -> str:
        md5 = Md5()
        async with self.read(place) as reading:
            async for chunk in reading.chunks:
                await self.run(md5.update, chunk)
        return md5.hex
