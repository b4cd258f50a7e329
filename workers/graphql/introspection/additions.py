"""Types and members that the original has not: told of entities whose schema asks for it. Pure.

They are told apart from the others because clients compare what introspection says; what they stand for works whether
it is told or not. Source: docs/graphql.md, "Additions".
"""

from collections.abc import Iterator

from workers.graphql.introspection.fields import Scope, Told, constraints_of, value_ref
from workers.graphql.introspection.types import EnumValue, Field, InputValue, Kind, Type, list_of, required
from workers.graphql.model import Column, Entity
from workers.graphql.plan.figures import FOLDED, NUMBERS, is_folded
from workers.graphql.reflect.names import is_valid

_DIRECTION = "OrderByDirection"


def filter_members(told: Told, scope: Scope) -> Iterator[InputValue]:
    """Give the entries of `TFilter` that lead to related rows."""
    for relation in told.entity.relations.values():
        target = scope.get(relation.target)
        if target is not None and told.shows_additions:
            name = f"{target.entity.name}{'Many' if relation.is_many else ''}Filter"
            yield InputValue(relation.name, name, "Give only records whose related records match")


def order_members(told: Told, scope: Scope) -> Iterator[InputValue]:
    """Give the entries of `TOrderBy` that lead to related rows."""
    for relation in told.entity.relations.values():
        target = scope.get(relation.target)
        if target is not None and told.shows_additions and (relation.is_many or target.orders):
            name = f"{target.entity.name}{'Many' if relation.is_many else ''}OrderBy"
            yield InputValue(relation.name, name, "Order by related records")


def insert_members(told: Told, scope: Scope) -> Iterator[InputValue]:
    """Give the entries of `TInsertInput` for rows that are inserted together with the row."""
    for relation in told.entity.relations.values():
        target = scope.get(relation.target)
        if target is not None and told.shows_additions and target.entity.is_insertable:
            of = f"{target.entity.name}InsertInput"
            given = list_of(required(of)) if relation.is_many else of
            yield InputValue(relation.name, given, "Records to insert with this one")


def groups_field(told: Told) -> Iterator[Field]:
    """Give `groups` of a connection."""
    name = told.entity.name
    if not told.shows_additions or not told.entity.has_aggregate or not told.orders:
        return
    args = (
        InputValue("groupBy", required(list_of(required(f"{name}GroupColumn"))), "Columns with equal values"),
        InputValue("having", f"{name}GroupHaving", "Give only groups whose figures match"),
        InputValue("orderBy", list_of(required(f"{name}GroupOrderBy")), "Order of the groups"),
        InputValue("first", "Int", "Give the first `n` groups"),
        InputValue("offset", "Int", "Leave out `n` groups"),
    )
    description = "The matching records in groups, whatever the page"
    yield Field("groups", required(list_of(required(f"{name}Group"))), description, args)


def addition_types(told: Told, scope: Scope) -> Iterator[Type]:
    """Give the types of an entity that the original has not."""
    if not told.shows_additions:
        return
    name = told.entity.name
    quantifiers = tuple(
        InputValue(one, f"{name}Filter", f"{one.capitalize()} of the related records match")
        for one in ("some", "none", "every")
    )
    yield Type(Kind.INPUT_OBJECT, f"{name}ManyFilter", None, quantifiers)
    yield from _figure_orders(told)
    yield from _conflict_types(told.entity)
    if told.entity.has_aggregate and told.orders:
        yield from _group_types(told)


def _folded(told: Told, operator: str) -> list[Column]:
    return [
        column
        for column, _ in told.columns
        if column.type.enum is None and is_folded(operator, column.type.scalar, column.type.is_list)
    ]


def _figure_orders(told: Told) -> Iterator[Type]:
    """Give `TManyOrderBy`, and the objects of columns in it."""
    name = told.entity.name
    members = [InputValue("count", _DIRECTION)]
    for operator in FOLDED:
        columns = _folded(told, operator)
        if columns:
            of = f"{name}{operator.capitalize()}OrderBy"
            yield Type(
                Kind.INPUT_OBJECT, of, None, tuple(InputValue(one.name, _DIRECTION) for one in columns)
            )
            members.append(InputValue(operator, of))
    yield Type(Kind.INPUT_OBJECT, f"{name}ManyOrderBy", None, tuple(members))


def _conflict_types(entity: Entity) -> Iterator[Type]:
    name = entity.name
    constraints = constraints_of(entity)
    if not constraints:
        return
    members = [InputValue("constraint", required(f"{name}Constraint"), "What may not be there twice")]
    updatable = [
        column for column in entity.columns.values() if column.is_updatable and is_valid(column.name)
    ]
    if updatable:
        members.append(
            InputValue(
                "updateColumns",
                list_of(required(f"{name}UpdateColumn")),
                "Columns of the old record that take the new values; none: it stays as it is",
            )
        )
        members.append(InputValue("filter", f"{name}Filter", "Update only old records that match"))
        columns = tuple(EnumValue(column.name) for column in updatable)
        yield Type(Kind.ENUM, f"{name}UpdateColumn", None, columns)
    yield Type(Kind.ENUM, f"{name}Constraint", None, tuple(EnumValue(each) for each in constraints))
    yield Type(Kind.INPUT_OBJECT, f"{name}OnConflict", None, tuple(members))


def _group_types(told: Told) -> Iterator[Type]:
    name = told.entity.name
    keys = [(column, value_ref(column.type)) for column in told.orders]
    fields = [Field("key", required(f"{name}GroupKey")), Field("count", required("Int"))]
    having = [InputValue("count", "IntFilter")]
    order = [
        InputValue("key", f"{name}GroupKeyOrderBy"),
        InputValue("count", _DIRECTION),
    ]
    for operator in FOLDED:
        columns = _folded(told, operator)
        if columns:
            result, of = f"{name}{operator.capitalize()}AggregateResult", f"{name}{operator.capitalize()}"
            fields.append(Field(operator, result, f"`{operator}` of each column"))
            having.append(InputValue(operator, f"{of}Having"))
            order.append(InputValue(operator, f"{of}OrderBy"))
            filters = tuple(InputValue(one.name, _having_filter(operator, one)) for one in columns)
            yield Type(Kind.INPUT_OBJECT, f"{of}Having", None, filters)
    yield Type(Kind.ENUM, f"{name}GroupColumn", None, tuple(EnumValue(column.name) for column in told.orders))
    yield Type(Kind.OBJECT, f"{name}Group", None, tuple(fields))
    yield Type(
        Kind.OBJECT, f"{name}GroupKey", None, tuple(Field(column.name, of) for column, of in keys if of)
    )
    directions = tuple(InputValue(column.name, _DIRECTION) for column in told.orders)
    yield Type(Kind.INPUT_OBJECT, f"{name}GroupKeyOrderBy", None, directions)
    yield Type(Kind.INPUT_OBJECT, f"{name}GroupHaving", None, tuple(having))
    yield Type(Kind.INPUT_OBJECT, f"{name}GroupOrderBy", None, tuple(order))


def _having_filter(operator: str, column: Column) -> str:
    return "FloatFilter" if operator in NUMBERS else f"{column.type.scalar}Filter"
