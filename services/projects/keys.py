"""The keys and passwords of a new project: random ones in the `.env` of its folder, which its owner alone can read."""

import os
import secrets
from pathlib import Path

from services.cli.keys import named_keys
from services.cli.output import env_lines
from services.projects.platform_process import platform_environment
from services.supervisor.api_keys import random_keys
from services.supervisor.data_folder.folder import write_private
from services.supervisor.errors import StartRefused
from services.supervisor.exposure import development_secrets
from services.supervisor.project.settings import DATA_FOLDER, Project, load_project

_SECRET = "HEADWATER_AUTH_JWT_SECRET"  # noqa: S105 - a name
_SIGNED = ("HEADWATER_AUTH_ANON_KEY", "HEADWATER_AUTH_SERVICE_ROLE_KEY")
"""Keys that are signed with the secret: they are made with it, or not at all."""


def read_project(folder: Path) -> Project:
    """Read a project of the server as its platform will: without settings of our own environment. Raises: StartRefused."""
    return load_project(folder, None, folder / DATA_FOLDER, {}, platform_environment(os.environ))


def ensure_keys(folder: Path) -> list[str]:
    """Write random keys for those that still are the published ones; return their names. Raises: StartRefused, OSError."""
    published = development_secrets(read_project(folder).settings)
    if not published:
        return []
    new = named_keys(random_keys(), secrets.token_urlsafe(24))
    written = {name: new[name] for name in [*published, *(_SIGNED if _SECRET in published else ())]}
    path = folder / ".env"
    before = path.read_text() if path.exists() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    write_private(path, f"{before}{env_lines(written)}\n".encode())
    if left := development_secrets(read_project(folder).settings):
        write_private(path, before.encode())
        raise StartRefused(
            f"The files of {folder} set the published development values of {', '.join(left)}, and on a server of projects each has its own. "
            "Remove these settings from config.toml and .env.local."
        )
    return list(written)
