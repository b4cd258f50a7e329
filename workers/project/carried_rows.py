"""Carries rows of the platform itself from a replaced database to the new one: administrators, the audit log, stored settings,
webhooks.

They describe this platform, not the project: a reset or a restore must neither shut administrators out, nor open sign-ups that one
of them has closed, nor remove audit rows, nor end webhooks; deliveries that wait go with the rows that they are about. Tables that one of both databases lacks (an older version) are passed over.
"""

import tempfile

import asyncpg

from workers.project.project_connection import open_as_superuser
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "carried_rows.sql")
_SCHEMA = "headwater"
TABLES = (
    "administrators",
    "administrator_sessions",
    "administrator_grants",
    "administrator_tokens",
    "administrator_links",
    "administrator_passkeys",
    "administrator_recovery_codes",
    "administrator_networks",
    "administrator_attempts",
    "administrator_audit",
    "stored_settings",
    "webhooks",
)
"""In an order in which references are satisfied."""


async def carry_rows(old: str, new: str) -> None:
    """Copy the rows from one database to another; both URLs are a superuser's. Raises: ProjectRejected; the driver's errors."""
    async with (
        open_as_superuser(old) as source,
        open_as_superuser(new) as target,
        source.transaction(isolation="repeatable_read", readonly=True),
        target.transaction(),
    ):
        for table in TABLES:
            await _carry(source, target, table)
        if await _columns(target, "administrator_audit"):
            await target.execute(_STATEMENTS["continue_ids"])


async def _carry(source: asyncpg.Connection, target: asyncpg.Connection, table: str) -> None:
    target_columns = await _columns(target, table)
    columns = [name for name in await _columns(source, table) if name in target_columns]
    if not columns:
        return
    with tempfile.TemporaryFile() as rows:
        await source.copy_from_table(table, schema_name=_SCHEMA, columns=columns, output=rows)
        rows.seek(0)
        await target.copy_to_table(table, schema_name=_SCHEMA, columns=columns, source=rows)


async def _columns(connection: asyncpg.Connection, table: str) -> list[str]:
    return [row["name"] for row in await connection.fetch(_STATEMENTS["columns"], table)]
