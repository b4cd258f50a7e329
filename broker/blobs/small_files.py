"""Write short blobs to the local disk, several at once: the files that wait together are written by one call in a thread.

    write(place, data) -> [ waiting ] -> one thread: create and write every file; then append all to the log (`short_log.py`)
                                         without a log: sync each file; then sync every folder once

Without a log all files are on their way to the disk before the first sync waits for it, so the file system makes them durable in
one commit of its journal, and the syncs of the others find nothing left to do.

A file is created at its final path: no row names it before it is durable, so no reader looks for it, and what a crash
leaves is a blob without a row, which the sweep removes. While calls run, further files wait and form the next group.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from broker.blobs.blob_names import BlobPath
from broker.blobs.disk_files import (
    NEW_FILE,
    MakeParent,
    open_private,
    start_writeback,
    sync_folder,
    write_all,
)
from broker.blobs.errors import BlobStoreDown, translate_disk_errors
from broker.blobs.model import ThreadRunner
from broker.blobs.short_log import ShortLog
from broker.blobs.short_log_records import LoggedBlob
from broker.blobs.short_log_segment import LARGEST_RECORD

_AT_ONCE = 8
"""Groups that are written at the same time. Each thread that returns from a call of the kernel waits for Python's lock: with more
threads the groups are smaller, and there is more to wait for.
"""
_LARGEST_GROUP = 16
_LOGGED_AT_ONCE = 1
"""Groups that are written at the same time with a log. The next one collects meanwhile: of larger groups a file costs less (measured
alone, 2 and 4 were no faster).
"""
_LARGEST_LOGGED_GROUP = 64
_OVERHEAD = 256
"""More bytes than a record needs for a blob beside its data, and for itself."""


class _SmallFile:
    """A file to write; `error` is why that failed."""

    __slots__ = ("blob", "done", "error", "folder", "path")

    def __init__(self, path: Path, blob: LoggedBlob, done: asyncio.Future[None]) -> None:
        self.path, self.folder, self.blob, self.done = path, path.parent, blob, done
        self.error: BlobStoreDown | None = None


class SmallFiles:
    """Writes short files durably. `take` is called with the bytes of each, and raises when the limit of staged bytes is reached."""

    def __init__(
        self,
        root: Path,
        run: ThreadRunner,
        make_parent: MakeParent,
        take: Callable[[int], None],
        log: ShortLog,
    ) -> None:
        self._root, self._run, self._make_parent, self._take, self._log = root, run, make_parent, take, log
        self._waiting: list[_SmallFile] = []
        self._running = 0
        self._drained: asyncio.Future[None] | None = None
        self._caring: asyncio.Future[None] | None = None

    async def write(self, place: BlobPath, data: bytes) -> None:
        """Write a new file and wait until it is durable; after an error it does not exist. Raises: BlobStoreDown."""
        blob, loop = LoggedBlob(place, data), asyncio.get_running_loop()
        file = _SmallFile(self._root / place.name, blob, loop.create_future())
        self._waiting.append(file)
        if len(self._waiting) == 1:
            loop.call_soon(self._start)  # with those that other tasks write in this iteration of the loop
        await file.done

    async def close(self) -> None:
        """Wait until all files are written, and close the log."""
        self._start()
        while self._running:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained
        if self._caring is not None:
            await asyncio.wait([self._caring])
        if self._log.is_open:
            await self._run(self._log.close)

    def _start(self) -> None:
        """Start groups of those that wait."""
        while self._waiting and self._running < (_LOGGED_AT_ONCE if self._log.is_in_use else _AT_ONCE):
            is_logged = self._log.is_in_use
            group = self._next_group(is_logged)
            self._running += 1
            writing = asyncio.ensure_future(self._run(self._write, group, is_logged))
            writing.add_done_callback(lambda done, group=group: self._ended(done, group))  # type: ignore[misc]  # a default binds the group

    def _next_group(self, is_logged: bool) -> list[_SmallFile]:
        if not is_logged:
            group, self._waiting = self._waiting[:_LARGEST_GROUP], self._waiting[_LARGEST_GROUP:]
            return group
        size = count = 0
        for file in self._waiting[:_LARGEST_LOGGED_GROUP]:
            size += len(file.blob.data) + _OVERHEAD
            if size > LARGEST_RECORD - _OVERHEAD and count:
                break
            count += 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group

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
        if not self._running and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._caring is None and self._log.needs_care:
            self._caring = asyncio.ensure_future(self._run(self._log.maintain))
            self._caring.add_done_callback(self._cared)

    def _cared(self, caring: "asyncio.Future[None]") -> None:
        self._caring = None
        if not caring.cancelled():
            caring.exception()  # of the disk: files are synced one by one, and what fails there is reported

    def _write(self, group: Sequence[_SmallFile], is_logged: bool) -> None:
        """Write a group in a thread: an error of one file is set in it and does not affect the others."""
        created = [(file, number) for file in group if (number := self._create(file)) >= 0]
        for file, number in created:
            _write_bytes(file, number, is_synced_later=not is_logged and len(created) > 1)
        if is_logged and self._append([file for file, _ in created if file.error is None]):
            for _, number in created:
                os.close(number)
        else:
            self._sync(created)
        for file, _ in created:
            if file.error is not None:
                with suppress(OSError):
                    os.unlink(file.path)

    def _create(self, file: _SmallFile) -> int:
        """Create a file; return its descriptor, -1 if that failed."""
        try:
            with translate_disk_errors("write"):
                self._take(len(file.blob.data))
                return open_private(file.path, NEW_FILE, self._make_parent)
        except BlobStoreDown as error:
            file.error = error
            return -1

    def _append(self, files: Sequence[_SmallFile]) -> bool:
        """Append files to the log; return whether nothing is left to do for them."""
        if not files:
            return True
        try:
            with translate_disk_errors("write"):
                return self._log.append([file.blob for file in files])
        except BlobStoreDown as error:
            for file in files:
                file.error = error
            return True

    def _sync(self, created: Sequence[tuple[_SmallFile, int]]) -> None:
        """Sync and close the files; then sync their folders."""
        for file, number in created:
            _sync(file, number)
        files = [file for file, _ in created if file.error is None]
        for folder in {file.folder for file in files}:
            try:
                with translate_disk_errors("write"):
                    sync_folder(folder)
            except BlobStoreDown as error:
                for file in files:
                    if file.folder == folder:
                        file.error = error
        self._log.count(len(files))


def _write_bytes(file: _SmallFile, number: int, *, is_synced_later: bool) -> None:
    """Write a file, and start its way to the disk if the sync of another one comes before its own."""
    try:
        with translate_disk_errors("write"):
            write_all(number, file.blob.data)
    except BlobStoreDown as error:
        file.error = error
    if is_synced_later:
        start_writeback(number, 0, len(file.blob.data))


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
