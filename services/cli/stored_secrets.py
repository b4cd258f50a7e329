"""Secrets of functions where no worker answers: they are put into the blob store, where a worker finds them when it starts.

The work is a child of its own (`python -P -m workers secrets`); values go to it by a pipe, never as its arguments.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from services.cli.options import data_folder, refuse
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import State, running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.project.settings import Project, load_project
from services.supervisor.project.work import project_of

_FOLDERS = ("HEADWATER_DATA", "HEADWATER_CONFIG")


def do_in_store(data: Path | None, project: Path | None, task: str, body: object = None) -> tuple[Any, str]:
    """Set, unset or list secrets in the store of a platform of this machine; give the list, and what else to tell.

    Ends the command where there is no such platform, or the store refuses.
    """
    folder = data_folder(data, project)
    state = running_state(folder)
    if state is None and not folder.lock.exists():
        refuse(
            f"There is no platform in {folder.path}. Start it once with `headwater start`, or name another data folder "
            "with --data, or a platform elsewhere with --url.",
            code=1,
        )
    try:
        found = project_of(state) if state else load_project(project, None, folder.path, {})
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "workers", "secrets", task],
        env=_environment(found, folder, state),
        input=json.dumps(body).encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(1)  # it has said why
    return json.loads(done.stdout or b"null"), _told(found, state)


def _environment(project: Project, folder: DataFolder, state: State | None) -> dict[str, str]:
    """Give the settings of the platform; the secret that seals is that of the one which runs."""
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    kept = {name: value for name, value in project.environment.items() if name not in _FOLDERS}
    chosen = {"HEADWATER_DATA": str(folder.path)}
    if project.config:
        chosen["HEADWATER_CONFIG"] = str(project.config)
    if state is not None and "JWT_SECRET" in state.values:
        chosen["HEADWATER_AUTH_JWT_SECRET"] = state.values["JWT_SECRET"]
    return {**inherited, **kept, **chosen}


def _told(project: Project, state: State | None) -> str:
    """Say when what was stored takes effect."""
    if not project.settings.edge_runtime.enabled:
        return (
            "Functions are switched off: it takes effect when they start with `edge_runtime.enabled = true`."
        )
    if state is None:
        return "The platform does not run: it takes effect at the next `headwater start`."
    return "No functions worker answers: it takes effect when one starts (`headwater start`, or `--pool functions`)."
