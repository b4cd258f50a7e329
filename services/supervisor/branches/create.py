"""Create a branch: copy the database and the files of the parent, make them the branch's, and put the folder in its place.

    draft folder -> objects (hard links) -> database (online base backup, or files) -> recovery, keys of the branch -> objects again -> renamed

The database of a past moment comes from continuous backup instead (`past.py`), and with it the objects that the parent has no more.

Everything happens in `branches/.making-NAME-...`, whose lock this process holds. A process that is killed leaves a draft without a lock, which
the next command that makes, lists or deletes branches removes.
"""

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from broker.blobs.folder import store_folder
from broker.blobs.short_log_recovery import restore_logs
from broker.processes.file_copies import copy_file, flush_file_system, link_tree
from schemas.branches import (
    BranchRecord,
    BranchSecrets,
    CopiedFiles,
    CopyTask,
    Masking,
    PreparedCopy,
    PrepareTask,
)
from schemas.system_errors import system_error_text
from services.supervisor import addresses
from services.supervisor.api_keys import random_keys
from services.supervisor.branches import overrides
from services.supervisor.branches.cluster_files import (
    check_room,
    drop_parents_settings,
    needed_segments,
)
from services.supervisor.branches.drafts import DRAFT, remove_drafts, remove_drafts_now, turn
from services.supervisor.branches.masking import read_masking
from services.supervisor.branches.names import DRILL, branch_folder, branches_folder
from services.supervisor.branches.past import PastCopy, copy_past, fill_objects, plan_past, sealing_keys
from services.supervisor.branches.record import BASE_SCHEMA, read_record, write_record
from services.supervisor.branches.worker_step import run_step
from services.supervisor.data_folder.folder import (
    DataFolder,
    create_data_folder,
    database_password,
    ensure_passwords,
    is_data_folder,
    lock_folder,
    write_private,
)
from services.supervisor.data_folder.sealing_key import sealing_environment, sealing_key_text
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartFailed, StartRefused
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import SUPERUSER, Cluster, give_to_server
from services.supervisor.postgres.programs import choose_programs, chosen_programs
from services.supervisor.postgres.running_server import running_server
from services.supervisor.processes.leftovers import stop_leftovers, stop_stray_server
from services.supervisor.processes.plan import SEALING_KEY
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter, SilentReporter

_DATABASE = "database"
_STOP_S = 300.0
_LINKED = ("objects", "functions")
"""Folders of the blob store whose files are never written again; `active` of a function and its secrets are copied apart."""


@dataclass(frozen=True, slots=True)
class CreatedBranch:
    """A new branch, and what its copy was."""

    folder: DataFolder
    record: BranchRecord
    copied: CopiedFiles
    seconds: float


def create_branch(
    parent: DataFolder,
    name: str,
    project: Project,
    report: Reporter,
    *,
    git: str = "",
    moment: str = "",
    archive: str = "",
    is_drill: bool = False,
    keeps_accounts: bool = False,
    stop_after_s: float | None = None,
    remove_after_s: float | None = None,
) -> CreatedBranch:
    """Create a branch of a platform that runs or is stopped; `project` has the parent's settings.

    `moment`: of its database at that moment, as continuous backup has it (`headwater restore --to`), from an archive where several have
    it. `keeps_accounts`: accounts are not masked although columns are. `stop_after_s`, `remove_after_s`: instead of the settings `branches.stop_after` and
    `branches.remove_after`; 0: never. Raises: SupervisorError.
    """
    began = time.monotonic()
    target = branch_folder(parent, name)
    if name == DRILL and not is_drill:
        raise StartRefused(f"{DRILL} is the branch of restore drills, which delete it. Choose another name.")
    _check(parent, target, project)
    # A drill compares the copy with what was saved; nobody else reaches it before it is deleted.
    masking = (
        Masking(keeps_accounts=True) if is_drill else read_masking(project, keeps_accounts=keeps_accounts)
    )
    try:
        branches_folder(parent).mkdir(mode=0o711, exist_ok=True)
        with turn(parent):
            remove_drafts_now(parent, report)
            draft = create_data_folder(branches_folder(parent) / f"{DRAFT}{name}-{os.getpid()}")
            lock = lock_folder(draft)
    except OSError as error:
        raise StartFailed(_unmade(name, error)) from None
    try:
        past = None
        if moment:
            past = _copy_past(parent, draft, project, moment, archive, report)
            is_live, copied = False, past.copied
        else:
            is_live, copied = _copy(parent, draft, project, lock, report)
        at = past.plan.target if past else ""
        settings = project.settings.branches
        stops = settings.stop_after if stop_after_s is None else stop_after_s
        lives = settings.remove_after if remove_after_s is None else remove_after_s
        created_at = time.time()
        record = BranchRecord(
            name, str(parent.path), created_at, is_live, git=git, at=at, is_drill=is_drill,
            stop_after_s=0.0 if is_drill else float(stops),
            remove_at=created_at + lives if lives and not is_drill else 0.0,
        )  # fmt: skip
        record = _make_own(parent, draft, project, lock, record, past, masking)
        _link_objects(parent, draft, project)
        flush_file_system(draft.path)  # the parent's log of short blobs does not name the branch's files
        _into_place(draft, target)
    except BaseException as error:
        os.close(lock)
        remove_drafts(parent, SilentReporter())
        if isinstance(error, OSError):
            raise StartFailed(_unmade(name, error)) from None
        raise
    os.close(lock)
    return CreatedBranch(target, record, copied, time.monotonic() - began)


def _unmade(name: str, error: OSError) -> str:
    return f"The branch {name} could not be made, and nothing is left of it: {system_error_text(error)}"


def _check(parent: DataFolder, target: DataFolder, project: Project) -> None:
    """Raises: StartRefused if this platform cannot be branched, or the branch exists."""
    if not is_data_folder(parent.path):
        raise StartRefused(
            f"There is no platform in {parent.path} that could be branched. Start it once without --branch, or name another with --data."
        )
    if read_record(parent.path) is not None:
        raise StartRefused(f"{parent.path} is a branch itself. Branches are made of their parent alone.")
    if project.settings.db.url is not None:
        raise StartRefused(
            "This platform uses an outside database (db.url), whose files are elsewhere. Only the embedded one can be branched."
        )
    if project.settings.storage.enabled and project.settings.storage.backend != "file":
        raise StartRefused(
            f"This platform stores objects in an outside store (storage.backend = {project.settings.storage.backend}), where nothing can be "
            "shared without the parent's keys. Only platforms with the backend `file` can be branched."
        )
    if target.path.exists():
        raise StartRefused(
            f"There is a branch {target.path.name} already. Start it with `headwater start --branch {target.path.name}`, or delete it first."
        )


def _copy(
    parent: DataFolder, draft: DataFolder, project: Project, lock: int, report: Reporter
) -> tuple[bool, CopiedFiles]:
    """Copy database and objects; return whether the parent ran, and what was copied."""
    choose_programs(draft, str(chosen_programs(parent) or ""))
    cluster, copy = (
        server.open_cluster(parent, SilentReporter()),
        server.open_cluster(draft, SilentReporter()),
    )
    if not cluster.exists:
        raise StartRefused(f"{parent.path} has no database yet. Start the platform once.")
    check_room(cluster, draft)
    copy.data.mkdir(mode=0o700, exist_ok=True)
    state = running_state(parent)
    if state is not None and state.ports.get("db"):
        report.info(f"Copying the database of {parent.path}, which runs")
        _link_objects(parent, draft, project)
        task = CopyTask(
            str(cluster.data), str(copy.data), _superuser_url(_password(parent), state.ports["db"])
        )
        copied = run_step(project, task, CopiedFiles, lock=lock)
    else:
        copied = _copy_stopped(parent, cluster, copy, project, lock, report)
    drop_parents_settings(copy)
    give_to_server(copy)
    return state is not None, copied


def _copy_past(
    parent: DataFolder, draft: DataFolder, project: Project, moment: str, archive: str, report: Reporter
) -> PastCopy:
    """Write the database of a moment, and link the parent's objects of now; those that it has no more come later."""
    choose_programs(draft, str(chosen_programs(parent) or ""))
    plan = plan_past(project, moment, archive, draft)
    copy = server.open_cluster(draft, SilentReporter())
    past = copy_past(project, plan, copy, _password(parent), report)
    _link_objects(parent, draft, project)
    return past


def _copy_stopped(
    parent: DataFolder, cluster: Cluster, copy: Cluster, project: Project, lock: int, report: Reporter
) -> CopiedFiles:
    """Copy a stopped database; its platform cannot start meanwhile."""
    parents_lock = lock_folder(parent)
    try:
        stop_leftovers(parent, report)
        stop_stray_server(cluster, report)
        report.info(f"Copying the database of {parent.path}, which is stopped")
        task = CopyTask(str(cluster.data), str(copy.data), "", needed_segments(cluster))
        return run_step(project, task, CopiedFiles, lock=lock)
    finally:
        os.close(parents_lock)


def _make_own(
    parent: DataFolder,
    draft: DataFolder,
    project: Project,
    lock: int,
    record: BranchRecord,
    past: PastCopy | None,
    masking: Masking,
) -> BranchRecord:
    """Let the copy recover, and give it keys and passwords of its own."""
    keys = random_keys()
    own = ensure_passwords(draft, [_DATABASE, "db_password"])[0]
    secrets = BranchSecrets(keys.jwt_secret, keys.publishable_key, keys.secret_key, own["db_password"])
    cluster = server.open_cluster(draft, SilentReporter())
    settings = overrides.safe_server_settings(project.settings.db.settings)
    server.prepare_cluster(cluster, None, own[_DATABASE], settings, SilentReporter())
    with running_server(cluster, "The branch's database", timeout_s=None, stop_s=_STOP_S) as port:
        url = _superuser_url(_password(parent), port)
        parents_keys = sealing_environment(project, parent).get(SEALING_KEY, "")
        if past is not None:
            fill_objects(project, past.plan, draft, url)
            parents_keys = sealing_keys(parents_keys, past.plan)
        task = PrepareTask(
            url,
            own[_DATABASE],
            keys.jwt_secret,
            sealing_key_text(draft),
            parents_keys,
            overrides.stored_patterns(),
            masking,
        )
        prepared = run_step(project, task, PreparedCopy, lock=lock)
    (cluster.home / "log").unlink(missing_ok=True)
    write_private(draft.path / BASE_SCHEMA, msgspec.json.encode(prepared.schema))
    record = msgspec.structs.replace(
        record, secrets=secrets, warnings=prepared.warnings, masked=prepared.masked
    )
    write_record(draft.path, record)
    return record


def _link_objects(parent: DataFolder, draft: DataFolder, project: Project) -> None:
    """Share the objects and the deployed functions: before the database is copied, and what came since after it."""
    source, target = store_folder(project.settings.storage, parent.path), store_folder_of(draft)
    restore_logs(source)  # of a parent that crashed and was not started since
    for name in _LINKED:
        if (source / name).is_dir():
            (target / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            link_tree(source / name, target / name)
    shutil.rmtree(target / "functions" / "secrets", ignore_errors=True)
    for active in (target / "functions").glob("*/active"):
        shared = source / active.relative_to(target)
        active.unlink()
        copy_file(shared, active)


def store_folder_of(branch: DataFolder) -> Path:
    """Return the blob store of a branch."""
    return branch.path / overrides.FIXED["HEADWATER_STORAGE_PATH"]


def _into_place(draft: DataFolder, target: DataFolder) -> None:
    """Rename a whole draft to the branch's folder, and point the home of an outside database to it."""
    draft.path.rename(target.path)
    if target.cluster_pointer.exists():
        home = Path(target.cluster_pointer.read_text().strip())
        write_private(home / "owner", f"{target.path}\n".encode())


def _password(parent: DataFolder) -> str:
    return database_password(parent)


def _superuser_url(password: str, port: int) -> str:
    return addresses.database_url(SUPERUSER, password, port)
