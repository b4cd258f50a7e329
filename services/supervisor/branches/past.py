"""The database of a branch at a past moment: the files of continuous backup, and the log replayed up to there."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.branches import CopiedFiles
from schemas.recovery import FillTask, RecoveryPlan
from services.supervisor.branches import overrides
from services.supervisor.branches.cluster_files import drop_parents_settings
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.cluster import Cluster, create_inner_folders, give_to_server, reset_password
from services.supervisor.project.settings import Project
from services.supervisor.recovery import (
    ask_workers,
    check_version,
    combining_program,
    fetch_files,
    plan_moment,
    replay,
)
from services.supervisor.report import Reporter

_MIB = 1024 * 1024
_LEFT_FREE = 64 * _MIB


@dataclass(frozen=True, slots=True)
class PastCopy:
    """A database of a moment whose superuser has the parent's present password; `plan` has the sealing keys of that time."""

    plan: RecoveryPlan
    copied: CopiedFiles


def plan_past(project: Project, moment: str, archive: str, draft: DataFolder) -> RecoveryPlan:
    """Return what a branch at a moment would read. Raises: SupervisorError where it cannot be had, or the disk has no room."""
    if not project.settings.backup.continuous:
        raise StartRefused(
            "A branch at a past moment needs continuous backup (backup.continuous), which is off: docs/backups.md."
        )
    plan = plan_moment(project, moment, archive)
    check_version(plan)
    combining_program(plan)
    free = shutil.disk_usage(draft.path).free
    if plan.disk_bytes + _LEFT_FREE > free:
        raise StartRefused(
            f"The disk of {draft.path.parent} has {free // _MIB} MB, and the database of that moment needs {plan.disk_bytes // _MIB} MB."
            " Free some."
        )
    return plan


def copy_past(
    project: Project, plan: RecoveryPlan, copy: Cluster, password: str, report: Reporter
) -> PastCopy:
    """Write the database of a moment into the empty cluster of a branch; its server is stopped. Raises: SupervisorError."""
    began = time.monotonic()
    create_inner_folders(copy)
    report.info(f"Fetching the database of {plan.target}: {plan.disk_bytes // _MIB} MB")
    fetched = fetch_files(project, plan, copy.data)
    replay(copy, plan, overrides.safe_server_settings(project.settings.db.settings), report)
    drop_parents_settings(copy)
    give_to_server(copy)
    reset_password(copy, password)
    copied = CopiedFiles(plan.pieces, plan.disk_bytes, 0, time.monotonic() - began)
    return PastCopy(fetched, copied)


def fill_objects(project: Project, plan: RecoveryPlan, draft: DataFolder, url: str) -> None:
    """Write the objects of that moment that the parent has no more, and its deployed functions. Raises: SupervisorError."""
    own: Mapping[str, str] = {
        **overrides.FIXED,
        "HEADWATER_BACKUP_CONTINUOUS": "true",
        "HEADWATER_MIGRATE_URL": url,
        "HEADWATER_DATA": str(draft.path),
    }
    ask_workers(project, FillTask(plan.archive, plan.until), own)


def sealing_keys(present: str, plan: RecoveryPlan) -> str:
    """Return the keys that open what the database of the moment contains: the parent's, and those of the archive (pure)."""
    return ",".join(dict.fromkeys(key for key in (*present.split(","), *plan.sealing_key.split()) if key))
