"""`headwater backup` and `headwater restore`: a whole platform into a folder, and back."""

import contextlib
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import click

from services.cli.options import platform_options, refuse, running_platform
from services.supervisor.addresses import gateway_url
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import PlatformState
from services.supervisor.errors import SupervisorError
from services.supervisor.ports import Ports
from services.supervisor.project.work import backup_environment, project_of_state, with_recovery

_READY_S, _PAUSE_S = 60.0, 0.1
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@platform_options
@click.argument("folder", type=_FOLDER)
def backup(data: Path | None, project: Path | None, folder: Path) -> None:
    """Save the database and all objects of a running platform into FOLDER, which is made.

    Requests go on meanwhile. What is saved fits together: the rows of one moment, and the bytes of the objects that they
    name; deployed functions too. Keys and passwords are not among it: keep .env and signing keys as well. Uploads that
    are not finished are left out. An interrupted backup is incomplete: run the same command again to replace it.

    \b
    headwater backup backups/$(date +%F)

    \b
    Exit codes: 0 saved, 1 it failed, or nothing runs; 2 refused: the folder is not empty
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_interrupted(folder):
            click.echo(f"Removing an interrupted backup from {folder}", err=True)
            _empty(folder)
        if any(folder.iterdir()):
            refuse(f"{folder} is not empty. Name a new folder.", code=2)
    except OSError as error:
        refuse(f"{folder} cannot be written: {error.strerror}", code=2)
    environment = _environment(data, project)
    sys.exit(_work("backup", folder, environment))


@click.command()
@platform_options
@click.argument("folder", type=_FOLDER)
@click.option("--force", is_flag=True, help="Replace what the platform has. All of it is lost.")
def restore(data: Path | None, project: Path | None, folder: Path, force: bool) -> None:
    """Bring a running platform to the state of a backup.

    The platform should be a new one; one that has tables, users or objects is refused without --force. It answers from
    its old database until the new one is whole, and 503 for the moment in which both are exchanged. If the restore fails
    or is killed, the database is as it was; the same command again goes on. With an outside database, its URL must be that
    of a superuser.

    \b
    headwater start --detach --data new && headwater restore --data new backups/2026-01-31

    Tokens and stored keys of the backup hold only with the JWT secret that it was made under.

    \b
    Exit codes: 0 restored, 1 it failed, or nothing runs; 2 refused: a damaged backup, or a platform with something in it
    """
    environment = _environment(data, project)
    code = _work("restore", folder, environment, *(["--force"] if force else []))
    if code == 0 and not _is_ready(*running_platform(data, project)):
        click.secho(
            f"Restored, and not everything answers after {_READY_S:.0f} s: `headwater doctor` tells more.",
            fg="yellow",
            err=True,
        )
    sys.exit(code)


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


def _is_ready(folder: DataFolder, state: PlatformState) -> bool:
    """Wait until the gateway, if one runs here, reports that all pools use the new database."""
    ports = Ports(**state.ports)
    if not ports.api:
        return True
    url = f"{gateway_url(project_of_state(state).settings, ports)}/health/ready"
    # The certificate is for the public name, not for this address of our own (`gateway.host`); no secret is sent.
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323 - see above
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5, context=context):  # noqa: S310 - our own address
            return True
        time.sleep(_PAUSE_S)
    return False


def _environment(data: Path | None, project: Path | None) -> dict[str, str]:
    folder, state = running_platform(data, project)
    try:
        return backup_environment(project_of_state(state), folder, state)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)


def _work(command: str, folder: Path, environment: Mapping[str, str], *more: str) -> int:
    argv = [sys.executable, "-P", "-m", "workers", command, str(folder.absolute()), *more]
    code = subprocess.run(argv, env=dict(environment), check=False).returncode  # noqa: S603 - ourselves
    return code if command == "backup" else with_recovery(code, environment)
