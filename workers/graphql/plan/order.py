"""Plan `orderBy`. The primary key is always appended, so that the order is unique and cursors are exact. Pure. Source: docs/reference/graphql.md, section 10."""

from collections.abc import Iterator
from dataclasses import replace

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, EntityColumn, RoleSchema
from workers.graphql.plan.aggregate_functions import COLUMN_AGGREGATES, NUMERIC_RESULTS, takes_column
from workers.graphql.plan.conditions import RelatedRows, RelatedValue, SortTerm
from workers.graphql.plan.inputs import ArgumentValue, InputKind
from workers.graphql.plan.related import check_distance, find_relation, related_rows
from workers.graphql.plan.values import extra_keys, invalid_input

DIRECTIONS = {
    "AscNullsFirst": (False, True),
    "AscNullsLast": (False, False),
    "DescNullsFirst": (True, True),
    "DescNullsLast": (True, False),
}
"""Direction -> (is descending, nulls first)."""


MOST_TERMS = 100
"""Terms of one order. Each is a level of the condition behind a cursor."""


def plan_order(schema: RoleSchema, entity: Entity, value: ArgumentValue) -> tuple[SortTerm, ...]:
    """Return the requested sort terms, followed by the primary key. Raises: GraphQLFailure."""
    terms = (
        []
        if value.is_missing
        else [inner_term for term in value.as_list() for inner_term in _terms(schema, entity, term, ())]
    )
    if len(terms) > MOST_TERMS:
        raise GraphQLFailure(f"An order has at most {MOST_TERMS} terms")
    named_terms = [
        term if term.related is None else replace(term, column=f"@by{index}")
        for index, term in enumerate(terms)
    ]
    return (*named_terms, *(SortTerm(column.sql, column.type.sql) for column in entity.key_columns))


def _terms(
    schema: RoleSchema, entity: Entity, value: ArgumentValue, path: tuple[RelatedRows, ...]
) -> list[SortTerm]:
    """Return the sort terms of one object. `path`: the joins from the rows of the page to those of the entity."""
    check_distance(len(path))
    if value.is_missing:
        return []
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(f"{entity.name}OrderBy")
    terms: list[SortTerm] = []
    unknown: list[str] = []
    for name, entry in value.entries().items():
        column = entity.columns.get(name)
        if column is not None and is_orderable(column):
            if not entry.is_missing:
                terms.append(_term(entity, column, entry, path))
        elif (related := find_relation(schema, entity, name)) is None:
            unknown.append(name)
        elif not entry.is_missing:
            relation, target = related
            longer_path = (*path, related_rows(relation))
            terms += (
                _aggregate_terms(target, entry, longer_path)
                if relation.is_many
                else _terms(schema, target, entry, longer_path)
            )
    if unknown:
        raise extra_keys(f"{entity.name}OrderBy", unknown)
    return terms


def is_orderable(column: EntityColumn) -> bool:
    """Return whether the role may order rows by a column."""
    return column.is_selectable and column.type.is_orderable


def _aggregate_terms(target: Entity, value: ArgumentValue, path: tuple[RelatedRows, ...]) -> list[SortTerm]:
    """Return sort terms by aggregates over related rows."""
    check_distance(len(path))
    return [
        SortTerm(
            "",
            sql_type,
            *read_direction(direction),
            True,
            RelatedValue(path, column, operator, sql_type == "boolean"),
        )
        for operator, column, sql_type, direction in read_aggregates(
            target, value, f"{target.name}ManyOrderBy"
        )
    ]


def read_aggregates(
    entity: Entity, value: ArgumentValue, type_name: str
) -> Iterator[tuple[str, str, str, ArgumentValue]]:
    """Read an input object of aggregates: yield function, column in the database, result type, and the argument's value.

    `count` has a value itself; `sum`, `avg`, `min` and `max` have an object of columns. Raises: GraphQLFailure.
    """
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(type_name)
    entries = value.entries()
    unknown = [name for name in entries if name != "count" and name not in COLUMN_AGGREGATES]
    if unknown:
        raise extra_keys(type_name, unknown)
    for operator, entry in entries.items():
        if entry.is_missing:
            continue
        if operator == "count":
            yield "count", "", "int8", entry
        else:
            yield from _read_aggregated_columns(entity, operator, entry)


def _read_aggregated_columns(
    entity: Entity, operator: str, value: ArgumentValue
) -> Iterator[tuple[str, str, str, ArgumentValue]]:
    type_name = f"{entity.name}{operator.capitalize()}"
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(type_name)
    for name, entry in value.entries().items():
        column = entity.columns.get(name)
        if (
            column is None
            or not column.is_selectable
            or not takes_column(operator, column.type.scalar, column.type.is_list)
        ):
            raise extra_keys(type_name, [name])
        if not entry.is_missing:
            yield operator, column.sql, "numeric" if operator in NUMERIC_RESULTS else column.type.sql, entry


def read_direction(value: ArgumentValue) -> tuple[bool, bool]:
    """Return whether a direction is descending, and whether nulls come first. Raises: GraphQLFailure."""
    direction = value.steering_value() if value.kind is InputKind.SCALAR else None
    flags = DIRECTIONS.get(direction) if isinstance(direction, str) else None
    if flags is None:
        raise invalid_input("OrderByDirection")
    return flags


def _term(
    entity: Entity, column: EntityColumn, direction: ArgumentValue, path: tuple[RelatedRows, ...]
) -> SortTerm:
    flags = read_direction(direction)
    if path:
        return SortTerm("", column.type.sql, *flags, True, RelatedValue(path, column.sql))
    is_nullable = column.is_nullable and column.sql not in entity.primary_key
    return SortTerm(column.sql, column.type.sql, *flags, is_nullable)
