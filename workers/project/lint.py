"""Finds faults in a project's schemas: by queries on the system catalogs, and by having the server check function bodies.

Functions are created again inside a transaction that is rolled back: the server checks SQL bodies against tables and columns,
PL/pgSQL bodies for their grammar and with all of `plpgsql.extra_warnings`. Columns and tables that a PL/pgSQL body names are
not checked: the server looks them up when the function runs.
"""

import json
from collections.abc import Iterable, Sequence

import asyncpg
from msgspec import Struct, structs

from workers.project.script_runner import ProjectConnection
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "lint.sql")
_LEVELS = ("none", "warning", "error")


class LintFinding(Struct, frozen=True):
    """One fault: the object, the rule, and how to correct it."""

    level: str
    rule: str
    object: str
    message: str
    cure: str


async def lint(
    project: ProjectConnection, schemas: Sequence[str], exposed: Sequence[str]
) -> list[LintFinding]:
    """Return all findings in schemas; `exposed` are the schemas that clients reach."""
    findings = await _check_bodies(project.connection, schemas)
    await project.reset()
    for rule, statement in _STATEMENTS.items():
        if rule != "functions":
            rows = await project.connection.fetch(statement, list(schemas), list(exposed))
            findings += [LintFinding(**dict(row.items())) for row in rows]
    return sorted(
        findings,
        key=lambda finding: (-_LEVELS.index(finding.level), finding.object, finding.rule),
    )


def at_least(findings: Iterable[LintFinding], level: str) -> list[LintFinding]:
    """Return the findings of a level and above (pure)."""
    return [
        finding
        for finding in findings
        if level != "none" and _LEVELS.index(finding.level) >= _LEVELS.index(level)
    ]


def as_text(findings: Sequence[LintFinding]) -> str:
    """Return the findings as text (pure)."""
    return "\n".join(
        f"{finding.level}: {finding.object}: {finding.message} [{finding.rule}]\n  {finding.cure}"
        for finding in findings
    )


def as_json(findings: Sequence[LintFinding]) -> str:
    """Return the findings as JSON (pure)."""
    return json.dumps([structs.asdict(finding) for finding in findings], indent=2)


async def _check_bodies(connection: asyncpg.Connection, schemas: Sequence[str]) -> list[LintFinding]:
    findings: list[LintFinding] = []
    warnings: list[str] = []

    def on_message(_: object, message: asyncpg.PostgresLogMessage) -> None:
        fields = message.as_dict()
        if fields.get("severity_en", fields.get("severity")) == "WARNING":
            warnings.append(str(fields["message"]))

    connection.add_log_listener(on_message)
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(
            "set local check_function_bodies = on; set local plpgsql.extra_warnings = 'all'"
        )
        for row in await connection.fetch(_STATEMENTS["functions"], list(schemas)):
            warnings.clear()
            findings += await _check_body(connection, row["object"], row["definition"])
            findings += [
                LintFinding("warning", "function_body", row["object"], text, "mend the body")
                for text in warnings
            ]
    finally:
        await transaction.rollback()
        connection.remove_log_listener(on_message)
    return findings


async def _check_body(connection: asyncpg.Connection, name: str, definition: str) -> list[LintFinding]:
    """Create a function again; return a finding if the server rejects it."""
    try:
        async with connection.transaction():
            await connection.execute(definition)
    except asyncpg.PostgresError as error:
        where = f", {error.context.splitlines()[0]}" if error.context else ""
        cure = error.hint or error.detail or "mend the body"
        return [LintFinding("error", "function_body", name, f"{error.message}{where}", cure)]
    return []
