"""Run a task on the project of a running platform."""

import sys
from pathlib import Path
from typing import NoReturn

from schemas.project_tasks import DiffTask, Task
from services.cli.after_reset import StderrReporter
from services.cli.options import refuse, running_platform
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres.shadow import shadow_server
from services.supervisor.project.work import do_work, project_of_state, work_environment


def work(data: Path | None, project: Path | None, task: Task, output: int | None = None) -> int:
    """Run a task on the platform that the options name; return its exit code. Exits with an error if none runs.

    `output` is a descriptor that gets its standard output instead of the terminal.
    """
    folder, state = running_platform(data, project)
    try:
        loaded = project_of_state(state)
        environment = work_environment(loaded, folder, state)
        if not isinstance(task, DiffTask):
            return do_work(task, environment, output)
        with shadow_server(folder, loaded.settings.db.shadow_port, StderrReporter()) as url:
            return do_work(task, environment | {"HEADWATER_SHADOW_URL": url}, output)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)


def finish(data: Path | None, project: Path | None, task: Task) -> NoReturn:
    """Run a task and exit with its exit code."""
    sys.exit(work(data, project, task))
