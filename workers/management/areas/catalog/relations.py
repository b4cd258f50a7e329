"""Reads tables and views with columns, keys, indexes, triggers, policies and grants: eight statements on two connections.

Postgres builds the JSON of each kind by relation; here the parts of one relation are put together and decoded.
"""

import asyncio

import msgspec

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.management.areas.catalog.model import RelationInfo
from workers.management.interface.backends.database import ManagementDatabase
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.catalog", "relations.sql")
_PARTS = ("constraints", "referenced_by", "triggers", "columns", "indexes", "policies", "grants")
EMPTY_PATH = (
    "select pg_catalog.set_config('search_path', '', true),"
    " pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true), pg_catalog.set_config('jit', 'off', true)"
)
"""The first statement of a transaction: names then mean what they say, and expressions are written with their schemas.

Plans for any schemas and compiled plans cost more than they save here: 495 instead of 70 ms for the columns of 500 tables.
"""


async def count_relations(database: ManagementDatabase, schemas: list[str], *, timeout_s: float) -> int:
    """Return how many tables and views schemas have. Raises: DatabaseError, Disconnected, PoolTimeout."""
    counting = statement(_SQL["count"], msgspec.json.encode(schemas))
    _, [(count,)] = await database.read(statement(EMPTY_PATH), counting, timeout_s=timeout_s)
    return msgspec.json.decode(count or b"0", type=int)


async def read_relations(
    database: ManagementDatabase, schemas: list[str], name: str | None = None, *, timeout_s: float
) -> list[RelationInfo]:
    """Return the tables and views of schemas, or one of them by its name, in the order of their names.

    Raises: DatabaseError, Disconnected, PoolTimeout.
    """
    values = (msgspec.json.encode(schemas), name)

    async def read(*names: str) -> list[Rows]:
        statements = [statement(_SQL[part], *values) for part in names]
        return (await database.read(statement(EMPTY_PATH), *statements, timeout_s=timeout_s))[1:]

    half = len(_PARTS) // 2
    (relations, *some), others = await asyncio.gather(read("relations", *_PARTS[:half]), read(*_PARTS[half:]))
    by_part = [_by_relation(rows) for rows in (*some, *others)]
    return [_relation(oid, head or b"{}", by_part) for oid, head in relations]


def _by_relation(rows: Rows) -> dict[bytes | None, bytes]:
    return {oid: value or b"[]" for oid, value in rows}


def _relation(oid: bytes | None, head: bytes, parts: list[dict[bytes | None, bytes]]) -> RelationInfo:
    fields = (
        b',"%s":%s' % (name.encode(), part.get(oid, b"[]")) for name, part in zip(_PARTS, parts, strict=True)
    )
    return msgspec.json.decode(head[:-1] + b"".join(fields) + b"}", type=RelationInfo)
