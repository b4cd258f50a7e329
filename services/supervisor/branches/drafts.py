"""What a killed process leaves of a branch: a draft that was being made, or a folder that was being deleted. Both are removed here."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from services.supervisor.branches.names import branches_folder
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.processes.leftovers import stop_stray_server
from services.supervisor.report import Reporter, SilentReporter

DRAFT, DELETED = ".making-", ".deleting-"


@contextlib.contextmanager
def turn(parent: DataFolder) -> Iterator[None]:
    """Let one process at a time look at the drafts, so that none takes another's new one for a left one."""
    folder = branches_folder(parent)
    if not folder.is_dir():
        yield
        return
    descriptor = os.open(folder / ".turn", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove_drafts(parent: DataFolder, report: Reporter) -> None:
    """Remove drafts that no process works on any more. Raises: StartFailed if a server in one does not stop."""
    with turn(parent):
        remove_drafts_now(parent, report)


def remove_drafts_now(parent: DataFolder, report: Reporter) -> None:
    """Do the same in a turn of the caller's."""
    for path in sorted(branches_folder(parent).glob(".*-*")):
        is_draft = path.name.startswith(DRAFT)
        if not (is_draft or path.name.startswith(DELETED)) or is_locked(path / "lock"):
            continue
        if is_draft:
            name = path.name.removeprefix(DRAFT).rpartition("-")[0]
            report.info(f"Removing what an interrupted command left of the branch {name}")
        remove_folder(DataFolder(path))


def remove_folder(folder: DataFolder) -> None:
    """Remove a data folder that no process uses, with the home of its database. Raises: StartFailed if a server in it does not stop."""
    home = folder.postgres
    with contextlib.suppress(OSError):
        home = Path(folder.cluster_pointer.read_text().strip())
    stop_stray_server(Cluster(home, Path(), None), SilentReporter())
    if home != folder.postgres and _belongs_to(home, folder):
        shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(folder.path, ignore_errors=True)


def set_aside(folder: DataFolder) -> DataFolder:
    """Rename a branch's folder so that it is no branch any more, whatever happens to this process; return where it is."""
    aside = DataFolder(folder.path.with_name(f"{DELETED}{folder.path.name}-{secrets.token_hex(4)}"))
    folder.path.rename(aside.path)
    return aside


def _belongs_to(home: Path, folder: DataFolder) -> bool:
    """Return whether a home outside is that of a data folder, under its present or its former name."""
    with contextlib.suppress(OSError):
        owner = Path((home / "owner").read_text().strip())
        return owner.parent == folder.path.parent
    return False
