"""`orderBy`: which columns order the rows, the primary key always last. Pure. Source: reference page "graphql", section 10."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Column, Entity
from workers.graphql.plan.inputs import Given, Kind
from workers.graphql.plan.selection import quoted
from workers.graphql.plan.tree import Order
from workers.graphql.plan.values import invalid

DIRECTIONS = {
    "AscNullsFirst": (False, True),
    "AscNullsLast": (False, False),
    "DescNullsFirst": (True, True),
    "DescNullsLast": (True, False),
}
"""Direction -> (is descending, nulls first)."""


def order_of(entity: Entity, given: Given) -> tuple[Order, ...]:
    """Give the order that is asked for, and after it the key. Raises: GraphQLFailure."""
    asked = [] if given.is_nothing else [term for one in given.as_list() for term in _terms(entity, one)]
    return (*asked, *(Order(column.sql, column.type.sql) for column in entity.key_columns))


def _terms(entity: Entity, given: Given) -> list[Order]:
    if given.is_nothing:
        return []
    if given.kind is not Kind.OBJECT:
        raise invalid(f"{entity.name}OrderBy")
    entries = given.entries()
    extra = [name for name in entries if not _is_orderable(entity.columns.get(name))]
    if extra:
        names = ", ".join(quoted(name) for name in extra)
        raise GraphQLFailure(f"Input for type {entity.name}OrderBy contains extra keys [{names}]")
    return [
        _term(entity, entity.columns[name], value) for name, value in entries.items() if not value.is_nothing
    ]


def _is_orderable(column: Column | None) -> bool:
    return column is not None and column.is_selectable and column.type.is_orderable


def _term(entity: Entity, column: Column, given: Given) -> Order:
    direction = given.look() if given.kind is Kind.SCALAR else None
    found = DIRECTIONS.get(direction) if isinstance(direction, str) else None
    if found is None:
        raise invalid("OrderByDirection")
    is_nullable = column.is_nullable and column.sql not in entity.primary_key
    return Order(column.sql, column.type.sql, *found, is_nullable)
