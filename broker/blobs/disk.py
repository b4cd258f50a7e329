"""Blobs on a local disk: one file each, private to our user, written beside and renamed into place.

    stage:    staging/<id>, written, fsync          promote: rename, fsync of the folder
    append:   uploads/<id>/appended, written at its offset, fsync at the end of each append

Every call that may wait for the disk runs in a thread; what the kernel has in memory is read without one. A rename within one file system is atomic, so a reader sees a
whole blob or none; a version is never written again, so a copy is a second name for the same bytes (a hard link).
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
from broker.blobs.blob_names import Folder, Place
from broker.blobs.disk_files import AppendedFile, NewFile, opened, resident, sync_folder
from broker.blobs.errors import BlobMissing, BlobStoreFull, disk_errors
from broker.blobs.model import Found, Reading, Run, Sink
from broker.blobs.staged_bytes import StagedBytes

_LEAST_FREE = 1024 * 1024
_PRIVATE_FOLDER = 0o700
_READ = 256 * 1024
_BATCH = 1000


class DiskBlobs:
    """A folder of blobs; `Backend` on a local disk."""

    def __init__(self, root: Path, run: Run, staging_limit: int = 0) -> None:
        self._root, self._run = root, run
        self._staged = StagedBytes(root / blob_names.STAGING.name, staging_limit)

    def staging_name(self, place: Place) -> Place:
        """Give a name of its own among what is being written."""
        return blob_names.staging(uuid4())

    def sink(self, name: Place, limit: int) -> Sink:
        """Begin a file; it is made with its first bytes."""
        promote = partial(self._into_place, name)
        return NewFile(self._path(name), self._run, self._make_parent, promote, self._staged.take)

    def append_sink(self, upload: UUID, at: int) -> Sink:
        """Begin to write into the one file of an upload."""
        return AppendedFile(self._path(blob_names.appended(upload)), at, self._run, self._make_parent)

    async def appended(self, upload: UUID) -> list[Found]:
        """Give the one file of an upload, or nothing."""
        try:
            return [await self.stat(blob_names.appended(upload))]
        except BlobMissing:
            return []

    @asynccontextmanager
    async def read(self, place: Place, start: int, stop: int | None) -> AsyncIterator[Reading]:
        """Open a file."""
        file = await opened(self._path(place), place, self._run)
        try:
            size = os.fstat(file.fileno()).st_size
            end = size if stop is None else min(stop, size)
            yield Reading(size, self._chunks(file, start, end), file)
        finally:
            file.close()

    async def _chunks(self, file: FileIO, start: int, end: int) -> AsyncIterator[bytes]:
        while start < end:
            with disk_errors("read"):
                chunk = resident(file, min(_READ, end - start), start)
                if not chunk:
                    chunk = await self._run(os.pread, file.fileno(), min(_READ, end - start), start)
            if not chunk:
                break
            start += len(chunk)
            yield chunk

    def local_path(self, place: Place) -> Path | None:
        """Give the path of the file, whether it is there or not."""
        return self._path(place)

    async def stat(self, place: Place) -> Found:
        """Look the file up."""
        with disk_errors("look up", place):
            return await self._run(_stat, self._path(place), place)

    async def promote(self, name: Place, place: Place) -> None:
        """Rename a file, and make that safe."""
        with disk_errors("rename", name):
            await self._run(self._into_folder, os.rename, name, place)

    async def copy(self, source: Place, target: Place) -> bool:
        """Give a file a second name, where the file system can."""
        with disk_errors("link", source):
            return await self._run(self._link, source, target)

    async def delete(self, places: Sequence[Place]) -> None:
        """Remove files."""
        with disk_errors("delete"):
            await self._run(self._remove, places)

    async def delete_folder(self, folder: Folder) -> None:
        """Remove a folder with all that is in it."""
        with disk_errors("delete"):
            await self._run(_remove_tree, self._root / folder.name)

    async def list(self, folder: Folder) -> AsyncIterator[Found]:
        """Walk a folder, so many files at a time."""
        walk = self._walk(self._root / folder.name)
        while batch := await self._batch(walk):
            for each in batch:
                yield each

    async def abort_begun(self, older_than: datetime) -> int:
        """Do nothing: files that are being written are listed."""
        return 0

    async def check(self) -> None:
        """Make the folder, and look whether there is room in it. Raises: BlobStoreDown, BlobStoreFull."""
        with disk_errors("make the folder"):
            await self._run(self._make_folder, self._root / blob_names.STAGING.name)
            free = (await self._run(shutil.disk_usage, self._root)).free
        if free < _LEAST_FREE:
            raise BlobStoreFull("write", "no space left on device")

    async def _batch(self, walk: Iterator[Found]) -> Sequence[Found]:
        with disk_errors("list"):
            return await self._run(tuple, islice(walk, _BATCH))

    def _path(self, place: Place) -> Path:
        return self._root / place.name

    def _link(self, source: Place, target: Place) -> bool:
        try:
            self._into_folder(os.link, source, target)
        except FileExistsError:
            return True
        except OSError:
            if not self._path(source).is_file():
                raise FileNotFoundError from None
            return False  # another device, too many links, or a file system without them
        return True

    def _into_place(self, name: Place, place: Place) -> Path:
        """Give a new file its name; if that cannot be made safe, it has none."""
        try:
            self._into_folder(os.rename, name, place)
        except OSError:
            self._remove([place])
            raise
        return self._path(place)

    def _into_folder(self, name: Callable[[Path, Path], object], source: Place, target: Place) -> None:
        """Give a file a name in a folder that may not be there yet."""
        path = self._path(target)
        try:
            name(self._path(source), path)
        except FileNotFoundError:
            if path.is_file() and not self._path(source).exists():
                return  # it was moved before
            self._make_parent(path)
            name(self._path(source), path)
        sync_folder(path.parent)

    def _make_parent(self, path: Path) -> None:
        self._make_folder(path.parent)

    def _make_folder(self, path: Path) -> None:
        """Make a folder and those above it, private, and safe."""
        if path.is_dir():
            return
        if path != self._root:
            self._make_folder(path.parent)
        else:
            path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        sync_folder(path.parent)

    def _remove(self, places: Sequence[Place]) -> None:
        for place in places:
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(self._path(place))

    def _walk(self, top: Path) -> Iterator[Found]:
        for folder, _, names in os.walk(top):
            for name in names:
                path = Path(folder, name)
                place = blob_names.found(path.relative_to(self._root).as_posix())
                if place is not None:
                    with suppress(FileNotFoundError):  # gone since
                        yield _stat(path, place)


def _stat(path: Path, place: Place) -> Found:
    found = os.stat(path)
    if not S_ISREG(found.st_mode):
        raise FileNotFoundError
    changed = (
        found.st_ctime
    )  # also moved by a rename and a link: a fresh copy of an old blob is fresh to the sweep
    return Found(place, found.st_size, datetime.fromtimestamp(changed, UTC))


def _remove_tree(top: Path) -> None:
    """Remove all of a folder. What is added meanwhile may stay, with the folders around it."""
    for folder, _, names in os.walk(top, topdown=False):
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(Path(folder, name))
        with suppress(OSError):
            os.rmdir(folder)
