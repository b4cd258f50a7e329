"""`headwater status`: addresses and keys of a running platform, and the state of its parts."""

import contextlib
from pathlib import Path

import click

from services.cli.installed_files import overwritten_files
from services.cli.options import platform_options, running_platform
from services.cli.output import env_lines, json_text, table
from services.cli.s3_pair import s3_values
from services.doctor.archive import archive_line
from services.doctor.certificates import certificate_line
from services.doctor.finding import FindingLevel
from services.doctor.readiness import look_at_readiness
from services.supervisor.data_folder.state import ChildState, PlatformState, uptime
from services.supervisor.errors import SupervisorError
from services.supervisor.project.work import project_of_state


@click.command()
@platform_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "env", "json"]), default="pretty", show_default=True,
    help="Form of the answer: for people, for .env files, or JSON.",
)  # fmt: skip
def status(data: Path | None, project: Path | None, form: str) -> None:
    """Show the addresses and keys of a running platform.

    \b
    Names: API_URL REST_URL GRAPHQL_URL FUNCTIONS_URL STUDIO_URL DB_URL POOLER_URL BROKER_URL
           PUBLISHABLE_KEY SECRET_KEY JWT_SECRET ANON_KEY SERVICE_ROLE_KEY STORAGE_S3_URL S3_PROTOCOL_ACCESS_KEY_ID
           S3_PROTOCOL_ACCESS_KEY_SECRET S3_PROTOCOL_REGION (those of parts that do not run are left out)
    Exit codes: 0 it runs, 1 it does not
    """
    folder, state = running_platform(data, project)
    values = state.values | s3_values(folder.path, state.values)
    if form == "env":
        click.echo(env_lines(values))
    elif form == "json":
        click.echo(json_text(values))
    else:
        _show(state, values)


def _show(state: PlatformState, values: dict[str, str]) -> None:
    click.echo(f"Headwater {state.version}, {state.status}, process {state.pid}, data folder {state.data}\n")
    click.echo(table(values))
    click.echo()
    for child in state.children:
        click.echo(f"{child.name:>18}  {state_text(child)}")
    if any(child.name == "archive" for child in state.children) and (line := archive_line(Path(state.data))):
        click.echo(f"{'backup':>18}  {line}")
    if line := _certificate_line(state):
        click.echo(f"{'certificate':>18}  {line}")
    for title, fault in _faults(state).items():
        click.secho(f"{'not ready':>18}  {title} {fault}", fg="yellow")
    if changed := overwritten_files():
        click.secho(
            f"\n{len(changed)} files of headwater were changed by another package, first {changed[0]}. "
            "Install headwater again, in an environment of its own.",
            fg="yellow",
            err=True,
        )


def _certificate_line(state: PlatformState) -> str:
    with contextlib.suppress(SupervisorError):
        return certificate_line(project_of_state(state).settings, Path(state.data))
    return ""


def _faults(state: PlatformState) -> dict[str, str]:
    """Return what does not work, as the gateway and the parts report. While the disk is full, the state file of the parts is old."""
    faults = {part: reason for child in state.children for part, reason in child.faults.items()}
    with contextlib.suppress(SupervisorError):
        readiness = look_at_readiness(project_of_state(state).settings, state)
        faults |= {
            finding.title: finding.text for finding in readiness if finding.level is FindingLevel.ERROR
        }
    return faults


def state_text(child: ChildState) -> str:
    """Return the state of a part in words."""
    restarts = (
        f", started again {child.restarts} {'time' if child.restarts == 1 else 'times'}"
        if child.restarts
        else ""
    )
    process = f", process {child.pid}" if child.pid else ""
    if child.status == "silent":
        return f"does not answer since {_span(uptime(child))}{process}{restarts}"
    return f"{child.status} for {_span(uptime(child))}{process}{restarts}"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"
