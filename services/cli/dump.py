"""`headwater db dump`: the definitions, rows or roles of a project's database as SQL."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from services.cli.options import platform_options, refuse, running_platform
from services.supervisor.addresses import libpq_environment
from services.supervisor.binaries import postgres_tool
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres import dump_text

_OPTIONS = "-c role=none -c search_path=pg_catalog,pg_temp"
"""For an external database, whose URL may be a superuser's: settings stored for the database must not change the role."""


@click.command()
@platform_options
@click.option(
    "-f", "--file", type=click.Path(dir_okay=False, path_type=Path), help="File instead of standard output."
)
@click.option(
    "-s", "--schema", "schemas", multiple=True, metavar="NAME", help="Schema, repeatable or by comma."
)
@click.option(
    "-x", "--exclude", multiple=True, metavar="TABLE", help="Table whose rows are left out, repeatable."
)
@click.option(
    "--data-only", is_flag=True, help="Rows instead of definitions; users and objects' rows are among them."
)
@click.option("--role-only", is_flag=True, help="The project's own roles, without passwords.")
@click.option("--use-copy", is_flag=True, help="Rows as COPY instead of INSERT.")
def dump(
    data: Path | None,
    project: Path | None,
    file: Path | None,
    schemas: tuple[str, ...],
    exclude: tuple[str, ...],
    data_only: bool,
    role_only: bool,
    use_copy: bool,
) -> None:
    """Write the database's definitions as SQL that is fit for a migration.

    What every platform makes itself is left out.

    \b
    headwater db dump -f supabase/migrations/20240101000000_all.sql
    headwater db dump --data-only -f supabase/seed.sql
    headwater db dump --role-only -f supabase/roles.sql

    \b
    Exit codes: 0 written, 1 nothing runs or Postgres' tool failed, 2 the options exclude one another
    """
    if data_only and role_only:
        refuse("--data-only and --role-only exclude one another.", code=2)
    names = [name.strip() for names_text in schemas for name in names_text.split(",") if name.strip()]
    if role_only:
        tool, options, text = "pg_dumpall", dump_text.role_options(), dump_text.role_text
    elif data_only:
        options = dump_text.data_options(names, exclude, use_copy=use_copy)
        tool, text = "pg_dump", dump_text.data_text
    else:
        tool, options, text = "pg_dump", dump_text.schema_options(names), dump_text.schema_text
    _, state = running_platform(data, project)
    url = state.values.get("DB_URL")
    if url is None:
        refuse("This platform runs no database, only edges. Name one that does with --data.", code=1)
    environment = {**os.environ, **libpq_environment(url), "PGOPTIONS": _OPTIONS}
    try:
        program = postgres_tool(tool, environment)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    _write([str(program), *options], environment, text, file)


def _write(
    argv: list[str],
    environment: dict[str, str],
    text: Callable[[Iterable[str]], Iterator[str]],
    file: Path | None,
) -> None:
    """Run the tool and write its text; if the tool fails, the file stays as it was."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as dumped,  # CR LF in rows is theirs
        tempfile.TemporaryFile("w+", errors="replace") as errors,
    ):
        done = subprocess.run(argv, env=environment, stdout=dumped, stderr=errors, check=False)  # noqa: S603 - Postgres' own tool
        if done.returncode != 0:
            errors.seek(0)
            refuse(f"Postgres' tool failed:\n{errors.read().strip()}", code=1)
        dumped.seek(0)
        if file is None:
            sys.stdout.writelines(text(dumped))
            return
        try:
            with file.open("w", encoding="utf-8") as target:
                target.writelines(text(dumped))
        except OSError as error:
            refuse(f"{file} cannot be written: {error.strerror}", code=2)
    click.echo(f"Written to {file}", err=True)
