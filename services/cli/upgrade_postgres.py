"""`headwater upgrade-postgres`: bring the embedded database to another major version of Postgres."""

import os
from pathlib import Path

import click

from services.cli.options import data_folder, platform_options, refuse
from services.cli.output import Terminal
from services.supervisor.data_folder.folder import lock_folder
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres.major_upgrade.upgrade import upgrade_database
from services.supervisor.project.settings import load_project


@click.command(name="upgrade-postgres")
@platform_options
@click.option(
    "--from",
    "source",
    default="",
    metavar="DIR",
    help="Folder of the programs of the version that made the database, such as /usr/lib/postgresql/17/bin.  "
    "[default: those that it runs with]",
)
@click.option(
    "--to",
    "target",
    default="",
    metavar="DIR",
    help="Folder of the programs of the new version.  [default: those of the installed headwater]",
)
def upgrade_postgres(data: Path | None, project: Path | None, source: str, target: str) -> None:
    """Bring the embedded database to another major version of Postgres, by dump and restore.

    The platform is stopped for it. All databases and roles are copied into a new folder, and the new one takes the place of the old
    only when both have the same objects, rows and sequences; the old folder stays beside it. A command that was killed changes
    nothing: the next start runs the old database, or finishes the switch where that was decided.

    \b
    headwater stop && headwater upgrade-postgres && headwater start

    \b
    Exit codes: 0 done, 1 it failed and nothing was changed, 2 refused: a platform runs, or a version does not fit
    """
    folder, terminal = data_folder(data, project), Terminal(detached=True)
    try:
        if not folder.path.is_dir():
            refuse(f"There is no data folder {folder.path}. Name it with --data.", code=2)
        lock = lock_folder(folder)
        try:
            settings = load_project(project or folder.path.parent, None, folder.path, {})
            done = upgrade_database(settings, folder, source, target, terminal)
        finally:
            os.close(lock)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(
        f"The database is of Postgres {done.new} now, after {done.seconds:.1f} s: {', '.join(done.databases)}; {done.lines} counts of objects "
        f"and rows are equal.\nThe one of Postgres {done.old} is {done.kept}. Remove it when nothing is missed; a new continuous backup "
        "begins with the next start."
    )
