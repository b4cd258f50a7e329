"""The environment of a platform's child, for tests that start another process like it.

`/proc/<pid>/environ` shows that of the fork server, which holds no settings.
"""

import json
import os
import sys
from dataclasses import fields
from pathlib import Path

from broker.subject_rights import PROCESS_USERS
from schemas.database_logins import password_variables
from services.supervisor.api_keys import keys_of
from services.supervisor.data_folder.folder import DataFolder, ensure_passwords, read_ports
from services.supervisor.environment import children_environment, login_environment
from services.supervisor.ports import Ports
from services.supervisor.prepare import _links
from services.supervisor.processes.plan import EmbeddedServer, PartSelection, make_plan
from services.supervisor.project.settings import load_project
from tests.platform import Platform


def environment_of(running_platform: Platform, name: str) -> dict[str, str]:
    """Return the environment that the supervisor of a platform gives to its child of this name."""
    state = json.loads((running_platform.data / "state.json").read_text())
    config = Path(state["config"]) if state["config"] else None
    started_with = {**os.environ, **running_platform.environment}
    port = {"HEADWATER_API_PORT": str(running_platform.port)}
    project = load_project(Path(state["project"]), config, running_platform.data, port, started_with)
    folder = DataFolder(running_platform.data)
    chosen = read_ports(folder)  # with ports that options named, by their variables
    ports = Ports(**{field.name: chosen[field.name] for field in fields(Ports) if field.name in chosen})
    passwords, _ = ensure_passwords(
        folder, ["database", *PROCESS_USERS, *password_variables(project.settings)]
    )
    here = EmbeddedServer((), {}, "")
    plan = make_plan(
        project.settings,
        PartSelection(),
        python=(sys.executable,),
        environment=children_environment(project, folder, ports, keys_of(project.settings.auth)),
        links=_links(project, ports, passwords, login_environment(project, folder), None),
        postgres=here if ports.db else None,
        nats=here if ports.nats else None,
    )
    return dict(next(child.environment for child in plan if child.name == name))
