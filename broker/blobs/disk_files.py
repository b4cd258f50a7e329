"""Create, append to and read the files of blobs, in threads, safe against cancellation of the caller.

Danger: a thread continues when its caller is cancelled. If the caller closed the descriptor then, the number could
belong to another file by the time the thread writes. So a descriptor is only closed under the file's lock.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import Lock

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath
from broker.blobs.cached_open import open_if_cached
from broker.blobs.errors import BlobStoreDown, translate_disk_errors
from broker.blobs.model import Piece, ThreadRunner
from broker.blobs.spread_folders import spread_folders_in

_PRIVATE = 0o600
_WRITE = os.O_WRONLY | os.O_CREAT
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
"""Flags of a file that must not exist."""
_PRIVATE_FOLDER = 0o700
_STRETCH = 8 * 1024 * 1024
"""Bytes after which writing to the disk is started, so that the final sync has less to do."""
_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)
"""The flag to read without waiting, which only Linux has."""

MakeParent = Callable[[Path], None]


class NewFile:
    """A new file; implements `BlobSink`. An aborted one is deleted, even from its final path.

    `promote` renames the file to its final path durably and returns that. `take` is called before bytes are written,
    and raises when the limit of staged bytes is reached. A file whose bytes all come with `finish` is created at its final
    path, `path_of(place)`: no row names it before it is durable, and what a crash leaves there, the sweep removes.
    """

    has_thread = True

    def __init__(
        self,
        path: Path,
        run: ThreadRunner,
        make_parent: MakeParent,
        promote: Callable[[BlobPath], Path],
        path_of: Callable[[BlobPath], Path],
        take: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._path, self._run, self._make_parent, self._promote = path, run, make_parent, promote
        self._path_of, self._take = path_of, take
        self._lock = Lock()
        self._file = -1
        self._size = self._flushed = 0
        self._is_over = False

    async def write(self, piece: Piece) -> None:
        """Write a piece."""
        with translate_disk_errors("write"):
            await self._run(self._write, piece)

    async def finish(
        self, last: Piece, place: BlobPath | None = None, first: Callable[[], object] | None = None
    ) -> None:
        """Write the last piece and sync the file; rename it to its final path, if one is given."""
        with translate_disk_errors("write"):
            await self._run(self._finish, last, place, first)

    async def abort(self) -> None:
        """Delete the file."""
        await self._run(self._abort)

    def _write(self, piece: Piece) -> None:
        size = sum(map(len, piece))
        with self._lock:
            self._take(size)
            self._open()
            write_piece(self._file, piece)
            self._size += size
            if self._size - self._flushed >= _STRETCH:
                start_writeback(self._file, self._flushed, self._size - self._flushed)
                self._flushed = self._size

    def _finish(self, last: Piece, place: BlobPath | None, first: Callable[[], object] | None) -> None:
        if first is not None:
            first()
        with self._lock:
            self._take(sum(map(len, last)))
            is_whole = place is not None and self._file < 0 and not self._is_over
            if is_whole:
                assert place is not None
                self._path = self._path_of(place)
            self._open()
            write_piece(self._file, last)
            os.fsync(self._file)
            self._close()
            if is_whole:
                sync_folder(self._path.parent)
            elif place is not None:
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
            self._file = open_private(self._path, NEW_FILE, self._make_parent)

    def _close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)


class AppendedFile:
    """A file that is appended to from an offset; implements `BlobSink`. An aborted one keeps its bytes.

    Each piece is written at its own offset. So a writer that was given up and writes late writes the same bytes to
    the same offsets, and damages nothing.
    """

    has_thread = True

    def __init__(self, path: Path, at: int, run: ThreadRunner, make_parent: MakeParent) -> None:
        self._path, self._at, self._run, self._make_parent = path, at, run, make_parent
        self._flushed = at

    async def write(self, piece: Piece) -> None:
        """Write a piece at its offset."""
        with translate_disk_errors("append"):
            await self._run(self._write, piece, is_last=False)

    async def finish(
        self, last: Piece, place: BlobPath | None = None, first: Callable[[], object] | None = None
    ) -> None:
        """Write the last piece and sync the file. `place` is ignored: `promote` copies it there."""
        with translate_disk_errors("append"):
            await self._run(self._write, last, is_last=True, first=first)

    async def abort(self) -> None:
        """Keep the written bytes."""

    def _write(self, piece: Piece, *, is_last: bool, first: Callable[[], object] | None = None) -> None:
        if first is not None:
            first()
        file = open_private(self._path, _WRITE, self._make_parent)
        try:
            for chunk in piece:
                write_all(file, chunk, self._at)
                self._at += len(chunk)
            if is_last:
                os.fsync(file)
            elif self._at - self._flushed >= _STRETCH:
                start_writeback(file, self._flushed, self._at - self._flushed)
                self._flushed = self._at
        finally:
            os.close(file)


async def open_for_reading(path: Path, place: BlobPath, run: ThreadRunner) -> FileIO:
    """Open a file for reading; close it again if the caller is cancelled meanwhile. Raises: BlobMissing, BlobStoreDown."""
    cached = open_if_cached(path)
    if cached is not None:
        with translate_disk_errors("read", place):
            return FileIO(cached)
    opening = asyncio.ensure_future(run(FileIO, path))
    try:
        with translate_disk_errors("read", place):
            return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_file)
        raise


def open_private(path: Path, flags: int, make_parent: MakeParent) -> int:
    """Open a file with mode 0600, and create its folder if that does not exist."""
    try:
        return os.open(path, flags, _PRIVATE)
    except FileNotFoundError:
        make_parent(path)
        return os.open(path, flags, _PRIVATE)


def write_piece(file: int, piece: Piece) -> None:
    """Write all chunks of a piece at the current position, usually in one call of the kernel."""
    left = sum(map(len, piece))
    written = os.writev(file, piece) if left else 0
    if written < left:  # interrupted, or the disk is full, which the next call reports
        write_all(file, b"".join(piece)[written:])


def write_all(file: int, piece: bytes | memoryview, at: int | None = None) -> None:
    """Write all bytes, at the current position or at an offset."""
    view = memoryview(piece)
    while view:
        written = os.write(file, view) if at is None else os.pwrite(file, view, at)
        at = None if at is None else at + written
        view = view[written:]


def start_writeback(file: int, at: int, size: int) -> None:
    """Start to write a range of a file to the disk without waiting, so that the final sync has less to do.

    The advice also drops clean pages from the cache; those of the range are dirty.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file, at, size, os.POSIX_FADV_DONTNEED)


def cached_bytes(file: FileIO, size: int, at: int) -> bytes:
    """Read up to `size` bytes that are in the kernel's page cache; return b"" if the read would wait for the disk."""
    if _NO_WAIT is None:
        return b""
    buffer = bytearray(size)
    try:
        count = os.preadv(file.fileno(), [buffer], at, _NO_WAIT)
    except OSError:  # not in memory, or not supported: the ordinary read reports what is wrong
        return b""
    return bytes(memoryview(buffer)[:count])


def make_folder(root: Path, path: Path) -> None:
    """Create a folder inside of the store's folder `root`, and its parents, private and durable."""
    if path.is_dir():
        return
    if path != root:
        make_folder(root, path.parent)
    else:
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    if root / blob_names.OBJECTS.name in path.parents:
        spread_folders_in(path.parent)
    path.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Sync a file that another one wrote. Raises: OSError."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_folder(path: Path) -> None:
    """Sync a folder, so that the names in it are durable."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _close_file(opening: asyncio.Future[FileIO]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
