"""Publications and event triggers of a dump: restored last, as role postgres.

Only a superuser may make those of all tables and of all commands; the platform's functions make them for role postgres
(workers/project/lent_rights.py). The event trigger of a dump calls the platform's copy of the project's function
(headwater.copy_event_function), which is made again of the function.
"""

from collections.abc import Callable

import asyncpg

from workers.backup.save import STATEMENTS
from workers.project.lent_rights import EventTrigger, is_lent, read_lent, run_lent
from workers.project.split import Statement, split


async def make_last(project: asyncpg.Connection, script: str, tell: Callable[[str], None]) -> None:
    """Run the script of publications and event triggers; what cannot be made is told, and left out."""
    copies = {row["copy"]: row["oid"] for row in await project.fetch(STATEMENTS["event_functions"])}
    for statement in split(script):
        try:
            await _make(project, statement, copies)
        except asyncpg.PostgresError as error:
            tell(f"Note: {error}; left out: {statement.text[statement.head :].splitlines()[0]}")


async def _make(project: asyncpg.Connection, statement: Statement, copies: dict[str, int]) -> None:
    lent = read_lent(statement)
    if isinstance(lent, EventTrigger) and (original := copies.get(_copy_of(lent.function))):
        tags = None if lent.tags is None else list(lent.tags)
        await project.execute(
            "select headwater.create_event_trigger($1, $2, $3, $4::pg_catalog.oid)",
            lent.name, lent.event, tags, original,
        )  # fmt: skip
        return
    try:
        await project.execute(statement.text)
    except asyncpg.InsufficientPrivilegeError:
        if lent is None or not await is_lent(project, lent):
            raise
        await run_lent(project, lent)


def _copy_of(function: str) -> str:
    """Return the name of a function of schema headwater; nothing for another one (pure)."""
    schema, _, name = function.partition(".")
    return name.strip().strip('"') if schema.strip().strip('"') == "headwater" else ""
