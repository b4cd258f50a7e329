"""`headwater projects list` and `status`."""

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from services.cli.options import refuse
from services.cli.output import env_lines, json_text, table
from services.cli.project_commands.records import addresses, limit_texts
from services.projects.control import request_server
from services.projects.keys import read_project
from services.projects.model import ControlRequest
from services.projects.names import path_url, project_url, server_url
from services.projects.registry import ServerFolder, data_folder_of, find_project, read_front, read_projects
from services.supervisor.api_keys import keys_of
from services.supervisor.branches.listing import disk_use
from services.supervisor.data_folder.folder import is_locked
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import SupervisorError

_MIB = 1024 * 1024


@click.command("list")
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
@click.pass_obj
def listing(folder: ServerFolder, form: str) -> None:
    """List the projects, and what they do."""
    try:
        records, url = read_projects(folder), server_url(read_front(folder))
        statuses = {status.name: status for status in request_server(folder, ControlRequest("list")).projects}
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    rows = [
        {
            "name": record.name,
            "url": project_url(record, url),
            "path_url": path_url(record, url),
            "folder": record.folder,
            "limits": msgspec.to_builtins(record.limits),
            "status": msgspec.to_builtins(statuses[record.name]) if record.name in statuses else None,
        }
        for record in records
    ]
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    for record in records:
        status = statuses.get(record.name)
        state = status.state if status else "running" if is_locked(data_folder_of(record).lock) else "stopped"
        reason = f"  ({status.reason})" if status and status.reason else ""
        click.echo(f"{record.name:<24} {state:<9} {project_url(record, url)}{reason}")
    if not records:
        click.echo("There are no projects. `headwater projects add NAME` makes one.")


@click.command()
@click.argument("name")
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "env", "json"]), default="pretty", show_default=True,
    help="Form of the answer: for people, for .env files, or JSON.",
)  # fmt: skip
@click.pass_obj
def status(folder: ServerFolder, name: str, form: str) -> None:
    """Show addresses, keys, limits and state of the project NAME, awake or not.

    \b
    Exit codes: 0 shown, 2 there is no such project
    """
    try:
        record, url = find_project(folder, name), server_url(read_front(folder))
        keys = keys_of(read_project(Path(record.folder)).settings.auth)
        statuses = request_server(folder, ControlRequest("list")).projects
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    data = data_folder_of(record)
    state = running_state(data)
    values = addresses(record, url) | {
        "PUBLISHABLE_KEY": keys.publishable_key,
        "SECRET_KEY": keys.secret_key,
        "JWT_SECRET": keys.jwt_secret,
        "ANON_KEY": keys.anon_key,
        "SERVICE_ROLE_KEY": keys.service_role_key,
    }
    if state is not None and "DB_URL" in state.values:
        values["DB_URL"] = state.values["DB_URL"]
    if form == "env":
        click.echo(env_lines(values))
        return
    if form == "json":
        click.echo(json_text(values))
        return
    now = next((status for status in statuses if status.name == name), None)
    own, shared = disk_use(data)
    facts = {"State": now.state if now else "running" if state else "stopped"}
    if now is not None:
        facts["Now"] = f"{now.requests} requests, {now.sockets} WebSockets; {now.refused} refused by limits"
        facts |= {"Reason": now.reason} if now.reason else {}
        facts |= {"Wakes for a job": _moment(now.due_at)} if now.due_at else {}
        facts |= {"Last wake": f"{now.wake_s:.1f} s"} if now.wake_s else {}
    facts |= {"Folder": record.folder, "Disk": f"{(own + shared) // _MIB} MB"}
    click.echo(table(values | facts | limit_texts(record.limits)))


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
