"""`headwater test db`: run the pgTAP tests of a project."""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from services.cli.options import platform_options, refuse, running_platform
from services.cli.project_work import databases_for_tests
from services.database_tests.files import (
    FOLDER,
    Database,
    FileResult,
    add_pgtap,
    find_files,
    newest_change,
    remove_pgtap,
    run_file,
    run_side_by_side,
)
from services.database_tests.report import as_junit, as_tap, lines_for_people, summary
from services.supervisor.addresses import libpq_environment
from services.supervisor.binaries import postgres_tool
from services.supervisor.errors import SupervisorError
from services.supervisor.project.settings import find_root

_LOOK_S = 0.5
_MOST_COPIES = 32
_NO_SCHEDULER = "-c http.timeout_msec=50"
"""No scheduler sends requests from databases for tests: sessions need not wait for it as long as usual."""
_NO_CONNECTION = "psql: error: connection to server"
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
    "--parallel",
    type=click.IntRange(1, _MOST_COPIES),
    metavar="N",
    help="Run N files at a time, each run of files in a database of its own: made by the migrations and seeds, on a temporary server.",
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
    parallel: int | None,
    watch: bool,
) -> None:
    """Run the pgTAP tests in supabase/tests, or those of the files and folders that are named, as role postgres.

    A file that begins no transaction runs in one that is rolled back. pgTAP is created for the run if the database lacks it. Files run
    in the order of their names.

    \b
    headwater test db
    headwater test db supabase/tests/policies --junit results.xml
    headwater test db --watch
    headwater test db --parallel 4

    \b
    Exit codes: 0 all passed, 1 a test failed or nothing runs, 2 there are no tests, or the database has no pgTAP
    """
    if parallel is not None and db_url is not None:
        refuse("--parallel makes databases of its own: leave --db-url out.", code=_REFUSED)
    if junit is not None and not junit.absolute().parent.is_dir():
        refuse(f"There is no folder {junit.absolute().parent} for the file of --junit.", code=_REFUSED)
    root = find_root(project)
    named = list(paths) or [root / FOLDER]

    def run() -> int:
        files = find_files(named)
        if not files:
            click.secho(f"There are no tests in {', '.join(map(str, named))}.", fg="red", err=True)
            return _REFUSED
        if parallel is None:
            return _run(_database(db_url or _url(data, project)), files, root, form, junit)
        with databases_for_tests(data, project, min(parallel, len(files))) as urls:
            return _report(
                run_side_by_side(_named(files, root), [_database(url, _NO_SCHEDULER) for url in urls]),
                files,
                root,
                form,
                junit,
            )

    code = run()
    watched = [root / FOLDER.parent, *paths]
    while watch:
        before = newest_change(watched)
        while newest_change(watched) == before:
            time.sleep(_LOOK_S)  # files are compared: no library for notifications is needed for one folder
        click.echo()
        code = run()
    sys.exit(code)


def _url(data: Path | None, project: Path | None) -> str:
    _, state = running_platform(data, project)
    if (url := state.values.get("DB_URL")) is None:
        refuse("This platform runs no database, only edges. Name one with --data or --db-url.", code=1)
    return url


def _database(url: str, options: str = "") -> Database:
    """Return how psql reaches a database; `options` are the server's, in a form of PGOPTIONS."""
    try:
        environment = {**os.environ, **libpq_environment(url)}
        if options:
            environment["PGOPTIONS"] = f"{environment.get('PGOPTIONS', '')} {options}".strip()
        return Database(postgres_tool("psql", environment), environment)
    except (SupervisorError, ValueError) as error:
        refuse(str(error), code=getattr(error, "exit_code", _REFUSED))


def _run(database: Database, files: list[Path], root: Path, form: str, junit: Path | None) -> int:
    """Run all files once, one after another in one database; return the exit code."""
    was_added, error = add_pgtap(database)
    if error:
        what = (
            "The database cannot be reached"
            if error.startswith(_NO_CONNECTION)
            else "pgTAP cannot be created"
        )
        click.secho(f"{what}: {error}", fg="red", err=True)
        return _REFUSED
    try:
        results = (run_file(path, name, database) for path, name in _named(files, root))
        return _report(results, files, root, form, junit)
    finally:
        if was_added:
            remove_pgtap(database)


def _report(
    results: Iterable[FileResult], files: list[Path], root: Path, form: str, junit: Path | None
) -> int:
    """Print results as they come, and write the report; return the exit code."""
    width = max(len(name) for _, name in _named(files, root))
    finished: list[FileResult] = []
    for result in results:
        finished.append(result)
        if form == "pretty":
            _show(result, width)
    click.echo(summary(finished) if form == "pretty" else "\n".join(as_tap(finished)))
    if junit is not None:
        try:
            junit.write_text(as_junit(finished), encoding="utf-8")
        except OSError as error:
            refuse(f"{junit} cannot be written: {error.strerror}", code=_REFUSED)
    return _PASSED if all(result.is_passed for result in finished) else _FAILED


def _named(files: list[Path], root: Path) -> list[tuple[Path, str]]:
    return [(path, _name(path, root)) for path in files]


def _show(result: FileResult, width: int) -> None:
    for line in lines_for_people(result, width):
        click.secho(line, fg=None if result.is_passed else "red")


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
