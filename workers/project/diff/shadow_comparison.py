"""Compares the result of the migrations with the live database, or with the declared schema, on a shadow server.

    declared schema, if any --> shadow, emptied --> snapshot          expected schema
    live database, otherwise ------------------->
    migrations              --> shadow          --> snapshot          current schema
    the difference as SQL   --> shadow                                tried before it is returned

The shadow is a separate server: roles and settings of the live one are never changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from schemas.settings.tree import Settings
from workers.database.migrations.migrate import migrate
from workers.project import history
from workers.project.diff.compare import compare
from workers.project.diff.model import Snapshot
from workers.project.diff.renames import Rename, likely_renames, rename_statement
from workers.project.diff.snapshot import project_schemas, read_snapshot
from workers.project.errors import ProjectRejected
from workers.project.project_connection import (
    ProjectUrls,
    in_database,
    open_as_superuser,
    open_project_connection,
)
from workers.project.project_folder import Script, read_declared
from workers.project.push import ProjectFiles, Report, apply_migrations, apply_roles
from workers.project.script_runner import ProjectConnection, run_script

DATABASE = "postgres"
"""Name of the database that migrations run in."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The statements, and problems that occurred when they were tried on the result of the migrations."""

    statements: list[str]
    problems: list[str]
    likely_renames: list[str]
    """What is dropped and created anew although it looks like one thing, in the form of `--rename`."""


async def difference(
    urls: ProjectUrls, settings: Settings, folder: Path, files: ProjectFiles, report: Report,
    *, schemas: Sequence[str], against: str, renames: Sequence[Rename] = (),
) -> Difference:  # fmt: skip
    """Return what the migrations lack; `renames` are done first. Raises: ProjectError, MigrationError, the driver's errors."""
    if not urls.shadow:
        raise ProjectRejected("HEADWATER_SHADOW_URL is needed: a superuser of a server that may be emptied")
    declared, notices = read_declared(folder, settings.db.migrations.schema_paths)
    for notice in notices:
        report(f"Note: {notice}")
    if against == "declared" and not declared:
        raise ProjectRejected(
            "This project declares no schema: supabase/schemas/*.sql, or [db.migrations] schema_paths."
        )
    if declared and against != "database":
        expected, names = await _declared(urls, settings, files, declared, schemas)
        report("Comparing the migrations with the declared schema")
    else:
        async with open_project_connection(urls.project) as project:
            names = list(schemas) or await project_schemas(project.connection)
            expected = await read_snapshot(project.connection, names)
        report("Comparing the migrations with the database")
    await recreate_database(urls.shadow, settings)
    async with open_project_connection(in_database(urls.shadow, DATABASE)) as project:
        await prepare_shadow(project, files)
        await apply_migrations(project, files.migrations, lambda _: None, keep_roles=True)
        seen = list(schemas) or sorted({*names, *await project_schemas(project.connection)})
        current = await read_snapshot(project.connection, seen)
        renaming: list[str] = []
        for rename in renames:
            renaming.append(rename_statement(rename, current))
            await project.connection.execute(renaming[-1])
            current = await read_snapshot(project.connection, seen)
        statements = compare(current, expected)
        problems = await _try_statements(project, statements, expected, seen)
        return Difference([*renaming, *statements], problems, likely_renames(current, expected))


async def _declared(
    urls: ProjectUrls,
    settings: Settings,
    files: ProjectFiles,
    declared: Sequence[Script],
    schemas: Sequence[str],
) -> tuple[Snapshot, list[str]]:
    async def record_nothing(_: list[str]) -> None:
        """A declared schema is not recorded in the history."""

    await recreate_database(urls.shadow, settings)
    async with open_project_connection(in_database(urls.shadow, DATABASE)) as project:
        await prepare_shadow(project, files)
        for script in declared:
            await run_script(project, script, record_nothing, keep_roles=True)
        await project.reset()
        names = list(schemas) or await project_schemas(project.connection)
        return await read_snapshot(project.connection, names), names


async def recreate_database(url: str, settings: Settings) -> None:
    """Recreate the shadow's database, with the platform's schemas."""
    async with open_as_superuser(in_database(url, "template1")) as aside:
        await aside.execute(f"drop database if exists {DATABASE} with (force)")
        await aside.execute(f"create database {DATABASE} template template0")
    await migrate(in_database(url, DATABASE), settings)


async def prepare_shadow(project: ProjectConnection, files: ProjectFiles) -> None:
    """Make the history and the project's roles in an empty shadow."""
    await history.make_history(project.connection)
    if files.roles:
        await apply_roles(project, files.roles, lambda _: None)


async def _try_statements(
    project: ProjectConnection, statements: Sequence[str], expected: Snapshot, schemas: Sequence[str]
) -> list[str]:
    """Run the statements on the shadow; return the problems: an error, or what still differs."""
    for statement in statements:
        try:
            await project.connection.execute(statement)
        except asyncpg.PostgresError as error:
            first = statement.partition("\n")[0]
            return [f"this statement does not run as it stands: {first}\n  {error}"]
    await project.reset()
    left = compare(await read_snapshot(project.connection, schemas), expected)
    return [f"still different afterwards: {statement.partition(chr(10))[0]}" for statement in left]
