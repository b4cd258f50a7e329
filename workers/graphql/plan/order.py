"""`orderBy`: which columns order the rows, the primary key always last. Pure. Source: reference page "graphql", section 10."""

from collections.abc import Iterator
from dataclasses import replace

from workers.graphql.model import Column, Entity, Schema
from workers.graphql.plan.figures import FOLDED, NUMBERS, is_folded
from workers.graphql.plan.inputs import Given, Kind
from workers.graphql.plan.related import check_distance, join_of, way_of
from workers.graphql.plan.tree import Join, Order, RelatedValue
from workers.graphql.plan.values import extra_keys, invalid

DIRECTIONS = {
    "AscNullsFirst": (False, True),
    "AscNullsLast": (False, False),
    "DescNullsFirst": (True, True),
    "DescNullsLast": (True, False),
}
"""Direction -> (is descending, nulls first)."""


def order_of(schema: Schema, entity: Entity, given: Given) -> tuple[Order, ...]:
    """Give the order that is asked for, and after it the key. Raises: GraphQLFailure."""
    found = (
        []
        if given.is_nothing
        else [term for one in given.as_list() for term in _terms(schema, entity, one, ())]
    )
    asked = [one if one.related is None else replace(one, column=f"@by{n}") for n, one in enumerate(found)]
    return (*asked, *(Order(column.sql, column.type.sql) for column in entity.key_columns))


def _terms(schema: Schema, entity: Entity, given: Given, joins: tuple[Join, ...]) -> list[Order]:
    """Give what one object orders by; `joins` lead from the rows of the page to those of the entity."""
    check_distance(len(joins))
    if given.is_nothing:
        return []
    if given.kind is not Kind.OBJECT:
        raise invalid(f"{entity.name}OrderBy")
    terms: list[Order] = []
    extra: list[str] = []
    for name, value in given.entries().items():
        column = entity.columns.get(name)
        if column is not None and is_orderable(column):
            if not value.is_nothing:
                terms.append(_term(entity, column, value, joins))
        elif (way := way_of(schema, entity, name)) is None:
            extra.append(name)
        elif not value.is_nothing:
            relation, target = way
            further = (*joins, join_of(relation))
            terms += (
                _folds(target, value, further) if relation.is_many else _terms(schema, target, value, further)
            )
    if extra:
        raise extra_keys(f"{entity.name}OrderBy", extra)
    return terms


def is_orderable(column: Column) -> bool:
    """Tell whether the role may order rows by a column."""
    return column.is_selectable and column.type.is_orderable


def _folds(target: Entity, given: Given, joins: tuple[Join, ...]) -> list[Order]:
    """Give an order by figures over related rows."""
    check_distance(len(joins))
    return [
        Order("", type_, *direction_of(value), True, RelatedValue(joins, sql, operator, type_ == "boolean"))
        for operator, sql, type_, value in figures_of(target, given, f"{target.name}ManyOrderBy")
    ]


def figures_of(entity: Entity, given: Given, type_name: str) -> Iterator[tuple[str, str, str, Given]]:
    """Read an object of figures: operator, column in the database, type of the figure, and what is given for it.

    `count` is given something itself, `sum`, `avg`, `min` and `max` an object of columns. Raises: GraphQLFailure.
    """
    if given.kind is not Kind.OBJECT:
        raise invalid(type_name)
    entries = given.entries()
    extra = [name for name in entries if name != "count" and name not in FOLDED]
    if extra:
        raise extra_keys(type_name, extra)
    for operator, value in entries.items():
        if value.is_nothing:
            continue
        if operator == "count":
            yield "count", "", "int8", value
        else:
            yield from _folded(entity, operator, value)


def _folded(entity: Entity, operator: str, given: Given) -> Iterator[tuple[str, str, str, Given]]:
    type_name = f"{entity.name}{operator.capitalize()}"
    if given.kind is not Kind.OBJECT:
        raise invalid(type_name)
    for name, value in given.entries().items():
        column = entity.columns.get(name)
        if (
            column is None
            or not column.is_selectable
            or not is_folded(operator, column.type.scalar, column.type.is_list)
        ):
            raise extra_keys(type_name, [name])
        if not value.is_nothing:
            yield operator, column.sql, "numeric" if operator in NUMBERS else column.type.sql, value


def direction_of(given: Given) -> tuple[bool, bool]:
    """Read a direction: whether it is descending, and whether nulls come first. Raises: GraphQLFailure."""
    direction = given.look() if given.kind is Kind.SCALAR else None
    found = DIRECTIONS.get(direction) if isinstance(direction, str) else None
    if found is None:
        raise invalid("OrderByDirection")
    return found


def _term(entity: Entity, column: Column, given: Given, joins: tuple[Join, ...]) -> Order:
    found = direction_of(given)
    if joins:
        return Order("", column.type.sql, *found, True, RelatedValue(joins, column.sql))
    is_nullable = column.is_nullable and column.sql not in entity.primary_key
    return Order(column.sql, column.type.sql, *found, is_nullable)
