"""`headwater jobs`: durable jobs, their runs and steps (docs/queues-and-jobs.md)."""

import json
from pathlib import Path
from typing import Any

import click

from services.cli.admin import operate
from services.cli.options import platform_options, refuse
from services.cli.output import json_text

_STATES = ("queued", "running", "sleeping", "done", "failed", "cancelled")


@click.group()
def jobs() -> None:
    """See durable jobs and their runs; start, cancel and repeat runs, send events."""


@jobs.command("list")
@platform_options
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(data: Path | None, project: Path | None, as_json: bool) -> None:
    """List jobs: how many runs wait, are worked on, and failed within a day."""
    rows = operate(data, project, "durable_jobs.list")
    if as_json:
        click.echo(json_text(rows))
        return
    for row in rows:
        by = "" if row["is_function"] else ", taken by SQL"
        events = f", started by {', '.join(row['events'])}" if row["events"] else ""
        gone = "" if row["is_defined"] else ", no longer defined: its runs wait"
        click.echo(
            f"{row['name']}{by}{events}{gone}: {row['waiting']} waiting, {row['running']} running, {row['failed']} failed today"
        )
    if not rows:
        click.echo("There is no durable job. `[functions.NAME.job] enabled = true` makes a function one.")


@jobs.command()
@platform_options
@click.option("--job", default="", help="Only runs of this job.")
@click.option("--status", type=click.Choice(_STATES), help="Only runs in this state.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def runs(
    data: Path | None, project: Path | None, job: str, status: str | None, limit: int, as_json: bool
) -> None:
    """List runs, the newest first."""
    page = operate(data, project, "durable_jobs.runs", job=job, status=status, limit=limit)
    if as_json:
        click.echo(json_text(page["rows"]))
        return
    for row in page["rows"]:
        click.echo(f"{row['id']}  {row['job']}  {_state(row)}  {row['steps']} steps")


@jobs.command()
@platform_options
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(data: Path | None, project: Path | None, run: str, as_json: bool) -> None:
    """Look into a run: its input, its steps with their results, its output."""
    row = operate(data, project, "durable_jobs.show", id=run)
    if as_json:
        click.echo(json_text(row))
        return
    click.echo(f"{row['id']}  {row['job']}  {_state(row)}, attempt {row['attempt']}")
    click.echo(f"input: {json.dumps(row['input'])}")
    for step in row["all_steps"]:
        shown = (
            json.dumps(step["result"])
            if step["bytes"] is None or step["bytes"] <= 1000
            else f"{step['bytes']} bytes"
        )
        until = f" until {step['due_at']}" if step["status"] in ("open", "retry") else ""
        failed = f", {step['failures']} attempts failed: {step['error']}" if step["error"] else ""
        click.echo(
            f"  {step['name']} ({step['kind']}): {step['status']}{until}{failed}{f', {shown}' if step['status'] == 'done' else ''}"
        )
    if row["output"] is not None:
        click.echo(f"output: {json.dumps(row['output'])}")


@jobs.command()
@platform_options
@click.argument("job")
@click.argument("document", default="{}")
@click.option("--key", help="At most one run of the job with this key.")
@click.option("--at", help="When it starts, as 2026-01-31T12:00:00Z.")
def start(
    data: Path | None, project: Path | None, job: str, document: str, key: str | None, at: str | None
) -> None:
    """Start a run with a JSON document as its input, and print its id."""
    started = operate(
        data, project, "durable_jobs.start", job=job, input=_parsed("DOCUMENT", document), key=key, run_at=at
    )
    click.echo(started["id"])


@jobs.command()
@platform_options
@click.argument("run")
def cancel(data: Path | None, project: Path | None, run: str) -> None:
    """Cancel a run that has not ended. What its function does at this moment is finished, and not stored."""
    if not operate(data, project, "durable_jobs.cancel", id=run)["is_cancelled"]:
        click.echo("It had ended already.")


@jobs.command()
@platform_options
@click.argument("run")
@click.option("--from", "from_step", help="The step that is done again; those before it are taken over.")
def rerun(data: Path | None, project: Path | None, run: str, from_step: str | None) -> None:
    """Start a run like one that has ended, and print its id."""
    click.echo(operate(data, project, "durable_jobs.rerun", id=run, from_step=from_step)["id"])


@jobs.command()
@platform_options
@click.argument("name")
@click.argument("document", default="{}")
@click.option("--key", help="Send it once, however often this is repeated.")
def send(data: Path | None, project: Path | None, name: str, document: str, key: str | None) -> None:
    """Send an event with a JSON document, which starts runs and ends waits; print its id."""
    sent = operate(
        data, project, "durable_jobs.send_event", name=name, data=_parsed("DOCUMENT", document), key=key
    )
    click.echo(sent["id"])


def _state(row: dict[str, Any]) -> str:
    if row["status"] == "sleeping":
        return f"sleeping until {row['due_at']}"
    return f"{row['status']}: {row['error']}" if row["error"] else str(row["status"])


def _parsed(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        refuse(f"{option} must be JSON: {error}", code=2)
