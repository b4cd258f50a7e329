"""`headwater projects`: several projects on one server, behind one address. The commands are in `project_commands/`."""

from pathlib import Path

import click

from services.cli.project_commands.display import listing, status
from services.cli.project_commands.record_changes import add, change
from services.cli.project_commands.removal import remove
from services.cli.project_commands.running import doctor, sleep, wake
from services.cli.project_commands.server import start, stop
from services.projects.registry import find_server_folder

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
@click.option(
    "--root",
    type=_FOLDER,
    envvar="HEADWATER_PROJECTS",
    metavar="DIR",
    help="Folder of the server.  [default: .headwater-projects in the current folder, or in one above]",
)
@click.pass_context
def projects(context: click.Context, root: Path | None) -> None:
    """Several projects on one server, behind one address. Idle ones sleep, and wake at the first request.

    \b
    headwater projects add shop
    headwater projects start --detach
    headwater projects status shop

    Each project has its own database, keys, passwords and limits (docs/projects.md).
    """
    context.obj = find_server_folder(root)


for command in (add, change, listing, status, remove, start, stop, wake, sleep, doctor):
    projects.add_command(command)
