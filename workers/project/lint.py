"""Look for faults in a project's schemas: what the catalogs show, and what the server says of functions' bodies.

Bodies are given to the server again, inside a transaction that is rolled back: SQL bodies are checked against tables and
columns, PL/pgSQL bodies for their grammar and with all of `plpgsql.extra_warnings`. Columns and tables that a PL/pgSQL
body names are not looked up: the server does that when it runs.
"""

import json
from collections.abc import Iterable, Sequence

import asyncpg
from msgspec import Struct, structs

from workers.project.apply import Door
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "lint.sql")
_LEVELS = ("none", "warning", "error")


class Finding(Struct, frozen=True):
    """One fault: where, what, and how it is mended."""

    level: str
    rule: str
    object: str
    message: str
    cure: str


async def lint(door: Door, schemas: Sequence[str], exposed: Sequence[str]) -> list[Finding]:
    """Give all findings in schemas; `exposed` are those that clients reach."""
    found = await _bodies(door.connection, schemas)
    await door.clear()
    for rule, statement in _STATEMENTS.items():
        if rule != "functions":
            rows = await door.connection.fetch(statement, list(schemas), list(exposed))
            found += [Finding(**dict(row.items())) for row in rows]
    return sorted(found, key=lambda each: (-_LEVELS.index(each.level), each.object, each.rule))


def at_least(findings: Iterable[Finding], level: str) -> list[Finding]:
    """Keep the findings of a level and above (pure)."""
    return [
        each for each in findings if level != "none" and _LEVELS.index(each.level) >= _LEVELS.index(level)
    ]


def as_text(findings: Sequence[Finding]) -> str:
    """Give the findings as lines for people (pure)."""
    return "\n".join(
        f"{each.level}: {each.object}: {each.message} [{each.rule}]\n  {each.cure}" for each in findings
    )


def as_json(findings: Sequence[Finding]) -> str:
    """Give the findings as JSON (pure)."""
    return json.dumps([structs.asdict(each) for each in findings], indent=2)


async def _bodies(connection: asyncpg.Connection, schemas: Sequence[str]) -> list[Finding]:
    found: list[Finding] = []
    said: list[str] = []

    def hear(_: object, message: asyncpg.PostgresLogMessage) -> None:
        told = message.as_dict()
        if told.get("severity_en", told.get("severity")) == "WARNING":
            said.append(str(told["message"]))

    connection.add_log_listener(hear)
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(
            "set local check_function_bodies = on; set local plpgsql.extra_warnings = 'all'"
        )
        for row in await connection.fetch(_STATEMENTS["functions"], list(schemas)):
            said.clear()
            found += await _body(connection, row["object"], row["definition"])
            found += [
                Finding("warning", "function_body", row["object"], text, "mend the body") for text in said
            ]
    finally:
        await transaction.rollback()
        connection.remove_log_listener(hear)
    return found


async def _body(connection: asyncpg.Connection, name: str, definition: str) -> list[Finding]:
    """Give a function to the server again; give what it refuses."""
    try:
        async with connection.transaction():
            await connection.execute(definition)
    except asyncpg.PostgresError as error:
        where = f", {error.context.splitlines()[0]}" if error.context else ""
        cure = error.hint or error.detail or "mend the body"
        return [Finding("error", "function_body", name, f"{error.message}{where}", cure)]
    return []
