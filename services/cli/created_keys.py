"""`headwater keys create`, `keys list` and `keys revoke`: API keys of a running platform, one for each application and server."""

from pathlib import Path

import click

from services.cli.admin import operate
from services.cli.options import platform_options
from services.cli.output import json_text


@click.command()
@platform_options
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["publishable", "secret"]),
    default="publishable",
    show_default=True,
    help="publishable: for applications, with the rights of their users. secret: for servers, past all policies.",
)
def create(data: Path | None, project: Path | None, name: str, kind: str) -> None:
    """Create an API key of a running platform, and print it this once: only its digest is stored.

    \b
    headwater keys create worker-2026-12 --kind secret
    """
    click.echo(operate(data, project, "keys.create", name=name, kind=kind)["key"])


@click.command("list")
@platform_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(data: Path | None, project: Path | None, as_json: bool) -> None:
    """List the created API keys of a running platform. Edges count their uses: `headwater_api_key_last_used_seconds` in /metrics."""
    rows = operate(data, project, "keys.created")
    if as_json:
        click.echo(json_text(rows))
        return
    for row in rows:
        click.echo(f"{row['name']}: {row['kind']} ...{row['hint']}, created {row['created_on']}")
    if not rows:
        click.echo("No key was created. `headwater keys create NAME` creates one.")


@click.command()
@platform_options
@click.argument("name")
def revoke(data: Path | None, project: Path | None, name: str) -> None:
    """Reject a created API key from now on; nothing restarts."""
    operate(data, project, "keys.revoke", name=name)
    click.echo(f"{name} is revoked")
