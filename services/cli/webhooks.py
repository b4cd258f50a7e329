"""`headwater webhooks`: events of rows, storage and accounts, sent to other services (docs/webhooks.md)."""

import datetime
from pathlib import Path
from typing import Any

import click

from services.cli.admin import operate
from services.cli.options import platform_options
from services.cli.output import json_text

_SOURCES = ("rows", "storage", "auth")
_STATES = ("waiting", "delivered", "failed")


@click.group()
def webhooks() -> None:
    """Send events to other services: signed, repeated until they are taken, and kept to be looked at."""


@webhooks.command()
@platform_options
@click.argument("name")
@click.argument("url")
@click.option(
    "--source",
    type=click.Choice(_SOURCES),
    default="rows",
    show_default=True,
    help="What the events are about.",
)
@click.option("--table", metavar="[SCHEMA.]TABLE", default="", help="The table whose rows are sent.")
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="EVENT",
    help="insert, update, delete... May be repeated; all without it.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="COLUMN=OP.VALUE",
    help="Send rows that pass, as in status=eq.paid. May be repeated.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Send this column. May be repeated; all without it.",
)
@click.option(
    "--old",
    "with_old",
    is_flag=True,
    help="Send the row as it was before, too (needs replica identity full).",
)
@click.option("--ordered", is_flag=True, help="Keep the order of the events of each row.")
@click.option("--bucket", metavar="NAME", help="Of storage: events of this bucket alone.")
@click.option(
    "--header", "headers", multiple=True, metavar="NAME:VALUE", help="Send this header. May be repeated."
)
@click.option("--secret", metavar="whsec_...", help="Sign with this secret instead of a new one.")
def add(
    data: Path | None,
    project: Path | None,
    name: str,
    url: str,
    source: str,
    table: str,
    events: tuple[str, ...],
    filters: tuple[str, ...],
    columns: tuple[str, ...],
    with_old: bool,
    ordered: bool,
    bucket: str | None,
    headers: tuple[str, ...],
    secret: str | None,
) -> None:
    """Add a webhook and print the secret by which its receiver checks signatures.

    \b
    headwater webhooks add orders https://example.com/hooks --table orders --filter status=eq.paid
    headwater webhooks add uploads https://example.com/hooks --source storage --event object_created
    """
    if source == "rows" and not table:
        raise click.UsageError("Name the table whose rows are sent: --table [SCHEMA.]TABLE.")
    schema, dot, bare = table.rpartition(".")
    named = dict(_header(text) for text in headers)
    added = operate(
        data,
        project,
        "event_webhooks.add",
        name=name,
        url=url,
        source=source,
        events=list(events),
        schema=schema if dot else "public",
        table=bare,
        filters=list(filters),
        columns=list(columns) or None,
        with_old=with_old,
        is_ordered=ordered,
        bucket=bucket,
        headers=named,
        secret=secret,
    )
    click.echo(added["secret"])


@webhooks.command("list")
@platform_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(data: Path | None, project: Path | None, as_json: bool) -> None:
    """List the webhooks: where they send, what waits, what was set aside, what is wrong."""
    rows = operate(data, project, "event_webhooks.list")
    if as_json:
        click.echo(json_text(rows))
        return
    for row in rows:
        what = (
            f"{row['schema']}.{row['table']}" if row["source"] == "rows" else row["bucket"] or row["source"]
        )
        click.echo(f"{row['name']}: {what} ({', '.join(row['events'])}) to {row['url']}")
        click.echo(f"  {row['waiting']} waiting, {row['failed']} set aside")
        if row["problem"]:
            click.secho(f"  {row['problem']}", fg="yellow")
    if not rows:
        click.echo("There is no webhook. `headwater webhooks add NAME URL --table TABLE` adds one.")


@webhooks.command()
@platform_options
@click.argument("name")
def remove(data: Path | None, project: Path | None, name: str) -> None:
    """Remove a webhook with its deliveries."""
    operate(data, project, "event_webhooks.remove", name=name)


@webhooks.command()
@platform_options
@click.argument("name")
def pause(data: Path | None, project: Path | None, name: str) -> None:
    """Send nothing more until `resume`; events are stored meanwhile."""
    operate(data, project, "event_webhooks.change", name=name, is_paused=True)


@webhooks.command()
@platform_options
@click.argument("name")
def resume(data: Path | None, project: Path | None, name: str) -> None:
    """Send again, what has waited first."""
    operate(data, project, "event_webhooks.change", name=name, is_paused=False)


@webhooks.command()
@platform_options
@click.argument("name")
def rotate(data: Path | None, project: Path | None, name: str) -> None:
    """Make and print a new secret; the former one signs beside it for a day."""
    click.echo(operate(data, project, "event_webhooks.rotate_secret", name=name)["secret"])


@webhooks.command()
@platform_options
@click.argument("name")
def test(data: Path | None, project: Path | None, name: str) -> None:
    """Send a test event and print what the receiver answered.

    \b
    Exit codes: 0 it was taken, 1 it was not
    """
    result = operate(data, project, "event_webhooks.test", name=name)
    if not result["is_delivered"]:
        reason = result["error"] or f"status {result['status']}: {result['answer'] or ''}"
        click.secho(f"The receiver did not take it: {reason}", fg="red")
        raise click.exceptions.Exit(1)
    click.echo(f"Taken with status {result['status']} after {result['took_ms']} ms")


@webhooks.command()
@platform_options
@click.argument("name", default="")
@click.option("--state", type=click.Choice(_STATES), help="Only those in this state.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many, the newest first.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON, with bodies and answers.")
def deliveries(
    data: Path | None, project: Path | None, name: str, state: str | None, limit: int, as_json: bool
) -> None:
    """List what was sent and what came back."""
    page = operate(data, project, "event_webhooks.deliveries", webhook=name, state=state, limit=limit)
    if as_json:
        click.echo(json_text(page["rows"]))
        return
    for row in page["rows"]:
        click.echo(
            f"{row['id']} {_moment(row['occurred_at'])} {row['webhook']} {row['type']} {row['state']} {_outcome(row)}"
        )


@webhooks.command()
@platform_options
@click.argument("name")
@click.option("--since", metavar="TIME", help="Events from this moment on, as in 2026-01-31T12:00:00Z.")
@click.option("--id", "ids", multiple=True, type=int, help="This delivery. May be repeated.")
@click.option("--failed", is_flag=True, help="Only those that were set aside.")
def replay(
    data: Path | None, project: Path | None, name: str, since: str | None, ids: tuple[int, ...], failed: bool
) -> None:
    """Send deliveries again, with the ids that they had.

    \b
    headwater webhooks replay orders --since 2026-01-31T12:00:00Z
    headwater webhooks replay orders --failed
    """
    if not (since or ids or failed):
        raise click.UsageError("Name what is sent again: --since TIME, --id ID or --failed.")
    moment = _since(since) if since else (0.0 if failed and not ids else None)
    sent = operate(
        data, project, "event_webhooks.resend",
        webhook=name, ids=list(ids) or None, since=None if ids else moment, only_failed=failed,
    )  # fmt: skip
    click.echo(f"{sent['count']} are sent again")


def _since(text: str) -> float:
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter("a time has the form 2026-01-31T12:00:00Z", param_hint="--since") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.BadParameter("a header has the form NAME:VALUE", param_hint="--header")
    return name.strip(), value.strip()


def _moment(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _outcome(row: dict[str, Any]) -> str:
    result = row["error"] or (f"status {row['status']}" if row["status"] is not None else "not sent yet")
    again = f", again at {_moment(row['next_at'])}" if row["state"] == "waiting" and row["attempts"] else ""
    return f"{result} ({row['attempts']} attempts{again})"
