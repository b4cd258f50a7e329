"""Read from the catalogs what generated types are made of."""

from collections.abc import Sequence
from typing import TypeVar

import asyncpg
import msgspec

from workers.database.catalog import Cardinality, Relationship
from workers.database.introspect import IntrospectOptions, introspect
from workers.project.errors import Refused
from workers.project.types.model import Database, Function, Link, Relation, Type
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project.types", "read.sql")

T = TypeVar("T")


async def read_database(connection: asyncpg.Connection, schemas: Sequence[str]) -> Database:
    """Read schemas. Raises: Refused if one does not exist; the driver's errors."""
    names = list(dict.fromkeys(schemas))
    if missing := [row["wanted"] for row in await connection.fetch(_STATEMENTS["missing"], names)]:
        raise Refused(f"There is no schema {', '.join(missing)}.")
    relations = _decoded(await connection.fetchval(_STATEMENTS["relations"], names), list[Relation])
    functions = _decoded(await connection.fetchval(_STATEMENTS["functions"], names), list[Function])
    types = _decoded(await connection.fetchval(_STATEMENTS["types"]), list[Type])
    catalog = await introspect(connection, IntrospectOptions(tuple(names)), 1)
    found = (each for mine in catalog.relationships.values() for each in mine)
    links = [link for each in found if isinstance(each, Relationship) and (link := _link(each)) is not None]
    return Database(names, relations, functions, {each.id: each for each in types}, links)


def _decoded(text: str | None, kind: type[T]) -> T:
    return msgspec.json.decode(text or "[]", type=kind)


def _link(each: Relationship) -> Link | None:
    """Give a relationship as a link of its origin; None if the key lies on the other side (pure)."""
    holds_key = each.cardinality is Cardinality.MANY_TO_ONE or (
        each.cardinality is Cardinality.ONE_TO_ONE and not each.is_parent
    )
    if not holds_key or each.origin[0] != each.target[0]:
        return None
    return Link(
        schema=each.origin[0],
        relation=each.origin[1],
        name=each.constraint,
        columns=[own for own, _ in each.columns],
        referenced=each.target[1],
        referenced_columns=[other for _, other in each.columns],
        is_one_to_one=each.cardinality is Cardinality.ONE_TO_ONE,
    )
