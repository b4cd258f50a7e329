"""Store blobs on a local disk: one private file each, written in the staging folder and renamed to its path.

    stage:    staging/<id>, written, fsync          promote: rename, fsync of the folder
    short:    objects/..., written, with others in one call (`broker/blobs/small_files.py`); fsync, or a log (`broker/blobs/short_log.py`)
    append:   uploads/<id>/appended, written at its offset, fsync at the end of each append

Every call that may wait for the disk runs in a thread; bytes in the kernel's page cache are read without one. A
rename within one file system is atomic, so a reader sees a whole blob or none. A version is never written again, so a
copy can be a second name for the same bytes (a hard link).
"""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from uuid import UUID, uuid4

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobFolder, BlobPath
from broker.blobs.disk_files import (
    AppendedFile,
    NewFile,
    cached_bytes,
    make_folder,
    open_for_reading,
    sync_file,
    sync_folder,
)
from broker.blobs.errors import BlobMissing, BlobStoreFull, translate_disk_errors
from broker.blobs.model import BlobInfo, BlobSink, OpenBlob, ThreadRunner
from broker.blobs.short_log import ShortLog
from broker.blobs.short_log_recovery import restore_logs
from broker.blobs.short_log_segment import FOLDER as LOG_FOLDER
from broker.blobs.small_files import SmallFiles
from broker.blobs.staged_bytes import StagedBytes

_LEAST_FREE = 1024 * 1024
_READ = 256 * 1024
_BATCH = 1000
_OF_THE_SYSTEM = "lost+found"
"""Folder of a file system, which root alone may read."""


class DiskBlobs:
    """A folder of blobs; `BlobBackend` on a local disk."""

    writes_short = True

    def __init__(self, root: Path, run: ThreadRunner, staging_limit: int = 0) -> None:
        self._root, self._run = root, run
        self._staged = StagedBytes(root / blob_names.STAGING.name, staging_limit)
        self._small = SmallFiles(root, run, self._make_parent, self._staged.take, ShortLog(root))
        with suppress(OSError):  # `check` tries again and reports it
            restore_logs(root)

    def staging_name(self, place: BlobPath) -> BlobPath:
        """Return a new path in the staging folder."""
        return blob_names.staging(uuid4())

    def sink(self, name: BlobPath, limit: int) -> BlobSink:
        """Return a sink for a new file, which is created with its first bytes."""
        promote = partial(self._into_place, name)
        return NewFile(self._path(name), self._run, self._make_parent, promote, self._path, self._staged.take)

    async def put_short(self, place: BlobPath, data: bytes) -> None:
        """Write a short new file durably, together with others that are written now."""
        await self._small.write(place, data)

    def append_sink(self, upload: UUID, at: int) -> BlobSink:
        """Return a sink that appends to the single file of an upload."""
        return AppendedFile(self._path(blob_names.appended(upload)), at, self._run, self._make_parent)

    async def appended(self, upload: UUID) -> list[BlobInfo]:
        """Return the single file of an upload, or an empty list."""
        try:
            return [await self.stat(blob_names.appended(upload))]
        except BlobMissing:
            return []

    @asynccontextmanager
    async def read(self, place: BlobPath, start: int, stop: int | None) -> AsyncIterator[OpenBlob]:
        """Open a file."""
        file = await open_for_reading(self._path(place), place, self._run)
        try:
            size = os.fstat(file.fileno()).st_size
            end = size if stop is None else min(stop, size)
            yield OpenBlob(size, self._chunks(file, start, end), file)
        finally:
            file.close()

    async def _chunks(self, file: FileIO, start: int, end: int) -> AsyncIterator[bytes]:
        while start < end:
            with translate_disk_errors("read"):
                chunk = cached_bytes(file, min(_READ, end - start), start)
                if not chunk:
                    chunk = await self._run(os.pread, file.fileno(), min(_READ, end - start), start)
            if not chunk:
                break
            start += len(chunk)
            yield chunk

    def local_path(self, place: BlobPath) -> Path | None:
        """Return the path of the file, whether it exists or not."""
        return self._path(place)

    @property
    def log_folder(self) -> Path | None:
        """The folder of the logs of short blobs, whether it exists or not."""
        return self._root / LOG_FOLDER

    async def stat(self, place: BlobPath) -> BlobInfo:
        """Return size and time of the file."""
        with translate_disk_errors("look up", place):
            return await self._run(_stat, self._path(place), place)

    async def promote(self, name: BlobPath, place: BlobPath) -> None:
        """Rename a file durably."""
        with translate_disk_errors("rename", name):
            await self._run(self._into_folder, os.rename, name, place)

    async def copy(self, source: BlobPath, target: BlobPath) -> bool:
        """Create a hard link, where the file system can."""
        with translate_disk_errors("link", source):
            return await self._run(self._link, source, target)

    async def delete(self, places: Sequence[BlobPath]) -> None:
        """Delete files."""
        with translate_disk_errors("delete"):
            await self._run(self._remove, places)

    async def delete_folder(self, folder: BlobFolder) -> None:
        """Delete a folder with its content."""
        with translate_disk_errors("delete"):
            await self._run(_remove_tree, self._root / folder.name)

    async def list(self, folder: BlobFolder) -> AsyncIterator[BlobInfo]:
        """Yield the files of a folder, read in batches of `_BATCH`."""
        walk = self._walk(self._root / folder.name)
        while batch := await self._batch(walk):
            for info in batch:
                yield info

    async def abort_unfinished(self, older_than: datetime) -> int:
        """Return 0: unfinished files are found by listing the staging folder."""
        return 0

    async def check(self) -> None:
        """Create the folder, restore what dead processes left, and check for free space. Raises: BlobStoreDown, BlobStoreFull."""
        with translate_disk_errors("make the folder"):
            await self._run(make_folder, self._root, self._root / blob_names.STAGING.name)
            await self._run(restore_logs, self._root)
            free = (await self._run(shutil.disk_usage, self._root)).free
        if free < _LEAST_FREE:
            raise BlobStoreFull("write", "no space left on device")

    async def close(self) -> None:
        """Make the files of short blobs durable, and remove their log."""
        await self._small.close()

    async def _batch(self, walk: Iterator[BlobInfo]) -> Sequence[BlobInfo]:
        with translate_disk_errors("list"):
            return await self._run(tuple, islice(walk, _BATCH))

    def _path(self, place: BlobPath) -> Path:
        return self._root / place.name

    def _link(self, source: BlobPath, target: BlobPath) -> bool:
        try:
            with suppress(FileNotFoundError):  # a repeated copy may find its target alone
                sync_file(self._path(source))  # a short blob is durable in its log only, under its own path
            self._into_folder(os.link, source, target)
        except FileExistsError:
            return True
        except OSError:
            if not self._path(source).is_file():
                raise FileNotFoundError from None
            return False  # another device, too many links, or a file system without them
        return True

    def _into_place(self, name: BlobPath, place: BlobPath) -> Path:
        """Rename a new file to its final path; remove it if the rename cannot be made durable."""
        try:
            self._into_folder(os.rename, name, place)
        except OSError:
            self._remove([place])
            raise
        return self._path(place)

    def _into_folder(self, name: Callable[[Path, Path], object], source: BlobPath, target: BlobPath) -> None:
        """Rename or link a file into a folder, which is created if it does not exist."""
        path = self._path(target)
        try:
            name(self._path(source), path)
        except FileNotFoundError:
            if path.is_file() and not self._path(source).exists():
                return  # it was already moved
            self._make_parent(path)
            name(self._path(source), path)
        sync_folder(path.parent)

    def _make_parent(self, path: Path) -> None:
        make_folder(self._root, path.parent)

    def _remove(self, places: Sequence[BlobPath]) -> None:
        for place in places:
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(self._path(place))

    def _walk(self, top: Path) -> Iterator[BlobInfo]:
        def fail(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):  # a backup would lack the files without a word
                raise error

        for folder, folders, names in os.walk(top, onerror=fail):
            folders[:] = [name for name in folders if name != _OF_THE_SYSTEM]
            for name in names:
                path = Path(folder, name)
                place = blob_names.parse_path(path.relative_to(self._root).as_posix())
                if place is not None:
                    with suppress(FileNotFoundError):  # gone since
                        yield _stat(path, place)


def _stat(path: Path, place: BlobPath) -> BlobInfo:
    status = os.stat(path)
    if not S_ISREG(status.st_mode):
        raise FileNotFoundError
    changed = (
        status.st_ctime
    )  # a rename and a link change it too: to the sweep a fresh copy of an old blob is fresh
    return BlobInfo(place, status.st_size, datetime.fromtimestamp(changed, UTC))


def _remove_tree(top: Path) -> None:
    """Delete a folder with its content. Files that are added meanwhile, and their folders, may stay."""
    for folder, _, names in os.walk(top, topdown=False):
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(Path(folder, name))
        with suppress(OSError):
            os.rmdir(folder)
