"""The store of log lines of one machine: a folder of segments, of which one process writes the newest.

    <data>/log-store/
      lock                 held by the process that writes
      00000001.sqlite ...  segments; the highest number is written, the others only read and in the end deleted

The process that holds the lock reads the streams and appends (`workers/management/areas/logs/keeper.py`); any process reads. Nothing here
needs Postgres, or a running platform. A segment is closed at a sixteenth of `max_size` or a fourteenth of `max_age`, and whole
segments are deleted, so deleting costs nothing. The store keeps `least_free` bytes of its disk free: it deletes its oldest segments
for that, and when the last one alone is too much it stops (`StoreFull`) and the lines wait in the stream.
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from broker.logs.lines import StoredLine
from broker.logs.segment import LogSegment, StreamPosition, total_size
from schemas.settings.log import LogStoreSettings

FOLDER = "log-store"
_SUFFIX = ".sqlite"
_PARTS_OF_SIZE, _PARTS_OF_AGE = 16, 14
_LEAST_SEGMENT = 1024 * 1024
_MOST_RUNS = 1000


class StoreFull(Exception):
    """The disk of the store has too little free space."""


class StoreLocked(Exception):
    """Another process writes this store."""


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits of a store, in seconds and bytes."""

    max_age_s: float
    max_size: int
    least_free: int

    @classmethod
    def of(cls, settings: LogStoreSettings) -> "StoreLimits":
        """Return the limits of the settings."""
        return cls(float(settings.max_age), int(settings.max_size), int(settings.least_free))


def segment_paths(folder: Path) -> list[Path]:
    """Return the segments of a store, the oldest first; an empty list if the store does not exist."""
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdigit())


def is_written(folder: Path) -> bool:
    """Return whether a process holds the lock of a store."""
    try:
        with (folder / "lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


class LogStore:
    """The store as its only writer has it. Use it from one thread at a time; methods raise sqlite3.Error, OSError."""

    def __init__(
        self,
        folder: Path,
        limits: StoreLimits,
        clock: Callable[[], float] = time.time,
        free_space: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
    ) -> None:
        self._folder, self._limits, self._clock, self._free_space = folder, limits, clock, free_space
        self._lock: TextIO | None = None
        self._segment: LogSegment | None = None
        self._started_at = 0.0
        self.positions: dict[str, StreamPosition] = {}
        """How far each stream was read."""
        self.runs: dict[str, int] = {}
        """The last stored batch of each process."""

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return total_size(segment_paths(self._folder))

    def open(self) -> None:
        """Open the store for writing. Raises: StoreLocked, sqlite3.Error, OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = (self._folder / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            self._lock = None
            raise StoreLocked from None
        paths = segment_paths(self._folder)
        try:
            self._use(paths[-1] if paths else self._path(1))
        except sqlite3.DatabaseError:
            self._set_aside(paths)

    def close(self) -> None:
        """Close the store and give the lock back."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def append(
        self, lines: Sequence[StoredLine], positions: dict[str, StreamPosition], runs: dict[str, int]
    ) -> None:
        """Add lines in one transaction, and remember how far the streams were read.

        Raises: StoreFull if the disk is full even without older segments; nothing was stored then.
        """
        self._make_room()
        assert self._segment is not None
        try:
            self._segment.append(lines, positions, runs)
        except sqlite3.OperationalError as error:
            if not _is_full(error):
                raise
            self._delete_oldest()
            raise StoreFull(str(error)) from None
        self.positions |= positions
        self.runs |= runs
        self._rotate_if_due()

    def delete_expired(self) -> None:
        """Delete segments beyond the limits of age and size; the newest stays."""
        *older, newest = segment_paths(self._folder)
        oldest_ms = (self._clock() - self._limits.max_age_s) * 1000
        for path in older:
            if total_size([*older, newest]) <= self._limits.max_size and not _ends_before(path, oldest_ms):
                break
            _delete(path)
            older = older[1:]

    def _make_room(self) -> None:
        """Delete the oldest segments while the disk is too full. Raises: StoreFull."""
        while self._free_space(self._folder) < self._limits.least_free:
            if not self._delete_oldest():
                raise StoreFull(
                    f"less than {self._limits.least_free // 1024**2} MiB are free (log.store.least_free)"
                )

    def _delete_oldest(self) -> bool:
        """Delete the oldest segment but the newest; return whether there was one."""
        *older, _ = segment_paths(self._folder)
        if older:
            _delete(older[0])
        return bool(older)

    def _rotate_if_due(self) -> None:
        """Start a new segment when this one is large or old enough."""
        assert self._segment is not None
        path = self._segment.path
        largest = max(self._limits.max_size // _PARTS_OF_SIZE, _LEAST_SEGMENT)
        is_old = self._clock() - self._started_at > self._limits.max_age_s / _PARTS_OF_AGE
        if total_size([path]) < largest and not is_old:
            return
        self._segment.database.execute("pragma wal_checkpoint(truncate)")
        self._segment.close()
        if len(self.runs) > _MOST_RUNS:  # the latest are at the end: a stored batch is added there
            self.runs = dict(list(self.runs.items())[-_MOST_RUNS:])
        positions, runs = self.positions, self.runs
        self._use(self._path(int(path.stem) + 1))
        self._segment.append([], positions, runs)
        self.delete_expired()

    def _use(self, path: Path) -> None:
        """Write into this file from now on."""
        self._segment = LogSegment.create(path)
        path.chmod(0o600)
        self.positions, self.runs = self._segment.state()
        if not self.positions:  # it is new: what was read is in the one before it
            self.positions, self.runs = self._older_state(path)
        times = self._segment.times()
        self._started_at = times[0] / 1000 if times else self._clock()

    def _set_aside(self, paths: list[Path]) -> None:
        """Continue without the newest segment, which cannot be read: it keeps its data under another name."""
        broken = paths[-1]
        for name in (f"{broken.name}-wal", f"{broken.name}-shm"):
            broken.with_name(name).unlink(missing_ok=True)
        broken.rename(broken.with_suffix(".broken"))
        self._use(self._path(int(broken.stem) + 1))

    def _older_state(self, newest: Path) -> tuple[dict[str, StreamPosition], dict[str, int]]:
        """Return positions and runs of the last segment before this one that has them."""
        for path in reversed([path for path in segment_paths(self._folder) if path.name < newest.name]):
            with contextlib.suppress(sqlite3.Error), contextlib.closing(LogSegment.open(path)) as older:
                positions, runs = older.state()
                if positions:
                    return positions, runs
        return {}, {}

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}{_SUFFIX}"


def _ends_before(path: Path, at_ms: float) -> bool:
    """Return whether all lines of a segment are older; also for one that cannot be read."""
    try:
        with contextlib.closing(LogSegment.open(path)) as segment:
            times = segment.times()
    except sqlite3.Error:
        return True
    return times is None or times[1] < at_ms


def _delete(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.with_name(name))


def _is_full(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
