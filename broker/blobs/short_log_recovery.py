"""Replay the logs of short blobs that a dead process left, before anything is read or written.

    log locked by its process        it is alive: nothing to do
    lock free                        each file of the log: synced, and compared with its record; if it is missing or different
                                     it is written again. Then the log is deleted

It makes no difference whether the process or the machine died, or which machine this folder was copied from. A blob that was
deleted meanwhile may come back as a file without a row, which the sweep removes (workers/storage/sweeps/sweep.py). Names in a
log are paths inside of the store and nothing else, so a copied log changes its own store alone.

Several processes may open the folder at once: one replays, the others wait for it (`LogFolderLock`).
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from broker.blobs import blob_names
from broker.blobs.disk_files import NEW_FILE, make_folder, open_private, sync_folder, write_all
from broker.blobs.short_log_records import LogDamaged, LoggedBlob, decode_segment
from broker.blobs.short_log_segment import FOLDER, SUFFIX, LogFolderLock
from broker.observability.observations import Observation
from broker.observability.observe import observe


class ShortBlobsRestored(Observation, frozen=True):
    """A process ended without closing its log of short blobs; their files were made durable, and lost ones written again."""

    blobs: int
    written_again: int


class ShortLogDamaged(Observation, frozen=True):
    """A log of short blobs has damaged bytes: the disk lost some, or changed them. `BlobsMissing` names the objects, if any."""

    level: ClassVar[str] = "error"
    size: int


def restore_logs(root: Path) -> None:
    """Replay and delete the logs of dead processes in a folder of blobs. Waits for another process that does. Raises: OSError."""
    folder = root / FOLDER
    if not _logs(folder):
        return
    with LogFolderLock(folder):
        for path in _logs(folder):
            _restore_if_left(path, root)


def restore_segment(path: Path, root: Path, *, restores_missing: bool) -> tuple[int, int]:
    """Make the files of a log durable; return how many there are, and how many of them were written again. Raises: OSError."""
    folders: set[Path] = set()
    count = again = 0
    for item in decode_segment(memoryview(path.read_bytes())):
        if isinstance(item, LogDamaged):
            observe(ShortLogDamaged(item.size))
            continue
        file = root / item.place.name
        is_there = _is_whole(file, item.data)
        if is_there is None and not restores_missing:
            continue
        if not is_there:
            _write_again(root, item)
            again += 1
        folders.add(file.parent)
        count += 1
    for parent in folders:
        with suppress(FileNotFoundError):  # its bucket was deleted
            sync_folder(parent)
    return count, again


def _logs(folder: Path) -> list[Path]:
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(SUFFIX))
    except FileNotFoundError:
        return []


def _restore_if_left(path: Path, root: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:  # its process has just closed it
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            count, again = restore_segment(path, root, restores_missing=True)
            path.unlink(missing_ok=True)
            if count:
                observe(ShortBlobsRestored(count, again))
    except BlockingIOError:  # its process is alive
        return
    finally:
        os.close(descriptor)


def _is_whole(path: Path, data: bytes) -> bool | None:
    """Sync a file; return whether it is durable with these bytes, None if it does not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        # Danger: first the sync. If the kernel failed to write the file, its cache may still have the right bytes.
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size == len(data) and os.pread(descriptor, len(data) + 1, 0) == data
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _write_again(root: Path, blob: LoggedBlob) -> None:
    """Write a file durably beside its path, and rename it: nobody reads a part of it. The caller syncs its folder."""
    draft, path = root / blob_names.staging(uuid4()).name, root / blob.place.name
    descriptor = open_private(draft, NEW_FILE, lambda file: make_folder(root, file.parent))
    try:
        try:
            write_all(descriptor, blob.data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        make_folder(root, path.parent)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise
