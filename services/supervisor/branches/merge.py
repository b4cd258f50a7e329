"""Compare a branch with its parent, and merge it. A database that is stopped is started for the time of it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

import msgspec

from schemas.branches import (
    AccessBetweenTask,
    AccessReport,
    CompareTask,
    MergedBranch,
    MergeTask,
    SchemaComparison,
)
from services.supervisor import addresses
from services.supervisor.archive import server_settings
from services.supervisor.branches.names import branches_folder
from services.supervisor.branches.record import BASE_SCHEMA
from services.supervisor.branches.worker_step import run_step
from services.supervisor.data_folder.folder import DataFolder, database_password, lock_folder, write_private
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartRefused
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.postgres.running_server import running_server
from services.supervisor.postgres.shadow import shadow_server
from services.supervisor.processes.leftovers import stop_leftovers, stop_stray_server
from services.supervisor.project.settings import Project, load_project
from services.supervisor.report import Reporter, SilentReporter

_START_S, _STOP_S = 60.0, 60.0


def compare_with_parent(parent: DataFolder, branch: DataFolder, project: Project) -> SchemaComparison:
    """Return what a merge would do. Raises: SupervisorError."""
    with _both_databases(parent, branch, project) as (parent_url, branch_url):
        task = CompareTask(parent_url, branch_url, str(branch.path / BASE_SCHEMA))
        return run_step(project, task, SchemaComparison)


def compare_access(
    parent: DataFolder, branch: DataFolder, project: Project, options: AccessBetweenTask
) -> AccessReport:
    """Return who has more and who has less access in a branch; `options` without addresses. Raises: SupervisorError."""
    with _both_databases(parent, branch, project) as (parent_url, branch_url):
        task = msgspec.structs.replace(options, parent_url=parent_url, branch_url=branch_url)
        return run_step(project, task, AccessReport)


def merge_into_parent(
    parent: DataFolder, branch: DataFolder, project: Project, name: str, report: Reporter
) -> MergedBranch:
    """Merge the schema of a branch. Raises: SupervisorError; nothing was changed, or the text tells what was."""
    folder = project.folder
    if not folder.is_dir():
        raise StartRefused(
            f"A merge writes migrations, and there is no project folder {folder}. Make one with `headwater init`, or name it with --project."
        )
    with (
        _one_merge(parent) as lock,
        _both_databases(parent, branch, project) as (parent_url, branch_url),
        shadow_server(parent, project.settings.db.shadow_port, report) as shadow_url,
    ):
        base = branch.path / BASE_SCHEMA
        task = MergeTask(parent_url, branch_url, shadow_url, str(base), str(folder), name)
        merged = run_step(project, task, MergedBranch, lock=lock)
    if merged.schema is not None:
        write_private(base, msgspec.json.encode(merged.schema))
    return merged


@contextlib.contextmanager
def _one_merge(parent: DataFolder) -> Iterator[int]:
    """Wait until no other merge into a platform is at work, and yield the lock, which the step holds too if this process is killed."""
    descriptor = os.open(branches_folder(parent) / ".merging", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _both_databases(parent: DataFolder, branch: DataFolder, project: Project) -> Iterator[tuple[str, str]]:
    """Yield the superuser's URLs of a platform's database and of its branch's."""
    own = load_project(project.root, project.config, branch.path, {})
    with _database(parent, project) as parent_url, _database(branch, own) as branch_url:
        yield parent_url, branch_url


@contextlib.contextmanager
def _database(folder: DataFolder, project: Project) -> Iterator[str]:
    """Yield the superuser's URL of the database in a data folder. Raises: SupervisorError."""
    password = database_password(folder)
    state = running_state(folder)
    if state is not None:
        yield addresses.database_url(SUPERUSER, password, state.ports["db"])
        return
    lock = lock_folder(folder)
    try:
        cluster = server.open_cluster(folder, SilentReporter())
        stop_leftovers(folder, SilentReporter())
        stop_stray_server(cluster, SilentReporter())
        server.prepare_cluster(cluster, None, password, server_settings(project.settings), SilentReporter())
        with running_server(cluster, "The database", timeout_s=_START_S, stop_s=_STOP_S) as port:
            yield addresses.database_url(SUPERUSER, password, port)
        (cluster.home / "log").unlink(missing_ok=True)
    finally:
        os.close(lock)
