"""Make short blobs durable by one write for all that wait together, and their files later, many at once.

    files created and written, not synced -> record of all of them appended durably -> acknowledged
    segment full -> syncfs(2) makes its files durable -> its records are given up, it is used again

Readers of every process on this machine read the files from the page cache. If the process dies the kernel still has them; if
the machine dies the record has their bytes: whoever opens the folder next writes missing ones again (`short_log_recovery.py`).
So a segment is given up only when all its files are durable. Meanwhile another one is written, and if none is ready, the
files are synced one by one (`small_files.py`): no writer waits for a segment.

Only for a folder on ext4 or XFS of this machine (`file_systems.py`). The first segment is made after `_FIRST` blobs, because a
project that stores few does not need 32 MiB for them.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

from broker.blobs.disk_files import make_folder
from broker.blobs.file_systems import overwrites_in_place, sync_file_system
from broker.blobs.short_log_records import LoggedBlob, record_size
from broker.blobs.short_log_recovery import restore_segment
from broker.blobs.short_log_segment import (
    FOLDER,
    LARGEST_RECORD,
    SEGMENT,
    SUFFIX,
    LogFolderLock,
    ShortLogSegment,
)

_SEGMENTS = 2
_FIRST = 64
"""Short blobs of this process before it makes a segment."""
_AGAIN_S = 30.0
"""Seconds until a segment is made again, or the files of one are synced again, after the disk failed."""


class ShortLog:
    """The log of one process in a folder of blobs. Its methods are called from several threads."""

    def __init__(self, root: Path, first: int = _FIRST, segment_size: int = SEGMENT) -> None:
        self._root, self._folder = root, root / FOLDER
        self._first, self._segment_size = first, segment_size
        self._lock, self._appending, self._maintaining = Lock(), Lock(), Lock()
        self._written: ShortLogSegment | None = None
        self._ready: list[ShortLogSegment] = []
        self._full: list[ShortLogSegment] = []
        self._failed: list[ShortLogSegment] = []
        """Segments that the disk failed to write: as full ones, but never written again."""
        self._not_before = 0.0
        self._file_system = -1
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Return whether the log has been set up and must be closed."""
        return self._file_system >= 0

    @property
    def is_in_use(self) -> bool:
        """Return whether a segment is being written, or can be."""
        return self._written is not None or bool(self._ready)

    @property
    def needs_care(self) -> bool:
        """Return whether `maintain` has something to do."""
        if self._is_closed or time.monotonic() < self._not_before:
            return False
        return self._first <= 0 and (bool(self._full) or bool(self._failed) or not self._ready)

    def count(self, blobs: int) -> None:
        """Count blobs that were written without the log."""
        self._first -= blobs

    def append(self, blobs: Sequence[LoggedBlob]) -> bool:
        """Append blobs durably, whose files are written; return False if there is no room now.

        Waits for the appends of other threads. Raises: OSError; then the blobs are not stored.
        """
        size = record_size(blobs)
        if size > LARGEST_RECORD:
            return False
        with self._appending:
            segment = self._segment_with_room(size)
            if segment is None:
                return False
            try:
                segment.append(blobs)
            except OSError:
                with self._lock:
                    self._failed.append(segment)
                    self._written = None
                raise
        return True

    def maintain(self) -> None:
        """Make the files of full segments durable, and make segments that are missing. Waits for the disk and for another such call. Raises: OSError."""
        with self._maintaining:
            try:
                self._sync_full()
                if self._count() < _SEGMENTS:
                    self._create()
            except OSError:
                self._not_before = time.monotonic() + _AGAIN_S
                raise

    def close(self) -> None:
        """Make all files durable and remove the log. After an error it stays for whoever opens the folder next."""
        with self._lock:
            self._is_closed = True
            self._full += [segment for segment in (self._written, *self._ready) if segment is not None]
            self._written, self._ready = None, []
        try:
            with suppress(OSError):
                self._sync_full()
        finally:
            for segment in (*self._full, *self._failed):
                segment.close()
            self._full, self._failed = [], []
            if self._file_system >= 0:
                os.close(self._file_system)
                self._file_system = -1

    def _segment_with_room(self, size: int) -> ShortLogSegment | None:
        with self._lock:
            if self._written is not None and not self._written.has_room(size):
                self._full.append(self._written)
                self._written = None
            if self._written is None and self._ready:
                self._written = self._ready.pop()
            return self._written

    def _count(self) -> int:
        with self._lock:
            return len(self._ready) + len(self._full) + len(self._failed) + (self._written is not None)

    def _sync_full(self) -> None:
        """Give up the records of full segments. Their files are written: who filled them has begun the next one."""
        with self._lock:
            full, failed = list(self._full), list(self._failed)
        if not full and not failed:
            return
        try:
            sync_file_system(self._file_system)
        except OSError:
            for segment in (*full, *failed):
                restore_segment(segment.path, self._root, restores_missing=False)
        for segment in full:
            if self._is_closed:
                segment.remove()
            else:
                try:
                    segment.reset()
                except OSError:
                    failed.append(segment)
            with self._lock:
                self._full.remove(segment)
                if not self._is_closed and segment not in failed:
                    self._ready.append(segment)
        for segment in failed:
            with suppress(OSError):
                segment.remove()
            with self._lock, suppress(ValueError):
                self._failed.remove(segment)

    def _create(self) -> None:
        if self._file_system < 0:
            if not overwrites_in_place(self._root):
                self._not_before = float("inf")
                return
            make_folder(self._root, self._folder)
            # Opened before the first file is written: the kernel reports errors that happen from now on.
            self._file_system = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        path = self._folder / f"{uuid4().hex}{SUFFIX}"
        segment = ShortLogSegment.create(path, LogFolderLock(self._folder), self._segment_size)
        with self._lock:
            self._ready.append(segment)
