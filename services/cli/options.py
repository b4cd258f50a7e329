"""Options that several commands share, and how a command exits with an error."""

import functools
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from services.supervisor.branches.choice import chosen_data
from services.supervisor.branches.record import read_record
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.running_platforms import running_platforms
from services.supervisor.data_folder.state import PlatformState, running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.project.settings import find_data_above

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = click.Path(file_okay=False, path_type=Path)


def platform_options(function: F) -> F:
    """Add `--data` and `--project`, which name the platform, and `--branch`, which names one of its branches instead."""

    @functools.wraps(function)
    def with_branch(
        *arguments: Any, data: Path | None, project: Path | None, branch: str, **options: Any
    ) -> Any:
        try:
            data = chosen_data(data, project, branch)
        except SupervisorError as error:
            refuse(str(error), code=error.exit_code)
        return function(*arguments, data=data, project=project, **options)

    return branch_option(parent_options(with_branch))  # type: ignore[return-value]  # the same command with one more option


def branch_option(function: F) -> F:
    """Add `--branch`."""
    option = click.option(
        "--branch",
        envvar="HEADWATER_BRANCH",
        default="",
        metavar="NAME",
        help="Work on this branch of the platform; `git`: on that of the git branch.",
    )
    return option(function)


def parent_options(function: F) -> F:
    """Add `--data` and `--project`, which name the platform itself, whatever branch is chosen."""
    data = click.option(
        "--data",
        type=_FOLDER,
        envvar="HEADWATER_DATA",
        metavar="DIR",
        help="Data folder of the platform.  [default: .headwater in the project folder, or in one above]",
    )
    project = click.option(
        "--project", type=_FOLDER, metavar="DIR", help="Folder of the project.  [default: the current folder]"
    )
    return data(project(function))


def data_folder(data: Path | None, project: Path | None) -> DataFolder:
    """Return the data folder that the options name."""
    return DataFolder(find_data_above(data, project))


def running_platform(data: Path | None, project: Path | None) -> tuple[DataFolder, PlatformState]:
    """Return the running platform that the options name; exit with an error if it does not run."""
    folder = data_folder(data, project)
    state = running_state(folder)
    if state is None:
        record = read_record(folder.path)
        start = "headwater start" if record is None else f"headwater start --branch {record.name}"
        refuse(
            f"No platform is running in {folder.path}. Start it with `{start}`, "
            f"or name another data folder with --data.{other_platforms()}",
            code=1,
        )
    return folder, state


def other_platforms() -> str:
    """Return a sentence that names the platforms that run elsewhere on this machine; empty without any."""
    options = [f"--data {shlex.quote(str(path))}" for path in running_platforms()]
    return f" Running: {', '.join(options)}" if options else ""


def read_env_file(file: Path) -> str:
    """Return the text of an env file, of standard input for `-`; exit with an error for one that cannot be read or is no UTF-8."""
    try:
        return (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode()
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror}.", code=2)
    except UnicodeDecodeError:
        refuse(f"{file} is not valid UTF-8, so its values would be changed. Save it as UTF-8.", code=2)


def refuse(sentence: str, *, code: int) -> NoReturn:
    """Exit with a sentence on standard error and an exit code."""
    click.secho(sentence, fg="red", err=True)
    raise click.exceptions.Exit(code)
