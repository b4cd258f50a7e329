"""Read a database's schema as a snapshot: every object with the SQL that makes it."""

from collections.abc import Sequence

import asyncpg

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.project.diff.model import Snapshot, Thing
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project.diff", "read.sql")
_KINDS = tuple(name for name in _STATEMENTS if name != "project_schemas")


async def project_schemas(connection: asyncpg.Connection) -> list[str]:
    """Give the schemas that are not the platform's."""
    rows = await connection.fetch(_STATEMENTS["project_schemas"], list(PLATFORM_SCHEMAS))
    return [row["name"] for row in rows]


async def read_snapshot(connection: asyncpg.Connection, schemas: Sequence[str]) -> Snapshot:
    """Give all objects of schemas. With an empty search path, so that every name is spelled whole."""
    found: Snapshot = {}
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        await connection.execute("set local search_path = ''")
        for kind in _KINDS:
            for row in await connection.fetch(_STATEMENTS[kind], list(schemas)):
                thing = Thing(**dict(row.items()))
                found[thing.kind, thing.name] = thing
    return found
