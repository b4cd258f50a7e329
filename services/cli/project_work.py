"""How a command has work done on the project of a running platform."""

import sys
from pathlib import Path
from typing import NoReturn

from schemas.project_tasks import Diff, Task
from services.cli.after_reset import Said
from services.cli.options import refuse, running_platform
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres.shadow import shadow_server
from services.supervisor.project.work import do_work, project_of, work_environment


def work(data: Path | None, project: Path | None, task: Task, output: int | None = None) -> int:
    """Do a task on the running platform that is meant; give its exit code. Ends the command where none runs.

    `output` is a descriptor that gets its standard output instead of the terminal.
    """
    folder, state = running_platform(data, project)
    try:
        found = project_of(state)
        environment = work_environment(found, folder, state)
        if not isinstance(task, Diff):
            return do_work(task, environment, output)
        with shadow_server(folder, found.settings.db.shadow_port, Said()) as url:
            return do_work(task, environment | {"HEADWATER_SHADOW_URL": url}, output)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)


def finish(data: Path | None, project: Path | None, task: Task) -> NoReturn:
    """Do a task and end the command with its exit code."""
    sys.exit(work(data, project, task))
