"""Replay the logs of short blobs that a dead process left, before anything is read or written.

    log locked by its process        it is alive: nothing to do
    lock free                        each file of the log: synced, and compared with its record; if it is missing or different
                                     it is written again. Then the log is deleted

It makes no difference whether the process or the machine died, or which machine this folder was copied from. A blob that was
deleted meanwhile may come back as a file without a row, which the sweep removes (workers/storage/sweeps/sweep.py). Names in a
log are paths inside of the store and nothing else, so a copied log changes its own store alone.

What the log lacks is reported at once (`ShortLogDamaged`, `ShortLogRecordsMissing`), and a note is left for the sweep, which knows
the rows and so the objects (`short_log_notes.py`): a disk that lost a part of the log may have lost the files, too, and then
nothing here tells of them.

Several processes may open the folder at once: one replays, the others wait for it (`LogFolderLock`).
"""

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from broker.blobs import blob_names
from broker.blobs.disk_files import NEW_FILE, make_folder, open_private, sync_folder, write_all
from broker.blobs.short_log_mark import SUFFIX as MARK_SUFFIX
from broker.blobs.short_log_mark import read_mark, remove_mark
from broker.blobs.short_log_notes import ShortLogNote, write_note
from broker.blobs.short_log_records import (
    BLOCK,
    LogDamaged,
    LoggedBlob,
    LoggedBlobsAbsent,
    decode_header,
    decode_segment,
)
from broker.blobs.short_log_segment import FOLDER, SUFFIX, LogFolderLock
from broker.observability.observations import Observation
from broker.observability.observe import observe


class ShortBlobsRestored(Observation, frozen=True):
    """A process ended without closing its log of short blobs; their files were made durable, and lost ones written again."""

    blobs: int
    written_again: int


class ShortLogDamaged(Observation, frozen=True):
    """A log of short blobs has damaged bytes: the disk lost some, or changed them. `ObjectsLost` names the objects, if any."""

    level: ClassVar[str] = "error"
    size: int


class ShortLogRecordsMissing(Observation, frozen=True):
    """Acknowledged records are missing in a log of short blobs: the disk lost what it had confirmed. `ObjectsLost` names the objects
    that are lost with them; those whose files are whole are not."""

    level: ClassVar[str] = "error"
    records: int


@dataclass(slots=True)
class RestoredSegment:
    """What the replay of one log did and found."""

    blobs: int = 0
    written_again: int = 0
    absent: int = 0
    damaged: int = 0


_DAY_S = 86400.0


def restore_logs(root: Path) -> None:
    """Replay and delete the logs of dead processes in a folder of blobs. Waits for another process that does. Raises: OSError."""
    folder = root / FOLDER
    if not _files(folder, SUFFIX, MARK_SUFFIX):
        return
    with LogFolderLock(folder):
        for path in _files(folder, SUFFIX):
            _restore_if_left(path, root)
        for mark in _files(folder, MARK_SUFFIX):
            _report_lost_log(mark.with_suffix(SUFFIX), root)


def restore_segment(path: Path, root: Path, *, restores_missing: bool) -> RestoredSegment:
    """Make the files of a log durable, report what it lacks, and leave a note for the sweep. Raises: OSError."""
    content = memoryview(path.read_bytes())
    folders: set[Path] = set()
    restored = RestoredSegment()
    for item in decode_segment(content, read_mark(path)):
        if isinstance(item, LogDamaged):
            restored.damaged += item.size
            observe(ShortLogDamaged(item.size))
            continue
        if isinstance(item, LoggedBlobsAbsent):
            restored.absent = item.blobs
            observe(ShortLogRecordsMissing(item.blobs))
            continue
        file = root / item.place.name
        is_there = _is_whole(file, item.data)
        if is_there is None and not restores_missing:
            continue
        if not is_there:
            _write_again(root, item)
            restored.written_again += 1
        folders.add(file.parent)
        restored.blobs += 1
    for parent in folders:
        with suppress(FileNotFoundError):  # its bucket was deleted
            sync_folder(parent)
    if restored.absent or restored.damaged or (restored.blobs and restores_missing):
        _leave_note(path, restored, _began(path, bytes(content[:BLOCK])))
    return restored


def _leave_note(path: Path, restored: RestoredSegment, since: float) -> None:
    with suppress(OSError):  # a full disk must not keep the blobs of the log away
        note = ShortLogNote(path.stem, since, time.time(), restored.absent, restored.damaged)
        write_note(path.parent, note)


def _began(path: Path, block: bytes) -> float:
    """Return the time before which no blob of a log was written; a day before its last change where its header does not say it."""
    header = decode_header(block)
    return header.started_at if header and header.started_at else path.stat().st_mtime - _DAY_S


def _report_lost_log(path: Path, root: Path) -> None:
    """Report what the mark of a log counted whose file is gone: a log is deleted after its mark. The caller holds the lock."""
    if path.exists():  # of a living process
        return
    mark = read_mark(path)
    if mark is not None and mark.blobs:
        observe(ShortLogRecordsMissing(mark.blobs))
        began = (root / FOLDER / f"{path.stem}{MARK_SUFFIX}").stat().st_mtime - _DAY_S
        _leave_note(path, RestoredSegment(absent=mark.blobs), began)
    remove_mark(path)


def _files(folder: Path, *suffixes: str) -> list[Path]:
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(suffixes))
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
            restored = restore_segment(path, root, restores_missing=True)
            remove_mark(path)
            path.unlink(missing_ok=True)
            if restored.blobs:
                observe(ShortBlobsRestored(restored.blobs, restored.written_again))
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
