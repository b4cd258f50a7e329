"""`headwater streams`: tables that are copied to other systems (docs/streams.md)."""

from datetime import UTC, datetime
from pathlib import Path

import click

from schemas.keys.secret import Secret
from schemas.settings.stream_checks import streams_on_own_server, table_name
from schemas.stream_server import consumer, server_url
from services.cli.admin import operate
from services.cli.options import platform_options, refuse, running_platform
from services.cli.output import json_text
from services.supervisor.data_folder.folder import ensure_passwords
from services.supervisor.prepare import STREAM_SECRET
from services.supervisor.project.work import project_of_state


@click.group()
def streams() -> None:
    """See, pause and resume the tables that [streams] of config.toml copies to other systems."""


@streams.command()
@platform_options
@click.argument("name")
def url(data: Path | None, project: Path | None, name: str) -> None:
    """Print the address for consumers of a stream to `nats:`, with its password."""
    folder, state = running_platform(data, project)
    port = state.ports.get("stream_nats", 0)
    if not port or name not in streams_on_own_server(project_of_state(state).settings.streams):
        refuse(f"There is no stream '{name}' with the target nats: on this platform.", code=1)
    passwords, _ = ensure_passwords(folder, [STREAM_SECRET])
    click.echo(server_url(Secret(passwords[STREAM_SECRET]), consumer(name), port).reveal())


@streams.command("list")
@platform_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(data: Path | None, project: Path | None, as_json: bool) -> None:
    """List the tables of all streams: what the target has taken, and what is wrong."""
    rows = operate(data, project, "streams.list")
    if as_json:
        click.echo(json_text(rows))
        return
    for row in rows:
        click.echo(
            f"{row['stream']}: {row['schema']}.{row['table']} to {row['kind']}, {row['state']}, {row['rows']} rows"
        )
        if row["is_paused"]:
            click.echo(f"    paused; `headwater streams resume {row['stream']}` goes on")
        if row["problem"]:
            since = datetime.fromtimestamp(row["problem_since"], UTC)
            click.echo(f"    since {since:%Y-%m-%d %H:%M} UTC: {row['problem']}")
        if row["snapshots"] > 1:
            click.echo(
                f"    copied whole {row['snapshots']} times, the last time because {row['snapshot_reason']}"
            )
    if not rows:
        click.echo("There is no stream. [streams.<name>] of config.toml makes one (docs/streams.md).")


@streams.command()
@platform_options
@click.argument("name")
def pause(data: Path | None, project: Path | None, name: str) -> None:
    """Write nothing more of a stream; what is being written ends."""
    operate(data, project, "streams.pause", stream=name)


@streams.command()
@platform_options
@click.argument("name")
def resume(data: Path | None, project: Path | None, name: str) -> None:
    """Go on with a paused stream."""
    operate(data, project, "streams.resume", stream=name)


@streams.command("copy-again")
@platform_options
@click.argument("name")
@click.argument("table")
def copy_again(data: Path | None, project: Path | None, name: str, table: str) -> None:
    """Copy all rows of a table (orders, or sales.orders) again."""
    schema, table = table_name(table)
    operate(data, project, "streams.copy_again", stream=name, schema=schema, table=table)
