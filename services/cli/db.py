"""`headwater db`: the database of a running platform and the project folder."""

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from schemas.project_tasks import ApplyTask, DiffTask, LintTask, ResetTask
from services.cli.access import access_diff, access_task
from services.cli.advisors import advisors
from services.cli.after_reset import refill_buckets
from services.cli.dump import dump
from services.cli.migration import make_migration
from services.cli.options import platform_options, running_platform
from services.cli.project_work import finish, work


@click.group()
def db() -> None:
    """Bring database and project folder together."""


@db.command()
@platform_options
@click.option("--include-all", is_flag=True, help="Also migrations older than the last one applied.")
@click.option("--include-seed", is_flag=True, help="Also the seeds that never ran.")
@click.option("--include-roles", is_flag=True, help="Also roles.sql.")
@click.option("--dry-run", is_flag=True, help="Only list what would be applied.")
def push(
    data: Path | None,
    project: Path | None,
    include_all: bool,
    include_seed: bool,
    include_roles: bool,
    dry_run: bool,
) -> None:
    """Apply the migrations that are pending.

    \b
    Exit codes: 0 applied, or none was pending; 1 a file failed, or nothing runs; 2 the history disagrees
    """
    finish(
        data,
        project,
        ApplyTask(include_all=include_all, seeds=include_seed, roles=include_roles, dry_run=dry_run),
    )


@db.command()
@platform_options
@click.option("--version", "up_to", metavar="VERSION", help="Apply migrations up to this one only.")
@click.option("--no-seed", is_flag=True, help="Leave the seeds out.")
def reset(data: Path | None, project: Path | None, up_to: str | None, no_seed: bool) -> None:
    """Create the embedded database again: schemas of the platform, roles.sql, migrations, seeds, buckets.

    All data of the database are lost, users too; all connections are cut off. If a file fails, the database is as
    it was. Roles stay: they belong to the server.

    \b
    Exit codes: 0 made, 1 a file failed, or nothing runs; 2 refused: an outside database, a broken folder
    """
    code = work(data, project, ResetTask(up_to, not no_seed))
    if code == 0:
        state = running_platform(data, project)[1]
        asyncio.run(refill_buckets(state))
        click.echo("The database is new.", err=True)
    sys.exit(code)


@db.command()
@platform_options
@click.option(
    "-s", "--schema", "schemas", multiple=True, metavar="NAME", help="Schema, repeatable or by comma."
)
@click.option(
    "-f", "--file", "name", metavar="NAME", help="Write the difference as a new migration of this name."
)
@click.option(
    "--against", type=click.Choice(["auto", "database", "declared"]), default="auto", show_default=True,
    help="What is wanted: the declared schema where the project has one, else the database.",
)  # fmt: skip
@click.option(
    "--rename", "renames", multiple=True, metavar="OLD=NEW",
    help="A table or column that was renamed, not dropped: todos=tasks, todos.title=heading. Repeatable.",
)  # fmt: skip
def diff(
    data: Path | None,
    project: Path | None,
    schemas: tuple[str, ...],
    name: str | None,
    against: str,
    renames: tuple[str, ...],
) -> None:
    """Show as SQL what the migrations lack to make the wanted schema.

    Wanted is what supabase/schemas/*.sql declare; where there is none, what the database has now. The migrations run
    on a server of their own, which is gone afterwards, and the SQL is tried there before it is shown.

    \b
    headwater db diff
    headwater db diff -f add_posts
    headwater db diff --rename todos.title=heading

    \b
    Exit codes: 0 compared, 1 a file failed, or nothing runs; 2 the folder cannot be used
    """
    chosen = [name.strip() for one in schemas for name in one.split(",") if name.strip()]
    task = DiffTask(
        chosen,
        "database" if against == "database" else "declared" if against == "declared" else "auto",
        list(renames),
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as difference:
        code = work(data, project, task, output=difference.fileno() if name else None)
        difference.seek(0)
        text = difference.read()
    if code == 0 and name and text.strip():
        root = Path(running_platform(data, project)[1].project)
        click.echo(f"Made {make_migration(root, name, text)}", err=True)
    sys.exit(code)


@db.command()
@platform_options
@click.option(
    "-s", "--schema", "schemas", multiple=True, metavar="NAME", help="Schema, repeatable or by comma."
)
@click.option("--level", type=click.Choice(["warning", "error"]), default="warning", show_default=True)
@click.option(
    "--fail-on", type=click.Choice(["none", "warning", "error"]), default="none", show_default=True,
    help="Level of findings from which on the exit code is 1.",
)  # fmt: skip
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
@click.option(
    "--access",
    is_flag=True,
    help="Then try the pending migrations: who gains and loses access? (`db access-diff`)",
)
def lint(
    data: Path | None,
    project: Path | None,
    schemas: tuple[str, ...],
    level: str,
    fail_on: str,
    form: str,
    access: bool,
) -> None:
    """Look for faults: functions that cannot run, tables without row level security, missing indexes...

    \b
    Exit codes: 0 looked, 1 findings of --fail-on, or nothing runs; with --access also those of `db access-diff`: 3 anon, or a user of another tenant, gains
    """
    chosen = [name.strip() for one in schemas for name in one.split(",") if name.strip()]
    task = LintTask(
        chosen,
        "error" if level == "error" else "warning",
        "error" if fail_on == "error" else "warning" if fail_on == "warning" else "none",
        "json" if form == "json" else "pretty",
    )
    code = work(data, project, task)
    if access and code == 0:
        code = work(data, project, access_task((), (), 1000, (), 120.0, form))
    sys.exit(code)


db.add_command(access_diff)
db.add_command(dump)
db.add_command(advisors)
