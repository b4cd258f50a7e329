"""Restore a moment into a new data folder: fetch the files, let Postgres replay the log, give the result passwords and objects.

    fetch (workers) --> Postgres replays the log and stops at the moment --> new superuser password --> objects (workers) --> postgres/data

Everything happens in a draft folder of the new data folder (`postgres/making-...`), which is renamed when it is whole; an interrupted restore
leaves no database that a start would take. Postgres reads the log from `pg_wal`, where the workers wrote it: its `restore_command` is
`false`, which tells it that no more comes from elsewhere.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from schemas.recovery import (
    FetchFilesTask,
    FillTask,
    ListedArchive,
    ListTask,
    PlanTask,
    RecoveredFacts,
    RecoveryPlan,
    RecoveryTask,
)
from services.supervisor import addresses
from services.supervisor.binaries import find_postgres, postgres_version
from services.supervisor.data_folder.folder import (
    OF_A_DISK,
    DataFolder,
    create_data_folder,
    ensure_passwords,
    lock_folder,
)
from services.supervisor.data_folder.sealing_key import write_sealing_key
from services.supervisor.errors import StartFailed, StartRefused
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import (
    SUPERUSER,
    Cluster,
    create_inner_folders,
    give_to_server,
    remove_draft,
    reset_password,
)
from services.supervisor.postgres.running_server import log_text, running_server
from services.supervisor.postgres.vault_key import NAME as VAULT_KEY
from services.supervisor.processes.leftovers import stop_stray_server
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter, SilentReporter

_UNFINISHED = "restore-unfinished"
"""File in a data folder until its restore is complete: the same command may be repeated."""
_DATABASE = "database"
_COMBINE = "pg_combinebackup"
_NOT_REACHED = "recovery ended before configured recovery target was reached"
_START_S, _STOP_S = 60.0, 300.0


@dataclass(frozen=True, slots=True)
class Recovered:
    """A restored data folder, and what its database has."""

    folder: DataFolder
    facts: RecoveredFacts
    is_end_of_log: bool
    """Nothing was committed between the end of the log and the moment."""


def plan_moment(project: Project, moment: str, archive: str) -> RecoveryPlan:
    """Return what a restore would read and give. Raises: SupervisorError."""
    return msgspec.json.decode(ask_workers(project, PlanTask(moment, archive)), type=RecoveryPlan)


def combining_program(plan: RecoveryPlan) -> str:
    """Return the path of pg_combinebackup for the plan's version of Postgres; empty where it is not needed. Raises: StartRefused."""
    if plan.bases == 1:
        return ""
    version = str(plan.server_version // 10000)
    if postgres_version().split(".")[0] == version:
        return str(find_postgres() / _COMBINE)
    named = shutil.which(_COMBINE)
    for program in ([Path(named)] if named else []) + [Path(f"/usr/lib/postgresql/{version}/bin/{_COMBINE}")]:
        if program.exists() and f" {version}." in _version_text(program):
            return str(program)
    raise StartRefused(
        f"The base backup is incremental, so pg_combinebackup of Postgres {version} is needed: put the folder of that version's programs "
        "into PATH and repeat."
    )


def _version_text(program: Path) -> str:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - a program of Postgres
    return shown.stdout.replace("\n", ".")


def list_archives(project: Project, *, verify: bool) -> list[ListedArchive]:
    """Return the archives of the store. Raises: SupervisorError."""
    return msgspec.json.decode(ask_workers(project, ListTask(verify)), type=list[ListedArchive])


def recover(project: Project, plan: RecoveryPlan, path: Path, report: Reporter) -> Recovered:
    """Restore a planned moment into a new data folder. Raises: SupervisorError."""
    check_version(plan)
    if not _may_restore_into(path):
        raise _not_empty(path)
    folder = create_data_folder(path)
    lock = lock_folder(folder)
    try:
        (path / _UNFINISHED).touch()
        cluster = server.open_cluster(folder, report)
        if cluster.exists:
            raise _not_empty(path)
        _remove_left(cluster, report)
        return _recover_into(project, plan, folder, cluster, report)
    except OSError as error:
        raise StartFailed(f"{path} cannot be restored into: {error}") from None
    finally:
        os.close(lock)


def _recover_into(
    project: Project, plan: RecoveryPlan, folder: DataFolder, cluster: Cluster, report: Reporter
) -> Recovered:
    draft = Cluster(cluster.home / f"making-{os.getpid()}", cluster.programs, cluster.user)
    create_inner_folders(draft)
    try:
        report.info(f"Restoring {plan.target} into {folder.path}")
        fetched = fetch_files(project, plan, draft.data)
        _write_vault_key(draft, fetched.vault_key)
        write_sealing_key(folder, fetched.sealing_key, project.data)
        is_end = replay(draft, plan, project.settings.db.settings, report)
        password = ensure_passwords(folder, [_DATABASE])[0][_DATABASE]
        reset_password(draft, password)
        facts = _fill(project, draft, folder, plan, password)
        shutil.move(draft.home / VAULT_KEY, cluster.home / VAULT_KEY)
        draft.data.rename(cluster.data)
        (folder.path / _UNFINISHED).unlink()
    finally:
        remove_draft(cluster)
    return Recovered(folder, facts, is_end)


def _may_restore_into(path: Path) -> bool:
    """Return whether a folder is new, empty, or that of a restore which failed or was killed."""
    try:
        names = {entry.name for entry in path.iterdir()} - {OF_A_DISK}
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StartRefused(
            f"{path} cannot be used: {error.strerror}. Name a new folder with --into."
        ) from None
    return not names or _UNFINISHED in names


def _not_empty(path: Path) -> StartRefused:
    return StartRefused(f"{path} is not empty. Name a new folder with --into.")


def _remove_left(cluster: Cluster, report: Reporter) -> None:
    """Remove the drafts of a killed restore, with the servers that still recover in them. Raises: StartFailed."""
    for left in cluster.home.glob("making-*"):
        stop_stray_server(Cluster(left, cluster.programs, cluster.user), report)
    remove_draft(cluster)


def fetch_files(project: Project, plan: RecoveryPlan, data: Path) -> RecoveryPlan:
    """Write the files of a plan into an empty folder. Raises: SupervisorError."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    task = FetchFilesTask(plan.moment, plan.archive, str(data.absolute()), combining_program(plan))
    return msgspec.json.decode(ask_workers(project, task), type=RecoveryPlan)


def check_version(plan: RecoveryPlan) -> None:
    """Check that the embedded server can read the archive's database. Raises: StartRefused."""
    ours = postgres_version().split(".")[0]
    if str(plan.server_version // 10000) != ours:
        raise StartRefused(
            f"The archive is of Postgres {plan.server_version // 10000}, and the embedded server is Postgres {ours}. Write its files for a "
            "server of that version with --files-only."
        )


def recovery_settings(plan: RecoveryPlan) -> dict[str, str]:
    """Return the server settings of a recovery (pure)."""
    return {
        "restore_command": "false",
        "recovery_target_action": "promote",
        "recovery_target_timeline": "current",
        "hot_standby": "off",
        **plan.settings,
    }


def ask_workers(project: Project, task: RecoveryTask, extra: Mapping[str, str] | None = None) -> bytes:
    """Run a step in the worker layer and return its answer; its reports go to our standard error. Raises: SupervisorError."""
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    config = {"HEADWATER_CONFIG": str(project.config)} if project.config else {}
    environment = {**inherited, **project.environment, "HEADWATER_DATA": str(project.data), **config}
    answer = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its last reference
    process = subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "workers", "recover-moment", msgspec.json.encode(task).decode()],
        env={**environment, **(extra or {})},
        stdout=answer,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    last = ""
    for line in process.stderr:
        if last:
            print(last, file=sys.stderr, flush=True)
        last = line.decode(errors="replace").strip()
    if (code := process.wait()) != 0:
        raise (StartRefused if code == 2 else StartFailed)(last or f"the step ended with code {code}")
    if last:
        print(last, file=sys.stderr, flush=True)
    answer.seek(0)
    return answer.read()


def replay(draft: Cluster, plan: RecoveryPlan, server_settings: Mapping[str, str], report: Reporter) -> bool:
    """Let Postgres replay the log of fetched files; return whether it came to the end of the log before the moment.

    Raises: SupervisorError.
    """
    give_to_server(draft)
    try:
        _run_recovery(draft, {**server_settings, **recovery_settings(plan)}, report)
    except StartFailed:
        if _NOT_REACHED not in log_text(draft):
            raise
        if "recovery_target_time" not in plan.settings:
            raise StartRefused(
                f"The log in the archive does not have this: {plan.target}. It begins at the base backup {plan.base}."
            ) from None
        settings = {
            name: value for name, value in recovery_settings(plan).items() if name not in plan.settings
        }
        _run_recovery(draft, {**server_settings, **settings}, report)
        return True
    return False


def _run_recovery(draft: Cluster, settings: Mapping[str, str], report: Reporter) -> None:
    server.prepare_cluster(draft, None, "", settings, report)
    (draft.data / "recovery.signal").touch()
    give_to_server(draft)
    report.info("Replaying the log")
    with running_server(
        draft,
        "The recovery",
        timeout_s=None,
        stop_s=_STOP_S,
        report=lambda: report.info("Still replaying the log"),
    ):
        pass


def _fill(
    project: Project, draft: Cluster, folder: DataFolder, plan: RecoveryPlan, password: str
) -> RecoveredFacts:
    """Start the recovered database once, write its objects, and return what it has. Raises: SupervisorError."""
    server.prepare_cluster(draft, None, password, project.settings.db.settings, SilentReporter())
    with running_server(draft, "The recovered database", timeout_s=_START_S, stop_s=_STOP_S) as port:
        url = addresses.database_url(SUPERUSER, password, port)
        environment = {"HEADWATER_MIGRATE_URL": url, "HEADWATER_DATA": str(folder.path)}
        answer = ask_workers(project, FillTask(plan.archive, plan.until), environment)
    return msgspec.json.decode(answer, type=RecoveredFacts)


def _write_vault_key(draft: Cluster, content: str) -> None:
    """Write the vault's key of the archive; `prepare_cluster` makes one where it has none."""
    if content:
        descriptor = os.open(draft.home / VAULT_KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as file:
            file.write(content)
