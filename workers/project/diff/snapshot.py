"""Read a database's schema as a snapshot: every object with the SQL that creates it."""

from collections.abc import Sequence

import asyncpg

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.project.diff.model import SchemaObject, Snapshot
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project.diff", "snapshot.sql")
_KINDS = tuple(name for name in _STATEMENTS if name != "project_schemas")


async def project_schemas(connection: asyncpg.Connection) -> list[str]:
    """Return the schemas that are not the platform's."""
    rows = await connection.fetch(_STATEMENTS["project_schemas"], list(PLATFORM_SCHEMAS))
    return [row["name"] for row in rows]


async def read_snapshot(connection: asyncpg.Connection, schemas: Sequence[str]) -> Snapshot:
    """Return all objects of schemas. The search path is empty, so that every name is qualified."""
    snapshot: Snapshot = {}
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        await connection.execute("set local search_path = ''")
        for kind in _KINDS:
            for row in await connection.fetch(_STATEMENTS[kind], list(schemas)):
                item = SchemaObject(**dict(row.items()))
                snapshot[item.kind, item.name] = item
    return snapshot
