"""Reads the input of type generation from the system catalogs."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import asyncpg
import msgspec
from msgspec.structs import replace

from workers.database.schema_cache.catalog import Cardinality, Relationship
from workers.database.schema_cache.introspect import IntrospectOptions, introspect
from workers.project.errors import ProjectRejected
from workers.project.types.model import (
    TypegenDatabase,
    TypegenForeignKey,
    TypegenFunction,
    TypegenRelation,
    TypegenType,
)
from workers.project.types.view_columns import ViewColumns, ViewRule, read_rules
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project.types", "read_catalog.sql")
VIEW_STATEMENTS = (_STATEMENTS["view_rules"], _STATEMENTS["filled_columns"])
"""What `view_columns` reads: each returns one row of one text."""

T = TypeVar("T")


async def read_database(
    connection: asyncpg.Connection, schemas: Sequence[str], *, follows_views: bool = True
) -> TypegenDatabase:
    """Read schemas. Raises: ProjectRejected if one does not exist; the driver's errors.

    `follows_views`: a column of a view is not nullable where it comes unchanged from one that is NOT NULL; else all of them are.
    """
    names = list(dict.fromkeys(schemas))
    await check_schemas(connection, names)
    relations = _decoded(await connection.fetchval(_STATEMENTS["relations"], names), list[TypegenRelation])
    if follows_views:
        relations = await _with_filled_columns(connection, relations)
    functions = _decoded(await connection.fetchval(_STATEMENTS["functions"], names), list[TypegenFunction])
    types = _decoded(await connection.fetchval(_STATEMENTS["types"]), list[TypegenType])
    catalog = await introspect(connection, IntrospectOptions(tuple(names)), 1)
    relationships = (item for of_origin in catalog.relationships.values() for item in of_origin)
    links = [
        link
        for relationship in relationships
        if isinstance(relationship, Relationship) and (link := _link(relationship)) is not None
    ]
    return TypegenDatabase(names, relations, functions, {kind.id: kind for kind in types}, links)


async def check_schemas(connection: asyncpg.Connection, names: Sequence[str]) -> None:
    """Raises: ProjectRejected if a schema does not exist."""
    if missing := [row["wanted"] for row in await connection.fetch(_STATEMENTS["missing"], list(names))]:
        raise ProjectRejected(f"There is no schema {', '.join(missing)}.")


def view_columns(rules: str | bytes | None, filled: str | bytes | None) -> ViewColumns:
    """Return what is known of columns of views from the results of `VIEW_STATEMENTS`. Takes a moment for many views."""
    tables = msgspec.json.decode(filled or "{}", type=dict[int, list[int]])
    return read_rules(_decoded(rules, list[ViewRule]), tables)


async def _with_filled_columns(
    connection: asyncpg.Connection, relations: list[TypegenRelation]
) -> list[TypegenRelation]:
    """Return the relations with columns of views that are never null as such."""
    rules, filled = [await connection.fetchval(statement) for statement in VIEW_STATEMENTS]
    known = await asyncio.to_thread(view_columns, rules, filled)
    views = {(rule.schema, rule.name): rule.id for rule in _decoded(rules, list[ViewRule])}
    return [
        _filled(relation, known, view)
        if (view := views.get((relation.schema, relation.name))) is not None
        else relation
        for relation in relations
    ]


def _filled(relation: TypegenRelation, known: ViewColumns, view: int) -> TypegenRelation:
    columns = [
        replace(column, is_nullable=False) if known.is_filled(view, number) else column
        for number, column in enumerate(relation.columns, start=1)
    ]
    return replace(relation, columns=columns)


def _decoded(text: str | bytes | None, kind: type[T]) -> T:
    return msgspec.json.decode(text or "[]", type=kind)


def _link(relationship: Relationship) -> TypegenForeignKey | None:
    """Return a relationship as a foreign key of its origin; None if the target has the key (pure)."""
    holds_key = relationship.cardinality is Cardinality.MANY_TO_ONE or (
        relationship.cardinality is Cardinality.ONE_TO_ONE and not relationship.is_parent
    )
    if not holds_key or relationship.origin[0] != relationship.target[0]:
        return None
    return TypegenForeignKey(
        schema=relationship.origin[0],
        relation=relationship.origin[1],
        name=relationship.constraint,
        columns=[column for column, _ in relationship.columns],
        referenced=relationship.target[1],
        referenced_columns=[other for _, other in relationship.columns],
        is_one_to_one=relationship.cardinality is Cardinality.ONE_TO_ONE,
    )
