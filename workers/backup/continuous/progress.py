"""What the process `archive` knows of its own work: for the status file, the metrics and the faults."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from broker.observability.faults import FAULTS
from broker.observability.observe import gauge
from broker.processes.archive_status import MOST_BASES, ArchiveStatus, StoredBase, write_archive_status
from broker.processes.drill_status import read_drill_status
from workers.backup.continuous.archive import BaseInfo
from workers.backup.continuous.base_links import restorable

LOG, BASE, OBJECTS = "backup of the log", "base backup", "backup of objects"
"""The parts whose faults are reported."""
_WRITE_EVERY_S = 10.0


@dataclass(slots=True)
class ArchiveProgress:
    """The figures of now. `folder` is the data folder, where the status file is."""

    folder: Path
    archive: str = ""
    offset_s: float = 0.0
    """The server's clock minus this machine's."""
    covered_until: float | None = None
    base_at: float | None = None
    oldest: float | None = None
    base_running: bool = False
    waiting_bytes: int = 0
    stored_bytes: int = 0
    bases: list[StoredBase] = field(default_factory=list)
    """Complete base backups, the newest first."""
    faults: dict[str, str] = field(default_factory=dict)
    _written: float = field(default=0.0, init=False)

    def server_time(self) -> float:
        """Return the server's clock in seconds since 1970."""
        return time.time() + self.offset_s

    @property
    def lag_s(self) -> float | None:
        """Seconds since the last moment that is stored."""
        return (
            None
            if self.covered_until is None
            else max(0.0, round(self.server_time() - self.covered_until, 1))
        )

    def set_bases(self, bases: Sequence[BaseInfo]) -> None:
        """Note the complete base backups, the oldest first, and from which moment on a restore can go."""
        self.base_at = bases[-1].began_at if bases else None
        shown = restorable(bases)
        self.oldest = shown[0].ended_at if shown else None
        self.bases = [_stored(base) for base in reversed(shown[-MOST_BASES:])]
        self.write()

    def add_base(self, base: BaseInfo) -> None:
        """Note a base backup that is complete now."""
        self.base_at = base.began_at
        self.oldest = self.oldest or base.ended_at
        self.bases = [_stored(base), *self.bases][:MOST_BASES]
        self.write()

    def fail(self, part: str, reason: str) -> None:
        """Report that a part does not work."""
        self.faults[part] = reason
        FAULTS.report(part, reason)
        self.write()

    def clear(self, part: str) -> None:
        """Report that a part works."""
        FAULTS.clear(part)
        if self.faults.pop(part, None) is not None:
            self.write()

    def write_regularly(self) -> None:
        """Write the status file if it is ten seconds old."""
        if time.monotonic() > self._written + _WRITE_EVERY_S:
            self.write()

    def write(self) -> None:
        """Write the status file."""
        self._written = time.monotonic()
        status = ArchiveStatus(
            archive=self.archive,
            written_at=time.time(),
            covered_until=self.covered_until,
            lag_s=self.lag_s,
            base_at=self.base_at,
            oldest=self.oldest,
            base_running=self.base_running,
            waiting_bytes=self.waiting_bytes,
            stored_bytes=self.stored_bytes,
            bases=self.bases,
            fault="; ".join(f"{part}: {reason}" for part, reason in self.faults.items()),
        )
        write_archive_status(self.folder, status)

    def add_gauges(self) -> list[Callable[[], None]]:
        """Add the metrics; return what removes them."""
        never = float("nan")
        return [
            gauge(
                "headwater_archive_lag_seconds",
                "Seconds since the last moment that continuous backup has stored.",
                lambda: never if self.lag_s is None else self.lag_s,
            ),
            gauge(
                "headwater_archive_base_age_seconds",
                "Seconds since the last base backup began.",
                lambda: never if self.base_at is None else self.server_time() - self.base_at,
            ),
            gauge(
                "headwater_archive_waiting_bytes",
                "Bytes of the log that wait on the database's disk to be stored.",
                lambda: float(self.waiting_bytes),
            ),
            gauge(
                "headwater_restore_drill_age_seconds",
                "Seconds since the last restore drill began.",
                lambda: (
                    never
                    if (drill := read_drill_status(self.folder)) is None
                    else time.time() - drill.began_at
                ),
            ),
            gauge(
                "headwater_restore_drill_faults",
                "Faults that the last restore drill found.",
                lambda: (
                    never if (drill := read_drill_status(self.folder)) is None else float(len(drill.faults))
                ),
            ),
            gauge(
                "headwater_archive_up",
                "Whether the log is being stored.",
                lambda: float(LOG not in self.faults and self.covered_until is not None),
            ),
        ]


def _stored(base: BaseInfo) -> StoredBase:
    return StoredBase(base.name, base.began_at, base.ended_at, base.content_bytes, base.parent)
