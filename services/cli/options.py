"""Options that several commands share, and how a command exits with an error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import PlatformState, running_state
from services.supervisor.project.settings import find_data

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = click.Path(file_okay=False, path_type=Path)


def platform_options(function: F) -> F:
    """Add `--data` and `--project`, which name the platform."""
    data = click.option(
        "--data",
        type=_FOLDER,
        envvar="HEADWATER_DATA",
        metavar="DIR",
        help="Data folder of the platform.  [default: .headwater in the project folder]",
    )
    project = click.option(
        "--project", type=_FOLDER, metavar="DIR", help="Folder of the project.  [default: the current folder]"
    )
    return data(project(function))


def data_folder(data: Path | None, project: Path | None) -> DataFolder:
    """Return the data folder that the options name."""
    return DataFolder(find_data(data, project))


def running_platform(data: Path | None, project: Path | None) -> tuple[DataFolder, PlatformState]:
    """Return the running platform that the options name; exit with an error if it does not run."""
    folder = data_folder(data, project)
    state = running_state(folder)
    if state is None:
        refuse(
            f"No platform is running in {folder.path}. Start it with `headwater start`, "
            "or name another data folder with --data.",
            code=1,
        )
    return folder, state


def refuse(sentence: str, *, code: int) -> NoReturn:
    """Exit with a sentence on standard error and an exit code."""
    click.secho(sentence, fg="red", err=True)
    raise click.exceptions.Exit(code)
