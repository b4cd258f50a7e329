"""Checks of continuous backup: how old the last stored moment is, and whether a restore could begin from it."""

import time
from datetime import UTC, datetime
from pathlib import Path

from broker.processes.archive_status import ArchiveStatus, read_archive_status
from broker.processes.drill_status import DrillStatus, read_drill_status
from schemas.settings.backup import Backup
from services.doctor.finding import DoctorFinding, FindingLevel
from services.supervisor.drill_schedule import longest_age_s

_TITLE = "continuous backup"
_SILENT_S = 120.0
_LEAST_LAG_S = 30.0
_LOG_CURE = "Read why: `headwater logs archive`. The database keeps its log until the store is back, up to backup.wal_limit."


def look_at_archive(
    settings: Backup, data: Path, *, is_running: bool, now: float | None = None
) -> list[DoctorFinding]:
    """Check what is stored; nothing where continuous backup is off."""
    if not settings.continuous:
        return []
    now = time.time() if now is None else now
    status = read_archive_status(data)
    findings = [_place_finding(settings, data), _drill_finding(settings, read_drill_status(data), now)]
    if status is None or status.covered_until is None:
        text = "nothing of this database is stored yet"
        level = FindingLevel.ERROR if is_running else FindingLevel.WARNING
        return [DoctorFinding(_TITLE, level, text, _LOG_CURE), *[finding for finding in findings if finding]]
    if is_running:
        findings = [_log_finding(settings, status, now), _base_finding(settings, status, now), *findings]
    else:
        text = f"everything before {_moment(status.covered_until)} is stored"
        findings.insert(0, DoctorFinding(_TITLE, FindingLevel.OK, text))
    return [finding for finding in findings if finding]


def archive_line(data: Path, now: float | None = None) -> str:
    """Return what `status` shows of continuous backup; empty if nothing was stored by this platform."""
    status = read_archive_status(data)
    if status is None or status.covered_until is None:
        return "nothing is stored yet" if status else ""
    lag = archive_lag(status, time.time() if now is None else now)
    base = f"last base backup {_moment(status.base_at)}" if status.base_at else "no base backup yet"
    return f"everything until {lag:.0f} s ago is stored; {base}"


def archive_lag(status: ArchiveStatus, now: float) -> float:
    """Return the age in seconds of the last stored moment (pure)."""
    return (status.lag_s or 0.0) + max(0.0, now - status.written_at)


def _log_finding(settings: Backup, status: ArchiveStatus, now: float) -> DoctorFinding:
    lag = archive_lag(status, now)
    text = f"everything until {lag:.0f} s ago is stored in {status.archive}"
    if now - status.written_at > _SILENT_S:
        text = f"the process `archive` has not reported for {now - status.written_at:.0f} s; {text}"
    elif lag <= max(_LEAST_LAG_S, 4 * settings.interval):
        return DoctorFinding(_TITLE, FindingLevel.OK, text)
    reason = f": {status.fault}" if status.fault else ""
    return DoctorFinding(_TITLE, FindingLevel.ERROR, text + reason, _LOG_CURE)


def _base_finding(settings: Backup, status: ArchiveStatus, now: float) -> DoctorFinding:
    if status.base_at is None:
        text = "no base backup is complete yet, so nothing can be restored from this archive"
        return DoctorFinding(
            _TITLE, FindingLevel.WARNING, text, "Wait for it, or read `headwater logs archive`."
        )
    age = now - status.base_at
    text = f"the last base backup is of {_moment(status.base_at)}; moments from {_moment(status.oldest or status.base_at)} on can be restored"
    if age <= 2 * settings.base_interval:
        return DoctorFinding(_TITLE, FindingLevel.OK, text)
    cure = "Read why: `headwater logs archive`. A restore has to replay all of the log since."
    return DoctorFinding(_TITLE, FindingLevel.ERROR, text, cure)


def drill_line(status: DrillStatus) -> str:
    """Return in one line what a drill without faults restored and checked."""
    return (
        f"restored {status.moment} in {status.seconds:.0f} s: {status.tables} tables with {status.rows} rows, "
        f"{status.indexes} indexes, answers of {', '.join(status.areas)}"
    )


def _drill_finding(settings: Backup, status: DrillStatus | None, now: float) -> DoctorFinding | None:
    """Report the last restore drill, and one that is late."""
    title = "restore drill"
    if status is None:
        if not settings.drill:
            return None
        return DoctorFinding(
            title, FindingLevel.WARNING, "none has run yet", "Run one: `headwater backup --drill`."
        )
    at = _moment(status.began_at)
    if status.faults:
        text = f"that of {at} failed: {status.faults[0]}"
        return DoctorFinding(
            title, FindingLevel.ERROR, text, "Mend it, and run it again: `headwater backup --drill`."
        )
    if settings.drill and now - status.began_at > longest_age_s(settings.drill):
        return DoctorFinding(
            title,
            FindingLevel.WARNING,
            f"the last one is of {at}",
            "Read why in the supervisor's log: `headwater logs`.",
        )
    if status.unsent:
        return DoctorFinding(
            title,
            FindingLevel.WARNING,
            f"that of {at} passed, but the receiver of backup.drill_webhook did not take it: {status.unsent}",
            "Look at the receiver, and try: `headwater backup --drill`.",
        )
    return DoctorFinding(title, FindingLevel.OK, f"{at}: {drill_line(status)}")


def _place_finding(settings: Backup, data: Path) -> DoctorFinding | None:
    """Warn of a folder on the disk of the database, which is lost with it."""
    if settings.backend != "file":
        return None
    try:
        is_same = Path(settings.path).stat().st_dev == data.stat().st_dev
    except OSError:
        return None
    if not is_same:
        return None
    text = f"{settings.path} is on the disk of the database: both are lost together"
    return DoctorFinding(
        _TITLE,
        FindingLevel.WARNING,
        text,
        "Name a folder of another disk in backup.path, or an object store.",
    )


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
