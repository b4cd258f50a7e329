"""The branches of a platform as they are now: running or stopped, of when, and what they use of the disk."""

import os
from collections.abc import Callable
from pathlib import Path

from schemas.branches import BranchRecord, ListedBranch
from services.supervisor.branches.last_use import last_use
from services.supervisor.branches.names import branches_folder
from services.supervisor.branches.record import read_record
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartRefused


def list_branches(
    parent: DataFolder, sizes: Callable[[DataFolder], tuple[int, int]] | None = None
) -> list[ListedBranch]:
    """Return the branches, sorted by name; `sizes` instead of `disk_use`. Raises: StartRefused if the record of one cannot be read."""
    folder = branches_folder(parent)
    names = sorted(path for path in folder.glob("[a-z0-9]*") if path.is_dir())
    return [
        _listed(DataFolder(path), record, sizes or disk_use)
        for path in names
        if (record := read_record(path)) is not None
    ]


def find_branch(parent: DataFolder, folder: DataFolder) -> BranchRecord:
    """Return the record of a branch. Raises: StartRefused if there is none, with the names of those that are there."""
    record = read_record(folder.path)
    if record is None:
        names = ", ".join(branch.name for branch in list_branches(parent)) or "none"
        raise StartRefused(
            f"There is no branch {folder.path.name}. Create it with `headwater branch create {folder.path.name}`; there are: {names}."
        )
    return record


def disk_use(folder: DataFolder) -> tuple[int, int]:
    """Return the bytes on the disk of a branch's files that are its own, and of those that it shares as hard links."""
    own = shared = 0
    homes = [folder.path]
    if folder.cluster_pointer.exists():
        homes.append(Path(folder.cluster_pointer.read_text().strip()))
    for home in homes:
        for place, _, names in os.walk(home):
            for name in names:
                try:
                    status = os.lstat(os.path.join(place, name))
                except FileNotFoundError:
                    continue
                if status.st_nlink > 1:
                    shared += status.st_blocks * 512
                else:
                    own += status.st_blocks * 512
    return own, shared


def _listed(
    folder: DataFolder, record: BranchRecord, sizes: Callable[[DataFolder], tuple[int, int]]
) -> ListedBranch:
    state = running_state(folder)
    own, shared = sizes(folder)
    return ListedBranch(
        record.name,
        str(folder.path),
        record.created_at,
        record.from_live,
        record.git,
        state is not None,
        state.values.get("API_URL", "") if state else "",
        own,
        shared,
        record.at,
        record.stop_after_s,
        record.remove_at,
        last_use(folder),
        record.masked,
        record.warnings,
    )
