"""`headwater streams`: tables that are copied to other systems (docs/streams.md)."""

from datetime import UTC, datetime
from pathlib import Path

import click

from services.cli.admin import operate
from services.cli.options import platform_options
from services.cli.output import json_text


@click.group()
def streams() -> None:
    """See the tables that [streams] of config.toml copies to other systems."""


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
        if row["problem"]:
            since = datetime.fromtimestamp(row["problem_since"], UTC)
            click.echo(f"    since {since:%Y-%m-%d %H:%M} UTC: {row['problem']}")
        if row["snapshots"] > 1:
            click.echo(
                f"    copied whole {row['snapshots']} times, the last time because {row['snapshot_reason']}"
            )
    if not rows:
        click.echo("There is no stream. [streams.<name>] of config.toml makes one (docs/streams.md).")
