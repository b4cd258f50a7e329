"""Reads tables and views with columns, keys, indexes, triggers, policies and grants: one transaction of eight statements.

Postgres builds the JSON of each kind by relation; here the parts of one relation are put together and decoded.
"""

import msgspec

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.management.catalog.model import RelationInfo
from workers.management.database import ManagementDatabase
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.catalog", "relations.sql")
_PARTS = ("columns", "constraints", "referenced_by", "indexes", "triggers", "policies", "grants")
EMPTY_PATH = "select pg_catalog.set_config('search_path', '', true)"
"""The first statement of a transaction: names then mean what they say, and expressions are written with their schemas."""


async def read_relations(
    database: ManagementDatabase, schemas: list[str], name: str | None = None, *, timeout_s: float
) -> list[RelationInfo]:
    """Return the tables and views of schemas, or one of them by its name, in the order of their names.

    Raises: DatabaseError, Disconnected, PoolTimeout.
    """
    values = (msgspec.json.encode(schemas), name)
    statements = [statement(_SQL[part], *values) for part in ("relations", *_PARTS)]
    _, relations, *parts = await database.read(statement(EMPTY_PATH), *statements, timeout_s=timeout_s)
    by_part = [_by_relation(rows) for rows in parts]
    return [_relation(oid, head or b"{}", by_part) for oid, head in relations]


def _by_relation(rows: Rows) -> dict[bytes | None, bytes]:
    return {oid: value or b"[]" for oid, value in rows}


def _relation(oid: bytes | None, head: bytes, parts: list[dict[bytes | None, bytes]]) -> RelationInfo:
    fields = (
        b',"%s":%s' % (name.encode(), part.get(oid, b"[]")) for name, part in zip(_PARTS, parts, strict=True)
    )
    return msgspec.json.decode(head[:-1] + b"".join(fields) + b"}", type=RelationInfo)
