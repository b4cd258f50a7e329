"""Files of blobs: a new one, one that is appended to, one that is read. All of it in threads, safe against leaving.

A thread goes on when its caller leaves, so a file descriptor is closed only by whoever holds the file's lock: else its
number could be another file's by the time the thread writes.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import Lock

from broker.blobs.blob_names import Place
from broker.blobs.errors import BlobStoreDown, disk_errors
from broker.blobs.model import Run

_PRIVATE = 0o600
_WRITE = os.O_WRONLY | os.O_CREAT
_STRETCH = 8 * 1024 * 1024
"""Bytes after which the disk begins to write, so that it is not idle until the end."""
_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)
"""Linux alone can read without waiting."""

MakeParent = Callable[[Path], None]


class NewFile:
    """A file that is written from its beginning; `Sink`. What is aborted is removed, also from its place.

    `promote` gives the file of a place that name, safely, and says where that is. `take` is asked before bytes are written,
    and raises where there may be no more.
    """

    def __init__(
        self,
        path: Path,
        run: Run,
        make_parent: MakeParent,
        promote: Callable[[Place], Path],
        take: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._path, self._run, self._make_parent, self._promote = path, run, make_parent, promote
        self._take = take
        self._lock = Lock()
        self._file = -1
        self._size = self._begun = 0
        self._is_over = False

    async def write(self, piece: bytes) -> None:
        """Write a piece."""
        with disk_errors("write"):
            await self._run(self._write, piece)

    async def finish(self, last: bytes, place: Place | None = None) -> None:
        """Write the last piece, and wait until the disk has all; at its place, if one is named."""
        with disk_errors("write"):
            await self._run(self._finish, last, place)

    async def abort(self) -> None:
        """Remove the file."""
        await self._run(self._abort)

    def _write(self, piece: bytes) -> None:
        with self._lock:
            self._take(len(piece))
            self._open()
            write_all(self._file, piece)
            self._size += len(piece)
            if self._size - self._begun >= _STRETCH:
                begin_writing(self._file, self._begun, self._size - self._begun)
                self._begun = self._size

    def _finish(self, last: bytes, place: Place | None) -> None:
        with self._lock:
            self._take(len(last))
            self._open()
            write_all(self._file, last)
            os.fsync(self._file)
            self._close()
            if place is not None:
                self._path = self._promote(place)

    def _abort(self) -> None:
        with self._lock:
            self._is_over = True
            self._close()
            with suppress(OSError):
                os.unlink(self._path)

    def _open(self) -> None:
        if self._is_over:
            raise BlobStoreDown("write", "the writer has left")
        if self._file < 0:
            self._file = opened_private(self._path, _WRITE | os.O_EXCL, self._make_parent)

    def _close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)


class AppendedFile:
    """A file that is written on from an offset; `Sink`. What is aborted keeps its bytes.

    Each piece goes to its own offset: a writer that was given up and writes on late puts the same bytes to the same
    place, and moves nothing.
    """

    def __init__(self, path: Path, at: int, run: Run, make_parent: MakeParent) -> None:
        self._path, self._at, self._run, self._make_parent = path, at, run, make_parent
        self._begun = at

    async def write(self, piece: bytes) -> None:
        """Write a piece at its offset."""
        with disk_errors("append"):
            await self._run(self._write, piece, is_last=False)

    async def finish(self, last: bytes, place: Place | None = None) -> None:
        """Write the last piece, and wait until the disk has all. Its place is told by `promote` alone."""
        with disk_errors("append"):
            await self._run(self._write, last, is_last=True)

    async def abort(self) -> None:
        """Keep what is there."""

    def _write(self, piece: bytes, *, is_last: bool) -> None:
        file = opened_private(self._path, _WRITE, self._make_parent)
        try:
            write_all(file, piece, self._at)
            self._at += len(piece)
            if is_last:
                os.fsync(file)
            elif self._at - self._begun >= _STRETCH:
                begin_writing(file, self._begun, self._at - self._begun)
                self._begun = self._at
        finally:
            os.close(file)


async def opened(path: Path, place: Place, run: Run) -> FileIO:
    """Open a file for reading; it is closed again if the caller leaves meanwhile. Raises: BlobMissing, BlobStoreDown."""
    opening = asyncio.ensure_future(run(FileIO, path))
    try:
        with disk_errors("read", place):
            return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_file)
        raise


def opened_private(path: Path, flags: int, make_parent: MakeParent) -> int:
    """Open a file that only our user may read, in a folder that may not be there yet."""
    try:
        return os.open(path, flags, _PRIVATE)
    except FileNotFoundError:
        make_parent(path)
        return os.open(path, flags, _PRIVATE)


def write_all(file: int, piece: bytes, at: int | None = None) -> None:
    """Write all of a piece, where the file stands or at an offset."""
    view = memoryview(piece)
    while view:
        written = os.write(file, view) if at is None else os.pwrite(file, view, at)
        at = None if at is None else at + written
        view = view[written:]


def begin_writing(file: int, at: int, size: int) -> None:
    """Have the kernel begin to write a stretch to the disk, and wait for nothing: the sync at the end finds less to do.

    This advice also drops pages that are clean already; those of the stretch are not.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file, at, size, os.POSIX_FADV_DONTNEED)


def resident(file: FileIO, size: int, at: int) -> bytes:
    """Give bytes of a file that the kernel has in memory, at most so many; none if it would wait for the disk."""
    if _NO_WAIT is None:
        return b""
    buffer = bytearray(size)
    try:
        count = os.preadv(file.fileno(), [buffer], at, _NO_WAIT)
    except OSError:  # not in memory, or a file system that cannot tell: the usual way says what is wrong
        return b""
    return bytes(memoryview(buffer)[:count])


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names of a folder."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _close_file(opening: asyncio.Future[FileIO]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
