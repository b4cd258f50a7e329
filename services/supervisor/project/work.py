"""Have the workers do a piece of work of a project (`schemas/project_tasks.py`), against a platform that runs.

The work is a child of its own that ends with the work: this wing holds no SQL. What it writes goes where ours goes.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from schemas.project_tasks import Reset, Task
from services.supervisor import addresses
from services.supervisor.api_keys import keys_of
from services.supervisor.data_folder.folder import DataFolder, keep_passwords
from services.supervisor.data_folder.state import State
from services.supervisor.errors import StartRefused
from services.supervisor.launch import children_environment, login_environment
from services.supervisor.ports import Ports
from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.project.settings import Project, load_project


def project_of(state: State) -> Project:
    """Read the project of a running platform anew. Raises: StartRefused if its files cannot be used.

    An outside database is that of the running platform, also where a variable named it that is not set here: without it the
    logins would be given the passwords of an embedded one.
    """
    config = Path(state.config) if state.config else None
    url = "" if state.ports.get("db") else state.values.get("DB_URL", "")
    outside = {"HEADWATER_DB_URL": url} if url else {}
    return load_project(Path(state.project), config, Path(state.data), outside)


def work_environment(project: Project, folder: DataFolder, state: State) -> dict[str, str]:
    """Give the environment of the work: as that of the platform's children, with the URLs of the database."""
    ports = Ports(**state.ports)
    environment = children_environment(project, folder, ports, keys_of(project.settings.auth))
    url = state.values.get("DB_URL")
    if url is None:
        raise StartRefused("This platform runs no database, only edges. Name one that does with --data.")
    logins = login_environment(project, folder)
    if not ports.db:
        return environment | logins | {"HEADWATER_DB_URL": url, "HEADWATER_MIGRATE_URL": url}
    password = keep_passwords(folder, ["database"])[0]["database"]
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


def do_work(task: Task, environment: Mapping[str, str], output: int | None = None) -> int:
    """Run a task and give its exit code; `output` is a descriptor that gets its standard output."""
    code = _workers("project", msgspec.json.encode(task).decode(), environment=environment, output=output)
    return recovered(code, environment) if isinstance(task, Reset) else code


def recovered(code: int, environment: Mapping[str, str]) -> int:
    """Return the exit code of a child that replaced a database; one that was killed has its work undone or finished first.

    Should this process be killed as well, the next start does that.
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
