"""What follows a reset: the buckets of config.toml are made and filled again."""

import importlib

import click

from schemas.settings.tree import Settings
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import State
from services.supervisor.project.work import project_of


class Said:
    """Shows steps on standard error; a `Reporter`."""

    def say(self, line: str) -> None:
        """Tell a step."""
        click.echo(line, err=True)

    def warn(self, line: str) -> None:
        """Tell a warning."""
        click.secho(line, fg="yellow", err=True)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Nothing starts here."""


async def refill_buckets(folder: DataFolder, state: State) -> None:
    """Make and fill the buckets of a running platform's project, if it has any."""
    del folder
    project = project_of(state)
    settings: Settings = project.settings
    url, key = state.values.get("API_URL"), state.values["SERVICE_ROLE_KEY"]
    if settings.storage.buckets and settings.storage.enabled and url:
        top = project.config.parent if project.config else project.root
        buckets = importlib.import_module(
            "services.supervisor.project.buckets"
        )  # brings the HTTP client along
        await buckets.load_buckets(settings.storage.buckets, url, key, top, Said())
