"""Applies a text of SQL as the next migration of a database, or tries it and rolls back.

    text  -->  statements in one transaction (script_runner.py)  -->  a row in supabase_migrations.schema_migrations

The login of the session may become role `postgres` and nothing more. A trial runs the same statements and rolls back; it
reports which tables were rewritten and which locks the transaction held. `concurrently` is left out in a trial.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import asyncpg

from schemas.migration_names import next_version
from workers.database.errors import Disconnected
from workers.project import history
from workers.project.errors import ProjectRejected, ScriptFailed, StatementPlace
from workers.project.project_connection import OWNER, open_connection
from workers.project.project_folder import FOLDER, ProjectMigration, Script
from workers.project.script_runner import ProjectConnection, run_script, without_concurrently
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "text_migration.sql")
_NOT_IN_NAMES = re.compile(r"[^\w-]+", re.ASCII)
_MOST_NAME = 100
_LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, asyncpg.PostgresConnectionError, OSError)


@dataclass(frozen=True, slots=True)
class TextMigration:
    """A migration that was applied."""

    version: str
    name: str
    text: str
    statements: list[str]

    @property
    def file_name(self) -> str:
        """The name of its file in `supabase/migrations`."""
        return f"{self.version}_{self.name}.sql"


@dataclass(frozen=True, slots=True)
class TrialReport:
    """What a trial showed: rewritten tables, and the strongest lock on each table that existed before."""

    rewritten: list[str] = field(default_factory=list)
    locks: dict[str, str] = field(default_factory=dict)


def file_part(name: str) -> str:
    """Return a name as it stands in the name of a file: letters, digits, `_` and `-` (pure)."""
    return _NOT_IN_NAMES.sub("_", name.strip())[:_MOST_NAME].strip("_") or "migration"


async def apply_text(
    url: str,
    name: str,
    text: str,
    now: datetime,
    versions: Sequence[str],
    report: Callable[[str], None],
    *,
    runs: bool = True,
) -> TextMigration:
    """Run a text and record it; without `runs` it is only recorded. `versions` are those of the folder; `report` gets notices.

    Raises: ProjectError; Disconnected, and then it is unknown whether it was applied.
    """
    short = file_part(name)
    try:
        async with open_connection(url) as connection:
            project = ProjectConnection(connection, OWNER, report)
            await history.lock(connection)
            await project.reset()
            await history.make_history(connection)
            version = next_version(now, [*versions, *await history.applied_versions(connection)])
            script = Script(f"{FOLDER}/migrations/{version}_{short}.sql", text)
            migration = ProjectMigration(version, short, Path(script.name))
            texts: list[str] = []

            async def record(statements: list[str]) -> None:
                texts.extend(statements)
                await history.record(connection, migration, statements)

            if runs:
                await _run(project, script, record)
            else:
                await record([item.text for item in script.statements()])
            return TextMigration(version, short, text, texts)
    except _LOST as error:
        raise Disconnected(str(error) or type(error).__name__) from None


async def try_text(url: str, text: str, settings: Sequence[tuple[str, str]]) -> TrialReport:
    """Run a text in a transaction that is rolled back, with settings of that transaction. Raises: ProjectError, Disconnected."""
    script = Script("the plan", text)
    statements = script.statements()
    if word := next((item.words[0] for item in statements if item.words[:1] in _ENDS), None):
        raise ProjectRejected(f"A text with `{word}` cannot be tried: it would end the transaction.")
    if any(item.rows is not None for item in statements):
        raise ProjectRejected("A text with the rows of `copy ... from stdin` cannot be tried.")
    try:
        async with open_connection(url) as connection:
            await ProjectConnection(connection, OWNER).reset()
            await connection.execute("begin")
            for setting, value in settings:
                await connection.execute(_STATEMENTS["set"], setting, value)
            before = {row["relation"]: row["file"] for row in await connection.fetch(_STATEMENTS["files"])}
            for number, statement in enumerate(statements, start=1):
                try:
                    await connection.execute(without_concurrently(statement).text)
                except asyncpg.PostgresError as error:
                    place = StatementPlace(script.name, number, statement)
                    raise ScriptFailed(place, error, "Nothing was kept: this was a trial.") from None
            after = {row["relation"]: row["file"] for row in await connection.fetch(_STATEMENTS["files"])}
            rows = await connection.fetch(_STATEMENTS["locks"], list(before))
            await connection.execute("rollback")
            names = {row["relation"]: row["name"] for row in rows}
            rewritten = [oid for oid, file in before.items() if oid in after and after[oid] != file]
            return TrialReport(
                sorted(names.get(oid, str(oid)) for oid in rewritten),
                {row["name"]: row["mode"] for row in rows},
            )
    except _LOST as error:
        raise Disconnected(str(error) or type(error).__name__) from None


_ENDS = (("commit",), ("rollback",), ("end",), ("abort",), ("begin",), ("start",), ("prepare",))


async def _run(project: ProjectConnection, script: Script, record: Callable[[list[str]], object]) -> None:
    """Run a file; an error of the commit (deferred constraints) is reported as one of its last statement."""
    try:
        await run_script(project, script, record)  # type: ignore[arg-type]  # a coroutine function
    except asyncpg.PostgresError as error:
        statements = script.statements()
        if not statements or isinstance(error, asyncpg.PostgresConnectionError):
            raise
        raise ScriptFailed(
            StatementPlace(script.name, len(statements), statements[-1]), error, "Nothing of it was kept."
        ) from None
