"""`headwater backup`: a whole platform into a folder; continuous backup by hand; what the archive has."""

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from broker.processes.archive_status import ArchiveStatus, read_archive_status
from schemas.recovery import ListedArchive
from schemas.settings.backup_checks import missing_secret
from services.cli.options import data_folder, platform_options, refuse, running_platform
from services.cli.output import Terminal
from services.doctor.archive import drill_line
from services.supervisor.archive import archive_variables
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.project.settings import Project, load_project
from services.supervisor.project.work import backup_environment, project_of_state, with_recovery
from services.supervisor.recovery import list_archives

_FOLDER = click.Path(file_okay=False, path_type=Path)
_MODES = ("--continuous", "--drill", "--list", "--sync", "--verify")
_SYNC_S, _FIRST_S, _PAUSE_S = 300.0, 10.0, 0.1


@click.command()
@platform_options
@click.argument("folder", type=_FOLDER, required=False)
@click.option(
    "--continuous",
    is_flag=True,
    help="Store base backups and the log as it is written, until Ctrl-C, in FOLDER or where [backup] says.",
)
@click.option("--sync", is_flag=True, help="Wait until continuous backup has stored everything of now.")
@click.option("--list", "is_list", is_flag=True, help="List what continuous backup has stored.")
@click.option(
    "--drill", is_flag=True, help="Restore the newest state beside the platform, check it, and remove it."
)
@click.option(
    "--verify", is_flag=True, help="Read, decrypt and compare all that continuous backup has stored."
)
def backup(
    data: Path | None,
    project: Path | None,
    folder: Path | None,
    continuous: bool,
    sync: bool,
    is_list: bool,
    verify: bool,
    drill: bool,
) -> None:
    """Save the database and all objects of a running platform into FOLDER, which is made.

    Requests go on meanwhile. What is saved fits together: the rows of one moment, and the bytes of the objects that they
    name; deployed functions too. Keys and passwords are not among it: keep .env and signing keys as well. Uploads that
    are not finished are left out. An interrupted backup is incomplete: run the same command again to replace it.

    With `backup.continuous` in the settings a platform stores its log by itself, and any moment can be restored
    (`headwater restore --to`); --continuous does that by hand, for a platform that was started without.

    \b
    headwater backup backups/$(date +%F)
    headwater backup --sync && headwater db push
    headwater backup --list
    headwater backup --drill

    \b
    Exit codes: 0 saved, 1 it failed, or nothing runs; 2 refused: the folder is not empty, the archive is damaged
    """
    switches = (continuous, drill, is_list, sync, verify)
    chosen = [mode for mode, is_chosen in zip(_MODES, switches, strict=True) if is_chosen]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude one another.")
    if folder is not None and chosen and not continuous:
        raise click.UsageError(f"{chosen[0]} takes no FOLDER: the archive is where [backup] says.")
    if folder is not None and not chosen and f"--{folder}" in _MODES:
        raise click.UsageError(f"Write --{folder}, or ./{folder} for a folder of this name.")
    if is_list or verify:
        sys.exit(_show_archives(data, project, verify=verify))
    if sync:
        sys.exit(_wait_until_stored(data, project))
    if drill:
        sys.exit(_run_drill(data, project))
    if continuous:
        sys.exit(_archive(data, project, folder))
    if folder is None:
        raise click.UsageError("Missing argument 'FOLDER': the folder of the backup.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_interrupted(folder):
            click.echo(f"Removing an interrupted backup from {folder}", err=True)
            _empty(folder)
        if any(folder.iterdir()):
            refuse(f"{folder} is not empty. Name a new folder.", code=2)
    except OSError as error:
        refuse(f"{folder} cannot be written: {error.strerror}", code=2)
    sys.exit(run_worker_command("backup", folder, platform_environment(data, project)))


def named_project(data: Path | None, project: Path | None, config: Path | None = None) -> Project:
    """Return the project of a platform, whether or not it runs; exit with an error if its files cannot be used."""
    folder = data_folder(data, project)
    state = running_state(folder)
    try:
        return project_of_state(state) if state else load_project(project, config, folder.path, {})
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)


def platform_environment(data: Path | None, project: Path | None) -> dict[str, str]:
    """Return the environment of a backup or restore of a running platform; exit with an error if none runs."""
    folder, state = running_platform(data, project)
    try:
        return backup_environment(project_of_state(state), folder, state)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)


def run_worker_command(command: str, folder: Path, environment: Mapping[str, str], *more: str) -> int:
    """Run `backup` or `restore` in the worker layer; return the exit code."""
    argv = [sys.executable, "-P", "-m", "workers", command, str(folder.absolute()), *more]
    code = subprocess.run(argv, env=dict(environment), check=False).returncode  # noqa: S603 - ourselves
    return code if command == "backup" else with_recovery(code, environment)


def _archive(data: Path | None, project: Path | None, folder: Path | None) -> int:
    """Run continuous backup in this terminal, beside a platform that runs without it."""
    platform, state = running_platform(data, project)
    if any(child.name == "archive" for child in state.children):
        refuse("This platform stores its log already (backup.continuous is on).", code=2)
    here = {"HEADWATER_BACKUP_CONTINUOUS": "true"}
    if folder is not None:
        here |= {"HEADWATER_BACKUP_BACKEND": "file", "HEADWATER_BACKUP_PATH": str(folder.absolute())}
    try:
        named = project_of_state(state, here)
        if sentence := missing_secret(named.settings.backup):
            refuse(f"{sentence}.", code=2)
        environment = backup_environment(named, platform, state)
        home = platform.cluster_pointer
        place = Path(home.read_text().strip()) if home.exists() else platform.postgres
        cluster = Cluster(place, Path(), None) if state.ports.get("db") else None
        environment |= archive_variables(named, platform, cluster)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo("Storing the log until Ctrl-C", err=True)
    argv = [sys.executable, "-P", "-m", "workers", "archive"]
    process = subprocess.Popen(argv, env=environment)  # noqa: S603 - ourselves
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # it has got the signal too, and stores the last of the log
            continue


def _run_drill(data: Path | None, project: Path | None) -> int:
    """Run the restore drill and print what it found."""
    from services.supervisor.drill import run_drill  # with an HTTP client, which a start does not need

    folder = data_folder(data, project)
    try:
        status = run_drill(folder, named_project(data, project), Terminal(detached=False))
    except OSError as error:
        refuse(f"The result could not be written: {error}", code=1)
    for fault in status.faults:
        click.secho(fault, fg="red", err=True)
    if not status.faults:
        click.echo(drill_line(status))
    return 1 if status.faults else 0


def _wait_until_stored(data: Path | None, project: Path | None) -> int:
    """Wait until a base backup is complete and the log of now is stored."""
    folder, _ = running_platform(data, project)
    asked_at, deadline = time.time(), time.monotonic() + _SYNC_S
    while True:
        status = read_archive_status(folder.path)
        if status is None and time.monotonic() > deadline - _SYNC_S + _FIRST_S:
            refuse("This platform stores nothing by itself: set backup.continuous.", code=1)
        if status is not None and status.base_at and covers(status, asked_at):
            click.echo("Everything that the database has is stored.")
            return 0
        if time.monotonic() > deadline:
            reason = status.fault if status is not None and status.fault else "`headwater doctor` tells more"
            refuse(f"Not everything is stored after {_SYNC_S:.0f} s: {reason}", code=1)
        time.sleep(_PAUSE_S)


def covers(status: ArchiveStatus, moment: float) -> bool:
    """Return whether everything before a moment of this machine's clock is stored (pure)."""
    if status.covered_until is None or status.lag_s is None:
        return False
    clock_difference = status.covered_until + status.lag_s - status.written_at
    return status.covered_until >= moment + clock_difference


def _show_archives(data: Path | None, project: Path | None, *, verify: bool) -> int:
    named = named_project(data, project)
    try:
        archives = list_archives(named, verify=verify)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    if not archives:
        click.echo("Nothing is stored yet.")
    status = read_archive_status(named.data)
    for archive in archives:
        _show_archive(archive, is_current=status is not None and status.archive == archive.archive)
    return 2 if any(archive.faults for archive in archives if not archive.is_new) else 0


def _show_archive(archive: ListedArchive, *, is_current: bool) -> None:
    click.echo(f"{archive.archive}{' (of this platform)' if is_current else ''}")
    if archive.first is not None:
        click.echo(f"  moments      {_moment(archive.first)} to {_moment(archive.last)}")
    changes = f" ({archive.incrementals} incremental)" if archive.incrementals else ""
    click.echo(f"  base backups {archive.bases}{changes}, {archive.stored_bytes:,} bytes stored in all")
    for fault in archive.faults:
        click.secho(f"  {fault}", fg="yellow")


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _is_interrupted(folder: Path) -> bool:
    """Return whether a folder contains a backup that we began and did not finish (workers/backup/manifest.py)."""
    return (folder / "UNFINISHED.txt").exists() and not (folder / "manifest.json").exists()


def _empty(folder: Path) -> None:
    """Remove the files of an interrupted backup; its mark goes last."""
    for name in ("blobs", "database.dump", "roles.sql", "blobs.jsonl", ".manifest.json", "UNFINISHED.txt"):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
