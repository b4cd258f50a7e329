"""`headwater version`: versions of headwater and its servers."""

import platform
from pathlib import Path

import click

from services.cli.options import data_folder, platform_options
from services.supervisor.binaries import headwater_version, nats_version, postgres_version
from services.supervisor.data_folder.state import running_state


@click.command()
@platform_options
def version(data: Path | None, project: Path | None) -> None:
    """Show the versions in use."""
    ours = headwater_version()
    click.echo(f"headwater {ours}")
    click.echo(f"Postgres {postgres_version()}, NATS {nats_version()}, Python {platform.python_version()}")
    state = running_state(data_folder(data, project))
    if state and state.version != ours:
        click.echo(f"The platform in {state.data} still runs {state.version}; stop and start it to change.")
