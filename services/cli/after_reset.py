"""After a reset: the buckets of config.toml are created and filled again."""

import click

from schemas.settings.tree import Settings
from services.supervisor.data_folder.state import PlatformState
from services.supervisor.project.bucket_process import load_buckets_in_process
from services.supervisor.project.work import project_of_state


class StderrReporter:
    """A `Reporter` that prints steps on standard error."""

    def info(self, line: str) -> None:
        """Print a step."""
        click.echo(line, err=True)

    def warn(self, line: str) -> None:
        """Print a warning."""
        click.secho(line, fg="yellow", err=True)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Do nothing: a reset starts no platform."""


async def refill_buckets(state: PlatformState) -> None:
    """Create and fill the buckets of a running platform's project, if it has any."""
    project = project_of_state(state)
    settings: Settings = project.settings
    url, key = state.values.get("API_URL"), state.values["SERVICE_ROLE_KEY"]
    if settings.storage.buckets and settings.storage.enabled and url:
        top = project.config.parent if project.config else project.root
        await load_buckets_in_process(settings.storage.buckets, url, key, top, StderrReporter())
