"""Run a task on the project of a running platform."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, urlsplit

from schemas.project_tasks import (
    DatabasesForTestsTask,
    DiffTask,
    Task,
    name_of_test_database,
    password_of_tests,
)
from services.cli.after_reset import StderrReporter
from services.cli.options import refuse, running_platform
from services.supervisor.addresses import database_url
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


@contextmanager
def databases_for_tests(data: Path | None, project: Path | None, count: int) -> Iterator[list[str]]:
    """Yield URLs of databases as the project's migrations and seeds make them, for role postgres; they are removed after the block.

    Exits with 2 if they cannot be made.
    """
    folder, state = running_platform(data, project)
    try:
        loaded = project_of_state(state)
        environment = work_environment(loaded, folder, state)
        with shadow_server(folder, loaded.settings.db.shadow_port, StderrReporter()) as url:
            code = do_work(DatabasesForTestsTask(count), environment | {"HEADWATER_SHADOW_URL": url})
            if code:
                refuse("The databases for the tests could not be made.", code=code)
            parts = urlsplit(url)
            password = password_of_tests(unquote(parts.password or ""))
            yield [
                database_url("postgres", password, parts.port or 0, name_of_test_database(number))
                for number in range(1, count + 1)
            ]
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)


def finish(data: Path | None, project: Path | None, task: Task) -> NoReturn:
    """Run a task and exit with its exit code."""
    sys.exit(work(data, project, task))
