"""Run a task of a project (`schemas/project_tasks.py`) in the worker layer, against a running platform.

The task is a child process of its own, because the layer `services` contains no SQL. It inherits our standard output and error.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from schemas.project_tasks import ResetTask, Task
from services.supervisor import addresses
from services.supervisor.api_keys import keys_of
from services.supervisor.binaries import headwater_version, postgres_tool
from services.supervisor.data_folder.folder import DataFolder, database_password
from services.supervisor.data_folder.state import PlatformState
from services.supervisor.environment import (
    children_environment,
    login_environment,
    platform_variable,
    superuser_url,
)
from services.supervisor.errors import StartRefused
from services.supervisor.ports import Ports
from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.project.settings import Project, load_project


def project_of_state(state: PlatformState, more: Mapping[str, str] | None = None) -> Project:
    """Read the project of a running platform again. Raises: StartRefused if its files cannot be used.

    The URL of an external database comes from the state file, because the variable that named it may not be set here: without it the
    logins would get the passwords of an embedded database. So do options of the start that decide its address. `more` are further settings by their environment names.
    """
    config = Path(state.config) if state.config else None
    url = "" if state.ports.get("db") else state.values.get("DB_URL", "")
    overrides = {**state.options, **({"HEADWATER_DB_URL": url} if url else {}), **(more or {})}
    return load_project(Path(state.project), config, Path(state.data), overrides)


def work_environment(project: Project, folder: DataFolder, state: PlatformState) -> dict[str, str]:
    """Return the environment of a task: what the platform's children get, with the URLs of the database."""
    ports = Ports(**state.ports)
    environment = children_environment(project, folder, ports, keys_of(project.settings.auth))
    url = state.values.get("DB_URL")
    if url is None:
        raise StartRefused("This platform runs no database, only edges. Name one that does with --data.")
    logins = login_environment(project, folder)
    if not ports.db:
        owner = superuser_url(project, url)
        urls = {"HEADWATER_DB_URL": url, "HEADWATER_MIGRATE_URL": owner}
        return environment | logins | urls | platform_variable(project, folder)
    password = database_password(folder)
    owner = addresses.database_url(SUPERUSER, password, ports.db)
    return (
        environment
        | logins
        | {
            "HEADWATER_DB_URL": url,
            "HEADWATER_MIGRATE_URL": owner,
            "HEADWATER_PROJECT_URL": url,
        }
    )


def backup_environment(project: Project, folder: DataFolder, state: PlatformState) -> dict[str, str]:
    """Return the environment of a backup or a restore: the environment of a task, and where the tools of Postgres are. Raises: SupervisorError."""
    environment = work_environment(project, folder, state)
    tools = postgres_tool("pg_dump", addresses.libpq_environment(environment["HEADWATER_MIGRATE_URL"])).parent
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {
        **inherited,
        **environment,
        "HEADWATER_POSTGRES_TOOLS": str(tools),
        "HEADWATER_VERSION": headwater_version(),
    }


def do_work(task: Task, environment: Mapping[str, str], output: int | None = None) -> int:
    """Run a task and return its exit code; `output` is a descriptor for its standard output."""
    code = _workers("project", msgspec.json.encode(task).decode(), environment=environment, output=output)
    return with_recovery(code, environment) if isinstance(task, ResetTask) else code


def with_recovery(code: int, environment: Mapping[str, str]) -> int:
    """Return the exit code of a child that replaced a database; if it was killed, undo or finish its work first.

    If this process is killed as well, the next start does that.
    """
    if code >= 0:
        return code
    print(f"The work was killed (signal {-code}). Undoing what it left", file=sys.stderr)
    _workers("recover", environment=environment)
    return 1


def _workers(*words: str, environment: Mapping[str, str], output: int | None = None) -> int:
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    argv = [sys.executable, "-P", "-m", "workers", *words]
    return subprocess.run(argv, env={**inherited, **environment}, stdout=output, check=False).returncode  # noqa: S603 - ourselves
