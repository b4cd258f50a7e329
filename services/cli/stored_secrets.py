"""Secrets of functions while no worker answers: written to the blob store, where a worker finds them when it starts.

A child process does the work (`python -P -m workers secrets`); values go to it through a pipe, never as its arguments.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from services.cli.options import data_folder, refuse
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.sealing_key import sealing_environment
from services.supervisor.data_folder.state import PlatformState, running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.project.settings import Project, load_project
from services.supervisor.project.work import project_of_state

_FOLDERS = ("HEADWATER_DATA", "HEADWATER_CONFIG")


def do_in_store(data: Path | None, project: Path | None, task: str, body: object = None) -> tuple[Any, str]:
    """Set, unset or list secrets in the store of a platform on this machine; return the list, and a sentence for the user.

    Exits with an error if the platform does not exist, or the store rejects the request.
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
        loaded = project_of_state(state) if state else load_project(project, None, folder.path, {})
        environment = _environment(loaded, folder, state)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    result = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "workers", "secrets", task],
        env=environment,
        input=json.dumps(body).encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(1)  # it has printed the reason
    return json.loads(result.stdout or b"null"), _effect_text(loaded, state)


def _environment(project: Project, folder: DataFolder, state: PlatformState | None) -> dict[str, str]:
    """Return the settings of the platform. Its sealing key encrypts the secrets, and where it has none its JWT secret."""
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    settings = {name: value for name, value in project.environment.items() if name not in _FOLDERS}
    chosen = {"HEADWATER_DATA": str(folder.path)}
    if project.config:
        chosen["HEADWATER_CONFIG"] = str(project.config)
    if state is not None and "JWT_SECRET" in state.values:
        chosen["HEADWATER_AUTH_JWT_SECRET"] = state.values["JWT_SECRET"]
    return {**inherited, **settings, **chosen, **sealing_environment(project, folder)}


def _effect_text(project: Project, state: PlatformState | None) -> str:
    """Return a sentence about when the change takes effect."""
    if not project.settings.edge_runtime.enabled:
        return (
            "Functions are switched off: it takes effect when they start with `edge_runtime.enabled = true`."
        )
    if state is None:
        return "The platform does not run: it takes effect at the next `headwater start`."
    return "No functions worker answers: it takes effect when one starts (`headwater start`, or `--pool functions`)."
