"""The sealing key of a data folder: a file from which the keys are derived that encrypt what the platform stores.

Neither the database's user nor a dump or a replica has it. It is generated at the first start and never changed: without it what it
sealed is lost, so the archive of continuous backup contains it, encrypted, and a platform that is moved takes it along. A new
line on top encrypts from the next start on, and the other lines still decrypt (schemas/keys/sealing_keys.py). An outside database may
belong to the platforms of several machines, so there the settings name the key.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from services.supervisor.data_folder.folder import DataFolder, write_private
from services.supervisor.errors import StartRefused
from services.supervisor.processes.plan import SEALING_KEY
from services.supervisor.project.settings import Project

NAME = "sealing.key"
_BYTES = 32


def sealing_key_text(folder: DataFolder) -> str:
    """Return the lines of the data folder's sealing key; generate the file if it is missing. Raises: StartRefused."""
    path = folder.path / NAME
    if not path.exists():
        write_private(
            path, f"{secrets.token_hex(_BYTES)}\n".encode(), is_durable=True
        )  # before it seals anything
    try:
        lines = path.read_text().split()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not lines:
        raise StartRefused(
            f"{path} cannot be read or is empty. It encrypts what the platform stores: bring back the file, or delete it to get a "
            "new key, with which stored settings, second factors and secrets have to be entered again."
        )
    return ",".join(lines)


def write_sealing_key(folder: DataFolder, archived: str, used: Path) -> None:
    """Write the sealing key into a restored data folder; without any the next start generates it.

    It has the lines of the data folder in use (`used`), if that is there, and those of the archive: the moment may be later than the
    base backup that contains the key, and the key may have changed between.
    """
    present = used / NAME
    lines = present.read_text().split() if present.exists() else []
    if lines := list(dict.fromkeys([*lines, *archived.split()])):
        write_private(folder.path / NAME, ("\n".join(lines) + "\n").encode(), is_durable=True)


def sealing_environment(project: Project, folder: DataFolder) -> Mapping[str, str]:
    """Return the variable with the sealing key: of the settings, else of the data folder. Raises: StartRefused."""
    settings = project.settings
    if settings.auth.sealing_key is not None:
        return {SEALING_KEY: settings.auth.sealing_key.reveal()}
    return {} if settings.db.url else {SEALING_KEY: sealing_key_text(folder)}


def sealing_key_path(project: Project, folder: DataFolder) -> str:
    """Return the file that continuous backup stores with each base backup; empty where the settings name the key."""
    if project.settings.auth.sealing_key is not None or project.settings.db.url:
        return ""
    return os.fspath(folder.path / NAME)
