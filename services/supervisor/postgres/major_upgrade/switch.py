"""Put the copy of a database under another version of Postgres in its place; the old one stays beside it.

    postgres/upgrading/data      the copy, while it is made; without a plan it is removed by the next start
    postgres/switch.json         the plan: written when the copy is whole and equal, removed when the switch is done
    postgres/data                the database in use
    postgres/data-postgres-17-20261128T164500Z   the old one

Every step may be the last before the machine fails: `finish_switch` runs at each start and does what a plan still asks for.
"""

import contextlib
import os
import shutil
from pathlib import Path

import msgspec

from services.supervisor.data_folder.folder import DataFolder, write_private
from services.supervisor.postgres import database_home
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.programs import FILE
from services.supervisor.processes.leftovers import stop_stray_server
from services.supervisor.report import Reporter

DRAFT = "upgrading"
_PLAN = "switch.json"


class SwitchPlan(msgspec.Struct, frozen=True):
    """A switch that was decided: the name that the old database gets, and the programs of the new one (empty: the wheel's)."""

    kept: str
    programs: str


def begin_switch(folder: DataFolder, home: Path, plan: SwitchPlan, report: Reporter) -> None:
    """Write the plan down, so that it is carried out whatever happens, and carry it out."""
    os.sync()  # the copy was made without waiting for the disk
    write_private(home / _PLAN, msgspec.json.encode(plan))
    os.sync()  # a plan that the disk has not got must not have been begun
    _sync_folder(home)
    finish_switch(folder, report)


def finish_switch(folder: DataFolder, report: Reporter) -> None:
    """Carry out a plan that a killed command left, or remove a copy that it did not complete. The folder is locked by the caller."""
    home = database_home.pointed_home(folder) or folder.postgres
    draft = home / DRAFT
    try:
        plan = msgspec.json.decode((home / _PLAN).read_bytes(), type=SwitchPlan)
    except (FileNotFoundError, msgspec.DecodeError):  # a plan cut off by a power loss was not begun
        (home / _PLAN).unlink(missing_ok=True)
        if draft.exists():
            remove_copy(home, report)
        return
    if (draft / "data").exists():
        if (home / "data").exists():
            (home / "data").rename(home / plan.kept)
        (draft / "data").rename(home / "data")
    if plan.programs:
        write_private(folder.path / FILE, f"{plan.programs}\n".encode())
    else:
        (folder.path / FILE).unlink(missing_ok=True)
    _sync_folder(home)
    _sync_folder(folder.path)
    (home / _PLAN).unlink()
    shutil.rmtree(draft, ignore_errors=True)


def remove_copy(home: Path, report: Reporter) -> None:
    """Remove an incomplete copy, with the server that a killed command left in it."""
    draft = home / DRAFT
    if (draft / "data").exists():
        stop_stray_server(Cluster(draft, Path(), None), report)
    shutil.rmtree(draft, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
