"""Write short blobs to the local disk, several at once: the files that wait together are written by one call in a thread.

    write(path, data) -> [ waiting ] -> one thread: create and write every file; then sync each; then sync every folder once

All files are on their way to the disk before the first sync waits for it, so the file system makes them durable in one commit of
its journal, and the syncs of the others find nothing left to do.

A file is created at its final path: no row names it before it is durable, so no reader looks for it, and what a crash
leaves is a blob without a row, which the sweep removes. While calls run, further files wait and form the next group.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from broker.blobs.disk_files import MakeParent, open_private, start_writeback, sync_folder, write_all
from broker.blobs.errors import BlobStoreDown, translate_disk_errors
from broker.blobs.model import ThreadRunner

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_AT_ONCE = 8
"""Groups that are written at the same time. Each thread that returns from a call of the kernel waits for Python's lock: with more
threads the groups are smaller, and there is more to wait for.
"""
_LARGEST_GROUP = 16


class _SmallFile:
    """A file to write; `error` is why that failed."""

    __slots__ = ("data", "done", "error", "folder", "path")

    def __init__(self, path: Path, data: bytes, done: asyncio.Future[None]) -> None:
        self.path, self.folder, self.data, self.done = path, path.parent, data, done
        self.error: BlobStoreDown | None = None


class SmallFiles:
    """Writes short files durably. `take` is called with the bytes of each, and raises when the limit of staged bytes is reached."""

    def __init__(self, run: ThreadRunner, make_parent: MakeParent, take: Callable[[int], None]) -> None:
        self._run, self._make_parent, self._take = run, make_parent, take
        self._waiting: list[_SmallFile] = []
        self._running = 0

    async def write(self, path: Path, data: bytes) -> None:
        """Write a new file and wait until it is durable; after an error it does not exist. Raises: BlobStoreDown."""
        file = _SmallFile(path, data, asyncio.get_running_loop().create_future())
        self._waiting.append(file)
        self._start()
        await file.done

    def _start(self) -> None:
        while self._waiting and self._running < _AT_ONCE:
            group, self._waiting = self._waiting[:_LARGEST_GROUP], self._waiting[_LARGEST_GROUP:]
            self._running += 1
            writing = asyncio.ensure_future(self._run(self._write, group))
            writing.add_done_callback(lambda done, group=group: self._ended(done, group))  # type: ignore[misc]  # a default binds the group

    def _ended(self, writing: "asyncio.Future[None]", group: Sequence[_SmallFile]) -> None:
        self._running -= 1
        failure = asyncio.CancelledError() if writing.cancelled() else writing.exception()
        for file in group:
            error = file.error or failure
            if file.done.done():  # the caller was cancelled; the sweep removes the file
                continue
            if error is None:
                file.done.set_result(None)
            else:
                file.done.set_exception(error)
        self._start()

    def _write(self, group: Sequence[_SmallFile]) -> None:
        """Write a group in a thread: an error of one file is set in it and does not affect the others."""
        created = [(file, number) for file in group if (number := self._create(file)) >= 0]
        for file, number in created:
            _write_bytes(file, number, is_alone=len(created) == 1)
        for file, number in created:
            _sync(file, number)
        self._sync_folders([file for file, _ in created if file.error is None])
        for file, _ in created:
            if file.error is not None:
                with suppress(OSError):
                    os.unlink(file.path)

    def _create(self, file: _SmallFile) -> int:
        """Create a file; return its descriptor, -1 if that failed."""
        try:
            with translate_disk_errors("write"):
                self._take(len(file.data))
                return open_private(file.path, _CREATE, self._make_parent)
        except BlobStoreDown as error:
            file.error = error
            return -1

    def _sync_folders(self, files: Sequence[_SmallFile]) -> None:
        for folder in {file.folder for file in files}:
            try:
                with translate_disk_errors("write"):
                    sync_folder(folder)
            except BlobStoreDown as error:
                for file in files:
                    if file.folder == folder:
                        file.error = error


def _write_bytes(file: _SmallFile, number: int, *, is_alone: bool) -> None:
    """Write a file, and start its way to the disk unless a sync follows at once."""
    try:
        with translate_disk_errors("write"):
            write_all(number, file.data)
    except BlobStoreDown as error:
        file.error = error
    if not is_alone:
        start_writeback(number, 0, len(file.data))


def _sync(file: _SmallFile, number: int) -> None:
    """Sync a file and close it."""
    try:
        if file.error is None:
            with translate_disk_errors("write"):
                os.fsync(number)
    except BlobStoreDown as error:
        file.error = error
    finally:
        os.close(number)
