"""`headwater queues`: queues of pgmq and the functions that consume them (docs/queues-and-jobs.md)."""

from pathlib import Path
from typing import Any

import click

from services.cli.admin import operate
from services.cli.options import platform_options
from services.cli.output import json_text


@click.group()
def queues() -> None:
    """See queues, and pause, resume or drain the functions that consume them."""


@queues.command("list")
@platform_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(data: Path | None, project: Path | None, as_json: bool) -> None:
    """List queues: what waits, how old it is, and which function consumes it how fast."""
    consumers = operate(data, project, "queues.consumers")
    rows = operate(data, project, "queues.list")
    if as_json:
        click.echo(json_text({"queues": rows, "consumers": consumers}))
        return
    names = {row["name"].lower() for row in rows}
    for row in rows:
        age = f", the oldest {row['oldest_s']} s old" if row["oldest_s"] is not None else ""
        click.echo(f"{row['name']}: {row['messages']} messages, {row['visible']} can be taken{age}")
        for consumer in consumers:
            if consumer["queue"].lower() == row["name"].lower():
                _print_consumer(consumer)
    for consumer in consumers:
        if consumer["queue"].lower() not in names:
            click.echo(f"{consumer['queue']}: does not exist")
            _print_consumer(consumer)
    if not rows and not consumers:
        click.echo("There is no queue. `select pgmq.create('name')` creates one.")


@queues.command()
@platform_options
@click.argument("queue")
def pause(data: Path | None, project: Path | None, queue: str) -> None:
    """Take no further messages; what is underway ends."""
    operate(data, project, "queues.pause", queue=queue)


@queues.command()
@platform_options
@click.argument("queue")
def resume(data: Path | None, project: Path | None, queue: str) -> None:
    """Consume the queue again."""
    operate(data, project, "queues.resume", queue=queue)


@queues.command()
@platform_options
@click.argument("queue")
def drain(data: Path | None, project: Path | None, queue: str) -> None:
    """Work until no message can be taken, then pause."""
    operate(data, project, "queues.drain", queue=queue)


@queues.command()
@platform_options
@click.argument("queue")
def redrive(data: Path | None, project: Path | None, queue: str) -> None:
    """Send messages that were set aside to the queue again."""
    count = 0
    while sent := operate(data, project, "queues.redrive", queue=queue)["count"]:
        count += sent
    click.echo(f"{count} are sent again")


@queues.command()
@platform_options
def expose(data: Path | None, project: Path | None) -> None:
    """Let clients use queues through schema pgmq_public, as far as row policies on the queues' tables allow."""
    exposed = operate(data, project, "queues.expose")
    click.echo(f"Under row security: {', '.join(exposed['queues']) or 'no queue yet'}")
    if not exposed["is_served"]:
        click.echo('Clients reach it when `schemas` of [api] in config.toml names "pgmq_public".')


def _print_consumer(consumer: dict[str, Any]) -> None:
    state = {"run": "", "drain": ", draining", "pause": ", paused"}[consumer["wanted"]]
    click.echo(
        f"  {consumer['function']}{state}: {consumer['underway']} underway, {consumer['done']} done"
        f" ({consumer['done_per_s']:.1f} a second), {consumer['failed']} attempts failed, {consumer['set_aside']} set aside"
    )
    if consumer["problem"]:
        click.secho(f"  {consumer['problem']}", fg="yellow")
    elif consumer["last_error"]:
        click.secho(f"  last failure: {consumer['last_error']}", fg="yellow")
