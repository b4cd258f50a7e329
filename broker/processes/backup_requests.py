"""The folder through which the pool `management` has the supervisor make backups, and learns how far they are.

    <folder>/.request.json   written by the pool, taken by the supervisor: the name of the backup to make
    <folder>/.status.json    written by the supervisor: the backup under way, or the last one
    <folder>/.schedule.json  written by the pool: the schedule, where an administrator changed it while the platform runs
    <folder>/<name>/         a backup (workers/backup/manifest.py)

A backup needs a superuser of the database, and no worker has its password. So the pool only names the folder of the backup, in a
form that leads nowhere else, and the supervisor makes it, one at a time. Where no supervisor runs, the request stays.
"""

import re
import secrets
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from broker.processes.data_folder import data_folder
from broker.processes.request_file import take_request_file, withdraw_request_file, write_request_file
from schemas.settings.management import Management

BACKUP_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}")
REQUEST, STATUS, SCHEDULE = ".request.json", ".status.json", ".schedule.json"
MOST_LINES = 50
_LONGEST = 256 * 1024
_T = TypeVar("_T", bound=Struct)


class BackupRequest(Struct, frozen=True):
    """A backup to make: its name."""

    name: str


class BackupStatus(Struct, frozen=True):
    """A backup under way, or the last one. `state`: running, done or failed; times in seconds since 1970; `lines`: the last reports."""

    name: str
    state: str
    started_at: float
    ended_at: float | None = None
    lines: list[str] = []


class BackupSchedule(Struct, frozen=True):
    """When backups are made (cron, GMT; empty: never), and how many whole ones are left after each; 0: all."""

    schedule: str
    kept: int


def backup_folder(settings: Management, data: Path | None = None) -> Path:
    """Return the folder of the backups: from the settings, else `backups` in the data folder."""
    return Path(settings.backup_folder) if settings.backup_folder else (data or data_folder()) / "backups"


def write_request(folder: Path, request: BackupRequest) -> bool:
    """Request a backup; return whether there was no other request. Raises: OSError."""
    return write_request_file(folder / REQUEST, request)


def take_request(folder: Path) -> BackupRequest | None:
    """Take the request, so that it is no longer there; None without one, or for one that names no backup."""
    request = take_request_file(folder / REQUEST, BackupRequest)
    return request if request is not None and BACKUP_NAME.fullmatch(request.name) else None


def withdraw_request(folder: Path) -> bool:
    """Remove a request that no supervisor took; return whether there was one."""
    return withdraw_request_file(folder / REQUEST)


def write_status(folder: Path, status: BackupStatus) -> None:
    """Write the status; readers see the old or the new one, whole. Raises: OSError."""
    _write_whole(folder, STATUS, status)


def read_status(folder: Path) -> BackupStatus | None:
    """Return the status; None if no backup was requested yet."""
    return _read(folder, STATUS, BackupStatus)


def write_schedule(folder: Path, schedule: BackupSchedule, of_start: BackupSchedule) -> None:
    """Write the schedule that applies; nothing while it is that of the start and was never changed. Raises: OSError."""
    if schedule == of_start and not (folder / SCHEDULE).exists():
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_whole(folder, SCHEDULE, schedule)


def read_schedule(folder: Path) -> BackupSchedule | None:
    """Return the schedule that administrators changed; None if that of the settings applies."""
    return _read(folder, SCHEDULE, BackupSchedule)


def _write_whole(folder: Path, name: str, value: Struct) -> None:
    draft = folder / f"{name.removesuffix('.json')}-{secrets.token_hex(4)}"
    try:
        draft.write_bytes(msgspec.json.encode(value))
        draft.replace(folder / name)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _read(folder: Path, name: str, kind: type[_T]) -> _T | None:
    try:
        with (folder / name).open("rb") as file:
            return msgspec.json.decode(file.read(_LONGEST), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
