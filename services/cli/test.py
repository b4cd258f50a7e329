"""`headwater test db`: run the pgTAP tests of a project."""

import os
import sys
import time
from pathlib import Path

import click

from services.cli.options import platform_options, refuse, running_platform
from services.database_tests.files import (
    FOLDER,
    Database,
    FileResult,
    add_pgtap,
    find_files,
    newest_change,
    remove_pgtap,
    run_file,
)
from services.database_tests.report import as_junit, as_tap, lines_for_people, summary
from services.supervisor.addresses import libpq_environment
from services.supervisor.binaries import postgres_tool
from services.supervisor.errors import SupervisorError
from services.supervisor.project.settings import find_root

_LOOK_S = 0.5
_PASSED, _FAILED, _REFUSED = 0, 1, 2


@click.group()
def test() -> None:
    """Test a project."""


@test.command()
@platform_options
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--db-url", metavar="URL", help="Run on this database instead of that of the running platform.")
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "tap"]), default="pretty", show_default=True
)
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write JUnit's XML."
)
@click.option(
    "--watch", is_flag=True, help="Run again whenever a file of SQL of the project changes; Ctrl-C ends it."
)
def db(
    data: Path | None,
    project: Path | None,
    paths: tuple[Path, ...],
    db_url: str | None,
    form: str,
    junit: Path | None,
    watch: bool,
) -> None:
    """Run the pgTAP tests in supabase/tests, or those of the files and folders that are named, as role postgres.

    A file that begins no transaction runs in one that is rolled back. pgTAP is created for the run if the database lacks it. Files run
    in the order of their names.

    \b
    headwater test db
    headwater test db supabase/tests/policies --junit results.xml
    headwater test db --watch

    \b
    Exit codes: 0 all passed, 1 a test failed or nothing runs, 2 there are no tests, or the database has no pgTAP
    """
    root = find_root(project)
    named = list(paths) or [root / FOLDER]
    database = _database(db_url or _url(data, project))
    code = _run(database, named, root, form, junit)
    watched = [root / FOLDER.parent, *paths]
    while watch:
        before = newest_change(watched)
        while newest_change(watched) == before:
            time.sleep(_LOOK_S)  # files are compared: no library for notifications is needed for one folder
        click.echo()
        code = _run(database, named, root, form, junit)
    sys.exit(code)


def _url(data: Path | None, project: Path | None) -> str:
    _, state = running_platform(data, project)
    if (url := state.values.get("DB_URL")) is None:
        refuse("This platform runs no database, only edges. Name one with --data or --db-url.", code=1)
    return url


def _database(url: str) -> Database:
    try:
        environment = {**os.environ, **libpq_environment(url)}
        return Database(postgres_tool("psql", environment), environment)
    except (SupervisorError, ValueError) as error:
        refuse(str(error), code=getattr(error, "exit_code", _REFUSED))


def _run(database: Database, paths: list[Path], root: Path, form: str, junit: Path | None) -> int:
    """Run all files once; return the exit code."""
    files = find_files(paths)
    if not files:
        click.secho(f"There are no tests in {', '.join(map(str, paths))}.", fg="red", err=True)
        return _REFUSED
    was_added, error = add_pgtap(database)
    if error:
        click.secho(f"pgTAP cannot be created: {error}", fg="red", err=True)
        return _REFUSED
    results: list[FileResult] = []
    names = {path: _name(path, root) for path in files}
    try:
        for path in files:
            results.append(run_file(path, names[path], database))
            if form == "pretty":
                _show(results[-1], max(map(len, names.values())))
    finally:
        if was_added:
            remove_pgtap(database)
    click.echo(summary(results) if form == "pretty" else "\n".join(as_tap(results)))
    if junit is not None:
        junit.write_text(as_junit(results), encoding="utf-8")
    return _PASSED if all(result.is_passed for result in results) else _FAILED


def _show(result: FileResult, width: int) -> None:
    for line in lines_for_people(result, width):
        click.secho(line, fg=None if result.is_passed else "red")


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
