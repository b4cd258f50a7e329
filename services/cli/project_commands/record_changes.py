"""`headwater projects add` and `set`: the record of a project."""

import os
from pathlib import Path

import click
import msgspec

from services.cli.options import refuse
from services.cli.output import table
from services.cli.project_commands.records import (
    addresses,
    changed_limits,
    disk_limit_option,
    host_option,
    limit_texts,
    max_requests_option,
    max_sockets_option,
    named_hosts,
    sleep_after_option,
)
from services.projects.control import request_server
from services.projects.keys import ensure_keys
from services.projects.model import ControlRequest, ProjectLimits, ProjectRecord
from services.projects.names import checked_project_name, server_url
from services.projects.registry import (
    ServerFolder,
    add_project,
    find_project,
    forget_project,
    read_front,
    running_server_state,
    write_project,
)
from services.supervisor.errors import SupervisorError

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("name")
@click.option(
    "--folder", "source", type=_FOLDER, metavar="DIR",
    help="Folder of an existing project; its data folder is .headwater in it.  [default: a new folder in the server's]",
)  # fmt: skip
@host_option
@max_requests_option
@max_sockets_option
@disk_limit_option
@sleep_after_option
@click.pass_obj
def add(
    folder: ServerFolder,
    name: str,
    source: Path | None,
    hosts: tuple[str, ...],
    max_requests: int | None,
    max_sockets: int | None,
    disk_limit: int | None,
    sleep_after: float | None,
) -> None:
    """Add the project NAME, with random keys. A running server serves it at once; it starts with its first request.

    \b
    Exit codes: 0 added, 2 refused: the name, a host or the folder is taken or cannot be used
    """
    try:
        checked_project_name(name)
        place = Path(os.path.abspath(source)) if source is not None else folder.project(name)
        limits = changed_limits(ProjectLimits(), max_requests, max_sockets, disk_limit, sleep_after)
        url = server_url(read_front(folder))
        record = add_project(folder, ProjectRecord(name, str(place), 0.0, named_hosts(hosts), limits), url)
        try:
            made = ensure_keys(place)
        except (SupervisorError, OSError):
            forget_project(folder, record)
            raise
        request_server(folder, ControlRequest("reload"))
    except OSError as error:
        refuse(f"{error.filename or folder.path} cannot be written: {error.strerror}", code=2)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(f"Added {name}. Folder: {place}")
    if made:
        click.echo(f"Its keys are in {place / '.env'}, and shown by `headwater projects status {name}`.")
    click.echo(table(addresses(record, url)))
    if running_server_state(folder) is None:
        click.echo("The server does not run. Start it: `headwater projects start`")


@click.command("set")
@click.argument("name")
@host_option
@max_requests_option
@max_sockets_option
@disk_limit_option
@sleep_after_option
@click.pass_obj
def change(
    folder: ServerFolder,
    name: str,
    hosts: tuple[str, ...],
    max_requests: int | None,
    max_sockets: int | None,
    disk_limit: int | None,
    sleep_after: float | None,
) -> None:
    """Change hosts or limits of the project NAME. Limits apply at once; another first host name stops it until its next request."""
    try:
        record = find_project(folder, name)
        limits = changed_limits(record.limits, max_requests, max_sockets, disk_limit, sleep_after)
        names = named_hosts(hosts) if hosts else record.hosts
        record = msgspec.structs.replace(record, hosts=names, limits=limits)
        url = server_url(read_front(folder))
        record = write_project(folder, record, url)
        request_server(folder, ControlRequest("reload"))
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(table(addresses(record, url) | limit_texts(record.limits)))
