"""`headwater projects remove`."""

import os
import signal
import time
from pathlib import Path

import click

from services.cli.options import refuse
from services.projects.control import request_server
from services.projects.model import ControlRequest
from services.projects.registry import ServerFolder, data_folder_of, find_project, forget_project
from services.supervisor.branches.drafts import remove_folder
from services.supervisor.branches.listing import disk_use, list_branches
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartFailed, StartRefused, SupervisorError

_MIB = 1024 * 1024
_STOP_S = 180.0
_PAUSE_S = 0.05


@click.command()
@click.argument("name")
@click.option("--delete-data", is_flag=True, help="Delete its data folder, too: database, objects, branches.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(folder: ServerFolder, name: str, delete_data: bool, yes: bool) -> None:
    """Stop the project NAME and serve it no more. Its data stays, unless --delete-data is given.

    Its folder, with `.env` and migrations, stays in every case; `headwater projects add NAME` brings it back with the same keys.

    \b
    Exit codes: 0 removed, 1 it could not be stopped, or you said no; 2 there is no such project
    """
    try:
        record = find_project(folder, name)
        data = data_folder_of(record)
        if delete_data and (running := [branch.name for branch in list_branches(data) if branch.is_running]):
            raise StartRefused(f"Branches of {name} run: {', '.join(running)}. Stop them first.")
        if not yes:
            own, shared = disk_use(data)
            what = (
                f"Delete {(own + shared) // _MIB} MB in {data.path}: database, objects, branches"
                if delete_data
                else f"Its data stays in {data.path}"
            )
            click.confirm(f"Remove the project {name}? {what}.", abort=True)
        request_server(folder, ControlRequest("release", name))
        _stop_platform(data.path, data.lock)
        forget_project(folder, record)
        request_server(folder, ControlRequest("reload"))
        if delete_data:
            remove_folder(data)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(f"Removed {name}." + ("" if delete_data else f" Its data is in {data.path}."))


def _stop_platform(data: Path, lock: Path) -> None:
    """Stop a platform that runs without the server. Raises: StartFailed."""
    if not is_locked(lock):
        return
    state = running_state(DataFolder(data))
    if state is not None:
        os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while is_locked(lock):
        if time.monotonic() > deadline:
            raise StartFailed(
                f"The platform in {data} still runs after {_STOP_S:.0f} s. Nothing was removed."
            )
        time.sleep(_PAUSE_S)  # between two looks at its state
