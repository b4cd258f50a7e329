"""`headwater migration`: the migrations of a project and their history."""

import contextlib
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from schemas.migration_names import next_version
from schemas.project_tasks import ApplyTask, FetchTask, ListMigrationsTask, RepairTask
from schemas.system_errors import system_error_text
from services.cli.options import parent_options, platform_options, refuse
from services.cli.project_work import finish
from services.supervisor.project.settings import find_root

_NOT_IN_NAMES = re.compile(r"[^\w-]+")


@click.group()
def migration() -> None:
    """Make, list and apply the migrations of a project."""


@migration.command()
@parent_options
@click.argument("name")
def new(data: Path | None, project: Path | None, name: str) -> None:
    """Make a new migration file, with what comes on standard input, if anything.

    \b
    headwater migration new add_posts
    headwater db diff | headwater migration new add_posts

    \b
    Exit codes: 0 made, 2 the folder cannot be written
    """
    del data
    text = "" if sys.stdin.isatty() else sys.stdin.read()
    try:
        click.echo(f"Made {make_migration(find_root(project), name, text)}")
    except OSError as error:
        refuse(f"The migration could not be created: {system_error_text(error)}", code=2)


def make_migration(root: Path, name: str, text: str) -> Path:
    """Create a migration with the present time as its version, later than all others; return its path. Raises: OSError."""
    folder = root / "supabase" / "migrations"
    folder.mkdir(parents=True, exist_ok=True)
    short = _NOT_IN_NAMES.sub("_", name.strip()).strip("_") or "migration"
    while True:  # another command may take the version
        others = [path.name.partition("_")[0].removesuffix(".sql") for path in folder.glob("*.sql")]
        version = next_version(datetime.now(UTC), others)
        path = folder / f"{version}_{short}.sql"
        with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()  # or the part that was written would be applied
                raise
            return path


@migration.command("list")
@platform_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def listing(data: Path | None, project: Path | None, form: str) -> None:
    """List the migrations of the folder and those of the database.

    \b
    Exit codes: 0 listed, 1 nothing runs, 2 the folder cannot be used
    """
    finish(data, project, ListMigrationsTask("json" if form == "json" else "pretty"))


@migration.command()
@platform_options
@click.option("--include-all", is_flag=True, help="Also those that are older than the last one applied.")
def up(data: Path | None, project: Path | None, include_all: bool) -> None:
    """Apply the migrations that are pending.

    \b
    Exit codes: 0 applied, or none was pending; 1 a file failed, or nothing runs; 2 the history disagrees
    """
    finish(data, project, ApplyTask(include_all=include_all))


@migration.command()
@platform_options
@click.argument("versions", nargs=-1)
@click.option("--status", type=click.Choice(["applied", "reverted"]), required=True)
def repair(data: Path | None, project: Path | None, versions: tuple[str, ...], status: str) -> None:
    """Correct the history without running anything.

    \b
    headwater migration repair 20240101000000 --status applied
    headwater migration repair --status reverted 20240101000000

    Without versions the history becomes what the folder holds, or with `reverted`, empty.

    \b
    Exit codes: 0 corrected, 1 nothing runs, 2 the file does not exist
    """
    for version in versions:
        if not version.isascii() or not version.isdigit():
            refuse(f"'{version}' is no version: the digits that a migration's name begins with.", code=2)
    finish(data, project, RepairTask("applied" if status == "applied" else "reverted", list(versions)))


@migration.command()
@platform_options
def fetch(data: Path | None, project: Path | None) -> None:
    """Write the files of migrations that only the database has, such as those made in the management interface.

    \b
    Exit codes: 0 written, or none was missing; 1 nothing runs; 2 the folder cannot be used
    """
    finish(data, project, FetchTask())
