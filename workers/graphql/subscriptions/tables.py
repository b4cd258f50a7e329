"""Find the tables whose changes must be followed for a query: those that its plan reads, and those that its views read.

What a function reads is unknown; if it returns rows of a table, that table is followed instead.
Source: docs/graphql-subscriptions.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

import msgspec
from msgspec import Struct

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.model import Statement, TransactionSpec
from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import FunctionField, Name, RoleSchema
from workers.graphql.plan.conditions import RelatedRows
from workers.graphql.plan.tree import SqlFunctionCall, TableRows
from workers.sql.compose import quoted
from workers.sql.files import read_statements

_SQL = read_statements("workers.graphql.subscriptions", "tables.sql")
_SETTINGS = (("search_path", ""), ("statement_timeout", "5s"))
_KINDS = {"m": "a materialized view", "f": "a foreign table"}


class _PublishedTable(Struct, frozen=True):
    """A table, and whether its changes are published."""

    schema: str
    name: str
    kind: str
    is_published: bool


_read_tables = msgspec.json.Decoder(list[_PublishedTable]).decode


def tables_in_plans(plans: Iterable[object], schema: RoleSchema) -> list[Name]:
    """Return the tables and views that plans read, without duplicates."""
    targets = {
        function.sql: function.target for function in _functions(schema) if function.target is not None
    }
    names: dict[Name, None] = {}
    for node in _nodes(plans):
        match node:
            case TableRows(table) | RelatedRows(table=table):
                names[table] = None
            case SqlFunctionCall(function=function) if function in targets:
                names[targets[function]] = None
    return list(names)


async def published_tables(names: Iterable[Name], pool: ConnectionPool) -> list[Name]:
    """Return the tables whose changes affect some tables and views.

    Raises: GraphQLFailure that names a table which is not published, with the statement that publishes it; DatabaseError.
    """
    names_json = msgspec.json.encode([list(name) for name in names])
    work = TransactionSpec(_SETTINGS, [Statement(_SQL["behind"], [names_json])], read_only=True)
    tables = _read_tables((await pool.run(work))[0][0][0] or b"[]")
    if not tables:
        raise GraphQLFailure(
            "There is no table whose changes could be followed for this query", "NOTHING_TO_FOLLOW"
        )
    for table in tables:
        _check_published(table)
    return [(table.schema, table.name) for table in tables]


def _check_published(table: _PublishedTable) -> None:
    name = f"{quoted(table.schema)}.{quoted(table.name)}"
    if table.kind in _KINDS:
        raise GraphQLFailure(
            f"{name} is {_KINDS[table.kind]}, whose changes cannot be followed", "NOT_FOLLOWED"
        )
    if not table.is_published:
        statement = f"alter publication supabase_realtime add table {name};"
        raise GraphQLFailure(
            f"The changes of {name} are not published. To follow them: {statement}", "NOT_PUBLISHED"
        )


def _functions(schema: RoleSchema) -> Iterator[FunctionField]:
    yield from (field.function for field in schema.query.values() if field.function is not None)
    for entity in schema.entities.values():
        yield from entity.functions.values()


def _nodes(plans: Iterable[object]) -> Iterator[object]:
    """Yield every node of plans, depth first."""
    pending = list(plans)
    while pending:
        item = pending.pop()
        if isinstance(item, tuple | list):
            pending.extend(item)
        elif is_dataclass(item):
            yield item
            pending.extend(getattr(item, member.name) for member in fields(item))
