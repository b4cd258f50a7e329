"""The file by which the process `archive` reports what is stored: `status`, `doctor` and the metrics read the same figures.

It is `archive.json` in the data folder. The process writes it with every piece of the log, and at least every ten seconds.
"""

import contextlib
import os
import secrets
from pathlib import Path

import msgspec
from msgspec import Struct

NAME = "archive.json"
MOST_BASES = 100
"""Base backups that the file lists, the newest ones."""
_LONGEST = 256 * 1024


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
    draft = folder / f".{NAME}-{secrets.token_hex(4)}"
    with contextlib.suppress(OSError):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.encode(status))
            draft.replace(folder / NAME)
        except OSError:
            draft.unlink(missing_ok=True)


def read_archive_status(folder: Path) -> ArchiveStatus | None:
    """Return the content of the file; None if no process has written one."""
    try:
        with (folder / NAME).open("rb") as file:
            return msgspec.json.decode(file.read(_LONGEST), type=ArchiveStatus)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
