"""Check of the store of log lines on this machine: it can be read, has a writer, and stays within its limits."""

import sqlite3
from pathlib import Path

from broker.logs.search import store_state
from broker.logs.store import FOLDER, is_written, segment_paths
from schemas.settings.tree import Settings
from services.doctor.finding import DoctorFinding, FindingLevel

_MIB = 1024 * 1024
_TITLE = "logs"
_MARGIN = 1.25
"""The store may be larger than its limit by a segment before the oldest one is deleted."""


def look_at_log_store(settings: Settings, data: Path, *, is_running: bool) -> list[DoctorFinding]:
    """Return what the store has, and what is wrong with it."""
    limits, folder = settings.log.store, data / FOLDER
    if not limits.enabled or not settings.management.enabled:
        return [DoctorFinding(_TITLE, FindingLevel.OK, "lines are not stored (log.store.enabled)")]
    if broken := sorted(folder.glob("*.broken")):
        cure = f"Its lines are lost; delete it: {broken[0]}. Look at the disk, which may be failing."
        return [
            DoctorFinding(
                _TITLE,
                FindingLevel.WARNING,
                f"{len(broken)} files were not readable and were set aside",
                cure,
            )
        ]
    if not segment_paths(folder):
        return [DoctorFinding(_TITLE, FindingLevel.OK, "no lines are stored yet")]
    try:
        state = store_state(folder)
    except (sqlite3.Error, OSError) as error:
        cure = f"Delete {folder} while the platform is stopped; only log lines are in it."
        return [DoctorFinding(_TITLE, FindingLevel.ERROR, f"the store cannot be read: {error}", cure)]
    text = f"{state.lines:,} lines, {state.bytes // _MIB:,} MiB of {limits.max_size // _MIB:,} MiB"
    if state.bytes > limits.max_size * _MARGIN:
        cure = "A running platform deletes the oldest lines; read why it does not: `headwater logs pools`."
        return [DoctorFinding(_TITLE, FindingLevel.WARNING, text, cure)]
    if is_running and not is_written(folder):
        cure = "The pool management writes it; see whether it runs here: `headwater status`."
        return [DoctorFinding(_TITLE, FindingLevel.WARNING, f"{text}; no process writes the store", cure)]
    return [DoctorFinding(_TITLE, FindingLevel.OK, text)]
