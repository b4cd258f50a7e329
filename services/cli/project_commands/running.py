"""`headwater projects wake`, `sleep` and `doctor`: what the running server does and how it is."""

import sys

import click

from services.cli.doctor import show_finding
from services.cli.options import refuse
from services.doctor.finding import FindingLevel
from services.projects.checks import look_at_server
from services.projects.control import request_server
from services.projects.model import ControlRequest
from services.projects.registry import ServerFolder, find_project, running_server_state
from services.supervisor.errors import StartRefused, SupervisorError


@click.command()
@click.argument("name")
@click.pass_obj
def wake(folder: ServerFolder, name: str) -> None:
    """Wake the project NAME, and wait until it answers."""
    _command(folder, "wake", name)


@click.command()
@click.argument("name")
@click.pass_obj
def sleep(folder: ServerFolder, name: str) -> None:
    """Put the project NAME to sleep now, whatever it does. Its next request wakes it."""
    _command(folder, "sleep", name)


@click.command()
@click.pass_obj
def doctor(folder: ServerFolder) -> None:
    """Look for what is wrong with the server and its projects, and print how to fix it.

    One project as a platform: `headwater doctor --project FOLDER`, with the folder that `headwater projects status` shows.

    \b
    Exit codes: 0 nothing is wrong, 1 something is, 2 there are only warnings
    """
    try:
        findings = list(look_at_server(folder))
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    for finding in findings:
        show_finding(finding)
    levels = {finding.level for finding in findings}
    sys.exit(1 if FindingLevel.ERROR in levels else 2 if FindingLevel.WARNING in levels else 0)


def _command(folder: ServerFolder, action: str, name: str) -> None:
    """Let the running server do something with a project, and print what the project does then."""
    try:
        find_project(folder, name)
        if running_server_state(folder) is None:
            raise StartRefused(
                f"No server of projects runs in {folder.path}. Start it with `headwater projects start`."
            )
        statuses = request_server(folder, ControlRequest(action, name)).projects
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    for status in statuses:
        if status.name == name:
            click.echo(f"{name}: {status.state}")
