"""The file by which the process `archive` reports what is stored: `status`, `doctor` and the metrics read the same figures.

It is `archive.json` in the data folder. The process writes it with every piece of the log, and at least every ten seconds.
"""

import contextlib
from pathlib import Path

from msgspec import Struct

from broker.processes.status_file import read_status_file, write_status_file

NAME = "archive.json"
MOST_BASES = 100
"""Base backups that the file lists, the newest ones."""


class StoredBase(Struct, frozen=True):
    """A complete base backup. Times are seconds since 1970, by the server's clock; `bytes` of its content, before compression."""

    name: str
    began_at: float
    ended_at: float
    bytes: int
    parent: str = ""
    """The base backup since which it has the changes; empty for a full one."""


class ArchiveStatus(Struct, frozen=True):
    """What is stored of this database. Times are seconds since 1970."""

    archive: str
    written_at: float
    """By the clock of this machine: a file that is minutes old was left by a process that is gone."""
    covered_until: float | None = None
    """Everything committed before it is stored; by the server's clock."""
    lag_s: float | None = None
    """Seconds between that moment and the server's clock at `written_at`."""
    base_at: float | None = None
    """When the last base backup began; without one nothing can be restored from this archive."""
    oldest: float | None = None
    """The earliest moment that can be restored from this archive."""
    base_running: bool = False
    waiting_bytes: int = 0
    """Bytes of the log that wait to be stored."""
    stored_bytes: int = 0
    """Bytes of the log that this process has stored, compressed and encrypted."""
    fault: str = ""
    """Why nothing is stored now, or the last base backup failed."""
    bases: list[StoredBase] = []
    """The complete base backups of this archive, the newest first."""


def write_archive_status(folder: Path, status: ArchiveStatus) -> None:
    """Write the file; readers see the old or the new one, whole. A full disk leaves the old one."""
    with contextlib.suppress(OSError):
        write_status_file(folder / NAME, status)


def read_archive_status(folder: Path) -> ArchiveStatus | None:
    """Return the content of the file; None if no process has written one."""
    return read_status_file(folder / NAME, ArchiveStatus)
