"""Restores publications and event triggers of a dump; they come last, as role postgres.

Only a superuser may create publications of all tables and event triggers; the platform's functions create them for role postgres
(workers/project/superuser_statements.py). The event trigger in a dump calls the platform's copy of the project's function
(headwater.copy_event_function); the copy is created again from the function.
"""

from collections.abc import Callable

import asyncpg

from workers.backup.save import STATEMENTS
from workers.project.sql_splitter import ScriptStatement, split
from workers.project.superuser_statements import (
    EventTrigger,
    is_supported,
    parse_superuser_statement,
    run_superuser_statement,
)


async def restore_event_triggers(
    project: asyncpg.Connection, script: str, report: Callable[[str], None]
) -> None:
    """Run the script of publications and event triggers; report and skip statements that fail."""
    copies = {row["copy"]: row["oid"] for row in await project.fetch(STATEMENTS["event_functions"])}
    for statement in split(script):
        try:
            await _create(project, statement, copies)
        except asyncpg.PostgresError as error:
            report(f"Note: {error}; left out: {statement.text[statement.head :].splitlines()[0]}")


async def _create(project: asyncpg.Connection, statement: ScriptStatement, copies: dict[str, int]) -> None:
    superuser_statement = parse_superuser_statement(statement)
    if isinstance(superuser_statement, EventTrigger) and (
        original := copies.get(_copy_of(superuser_statement.function))
    ):
        tags = None if superuser_statement.tags is None else list(superuser_statement.tags)
        await project.execute(
            "select headwater.create_event_trigger($1, $2, $3, $4::pg_catalog.oid)",
            superuser_statement.name, superuser_statement.event, tags, original,
        )  # fmt: skip
        return
    try:
        await project.execute(statement.text)
    except asyncpg.InsufficientPrivilegeError:
        if superuser_statement is None or not await is_supported(project, superuser_statement):
            raise
        await run_superuser_statement(project, superuser_statement)


def _copy_of(function: str) -> str:
    """Return the name of a function of schema headwater; "" for another one (pure)."""
    schema, _, name = function.partition(".")
    return name.strip().strip('"') if schema.strip().strip('"') == "headwater" else ""
