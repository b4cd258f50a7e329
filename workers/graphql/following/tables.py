"""Which tables have to be followed for a query: those its plan reads, and what lies behind them.

A function's own reads cannot be known: the rows it gives stand for them. Source: docs/graphql-subscriptions.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

import msgspec
from msgspec import Struct

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.model import Statement, TransactionSpec
from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Function, Name, Schema
from workers.graphql.plan.tree import Call, Join, Table
from workers.sql.compose import quoted
from workers.sql.files import read_statements

_SQL = read_statements("workers.graphql.following", "tables.sql")
_SETTINGS = (("search_path", ""), ("statement_timeout", "5s"))
_KINDS = {"m": "a materialized view", "f": "a foreign table"}


class _Found(Struct, frozen=True):
    """A table behind what was asked for."""

    schema: str
    name: str
    kind: str
    is_published: bool


_read_found = msgspec.json.Decoder(list[_Found]).decode


def tables_of(plans: Iterable[object], schema: Schema) -> list[Name]:
    """Give the tables and views that plans read, each once."""
    targets = {one.sql: one.target for one in _functions(schema) if one.target is not None}
    found: dict[Name, None] = {}
    for node in _nodes(plans):
        match node:
            case Table(table) | Join(table=table):
                found[table] = None
            case Call(function=function) if function in targets:
                found[targets[function]] = None
    return list(found)


async def published(names: Iterable[Name], pool: ConnectionPool) -> list[Name]:
    """Give the tables whose changes are those of tables and views.

    Raises: GraphQLFailure that names a table which is not published and says how to change that; DatabaseError.
    """
    asked = msgspec.json.encode([list(name) for name in names])
    work = TransactionSpec(_SETTINGS, [Statement(_SQL["behind"], [asked])], read_only=True)
    found = _read_found((await pool.run(work))[0][0][0] or b"[]")
    if not found:
        raise GraphQLFailure(
            "There is no table whose changes could be followed for this query", "NOTHING_TO_FOLLOW"
        )
    for one in found:
        _check(one)
    return [(one.schema, one.name) for one in found]


def _check(one: _Found) -> None:
    name = f"{quoted(one.schema)}.{quoted(one.name)}"
    if one.kind in _KINDS:
        raise GraphQLFailure(
            f"{name} is {_KINDS[one.kind]}, whose changes cannot be followed", "NOT_FOLLOWED"
        )
    if not one.is_published:
        cure = f"alter publication supabase_realtime add table {name};"
        raise GraphQLFailure(
            f"The changes of {name} are not published. To follow them: {cure}", "NOT_PUBLISHED"
        )


def _functions(schema: Schema) -> Iterator[Function]:
    yield from (field.function for field in schema.query.values() if field.function is not None)
    for entity in schema.entities.values():
        yield from entity.functions.values()


def _nodes(plans: Iterable[object]) -> Iterator[object]:
    """Walk through plans, and all that is in them."""
    waiting = list(plans)
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple | list):
            waiting.extend(one)
        elif is_dataclass(one):
            yield one
            waiting.extend(getattr(one, each.name) for each in fields(one))
