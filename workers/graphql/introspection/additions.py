"""Types and members that we add to the original's schema. Introspection shows them if the database schema enables it. Pure.

They are off by default because clients compare introspection with the original's. The features themselves work whether
introspection shows them or not. Source: docs/graphql.md, "Additions".
"""

from collections.abc import Iterator

from workers.graphql.introspection.fields import EntityDescription, VisibleEntities, constraints_of, value_ref
from workers.graphql.introspection.types import (
    EnumValue,
    FieldDefinition,
    InputValue,
    TypeDefinition,
    TypeKind,
    list_of,
    required,
)
from workers.graphql.model import Entity, EntityColumn
from workers.graphql.plan.aggregate_functions import COLUMN_AGGREGATES, NUMERIC_RESULTS, takes_column
from workers.graphql.reflect.names import is_valid

_DIRECTION = "OrderByDirection"


def filter_members(described: EntityDescription, scope: VisibleEntities) -> Iterator[InputValue]:
    """Yield the entries of `TFilter` for related rows."""
    for relation in described.entity.relations.values():
        target = scope.get(relation.target)
        if target is not None and described.shows_additions:
            name = f"{target.entity.name}{'Many' if relation.is_many else ''}Filter"
            yield InputValue(relation.name, name, "Give only records whose related records match")


def order_members(described: EntityDescription, scope: VisibleEntities) -> Iterator[InputValue]:
    """Yield the entries of `TOrderBy` for related rows."""
    for relation in described.entity.relations.values():
        target = scope.get(relation.target)
        if target is not None and described.shows_additions and (relation.is_many or target.orders):
            name = f"{target.entity.name}{'Many' if relation.is_many else ''}OrderBy"
            yield InputValue(relation.name, name, "Order by related records")


def insert_members(described: EntityDescription, scope: VisibleEntities) -> Iterator[InputValue]:
    """Yield the entries of `TInsertInput` for related rows that are inserted together with the row."""
    for relation in described.entity.relations.values():
        target = scope.get(relation.target)
        if target is not None and described.shows_additions and target.entity.is_insertable:
            input_name = f"{target.entity.name}InsertInput"
            type_ref = list_of(required(input_name)) if relation.is_many else input_name
            yield InputValue(relation.name, type_ref, "Records to insert with this one")


def groups_field(described: EntityDescription) -> Iterator[FieldDefinition]:
    """Yield the field `groups` of a connection, if the entity has it."""
    name = described.entity.name
    if not described.shows_additions or not described.entity.has_aggregate or not described.orders:
        return
    args = (
        InputValue("groupBy", required(list_of(required(f"{name}GroupColumn"))), "Columns with equal values"),
        InputValue("having", f"{name}GroupHaving", "Give only groups whose figures match"),
        InputValue("orderBy", list_of(required(f"{name}GroupOrderBy")), "Order of the groups"),
        InputValue("first", "Int", "Give the first `n` groups"),
        InputValue("offset", "Int", "Leave out `n` groups"),
    )
    description = "The matching records in groups, whatever the page"
    yield FieldDefinition("groups", required(list_of(required(f"{name}Group"))), description, args)


def addition_types(described: EntityDescription, scope: VisibleEntities) -> Iterator[TypeDefinition]:
    """Yield the types that we add for an entity."""
    if not described.shows_additions:
        return
    name = described.entity.name
    quantifiers = tuple(
        InputValue(quantifier, f"{name}Filter", f"{quantifier.capitalize()} of the related records match")
        for quantifier in ("some", "none", "every")
    )
    yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}ManyFilter", None, quantifiers)
    yield from _figure_orders(described)
    yield from _conflict_types(described.entity)
    if described.entity.has_aggregate and described.orders:
        yield from _group_types(described)


def _aggregate_columns(described: EntityDescription, operator: str) -> list[EntityColumn]:
    return [
        column
        for column, _ in described.columns
        if column.type.enum is None and takes_column(operator, column.type.scalar, column.type.is_list)
    ]


def _figure_orders(described: EntityDescription) -> Iterator[TypeDefinition]:
    """Yield `TManyOrderBy`, and the input objects of columns in it."""
    name = described.entity.name
    members = [InputValue("count", _DIRECTION)]
    for operator in COLUMN_AGGREGATES:
        columns = _aggregate_columns(described, operator)
        if columns:
            type_name = f"{name}{operator.capitalize()}OrderBy"
            yield TypeDefinition(
                TypeKind.INPUT_OBJECT,
                type_name,
                None,
                tuple(InputValue(column.name, _DIRECTION) for column in columns),
            )
            members.append(InputValue(operator, type_name))
    yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}ManyOrderBy", None, tuple(members))


def _conflict_types(entity: Entity) -> Iterator[TypeDefinition]:
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
        yield TypeDefinition(TypeKind.ENUM, f"{name}UpdateColumn", None, columns)
    yield TypeDefinition(
        TypeKind.ENUM, f"{name}Constraint", None, tuple(EnumValue(constraint) for constraint in constraints)
    )
    yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}OnConflict", None, tuple(members))


def _group_types(described: EntityDescription) -> Iterator[TypeDefinition]:
    name = described.entity.name
    keys = [(column, value_ref(column.type)) for column in described.orders]
    fields = [FieldDefinition("key", required(f"{name}GroupKey")), FieldDefinition("count", required("Int"))]
    having = [InputValue("count", "IntFilter")]
    order = [
        InputValue("key", f"{name}GroupKeyOrderBy"),
        InputValue("count", _DIRECTION),
    ]
    for operator in COLUMN_AGGREGATES:
        columns = _aggregate_columns(described, operator)
        if columns:
            result, prefix = f"{name}{operator.capitalize()}AggregateResult", f"{name}{operator.capitalize()}"
            fields.append(FieldDefinition(operator, result, f"`{operator}` of each column"))
            having.append(InputValue(operator, f"{prefix}Having"))
            order.append(InputValue(operator, f"{prefix}OrderBy"))
            filters = tuple(InputValue(column.name, _having_filter(operator, column)) for column in columns)
            yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{prefix}Having", None, filters)
    yield TypeDefinition(
        TypeKind.ENUM,
        f"{name}GroupColumn",
        None,
        tuple(EnumValue(column.name) for column in described.orders),
    )
    yield TypeDefinition(TypeKind.OBJECT, f"{name}Group", None, tuple(fields))
    yield TypeDefinition(
        TypeKind.OBJECT,
        f"{name}GroupKey",
        None,
        tuple(FieldDefinition(column.name, prefix) for column, prefix in keys if prefix),
    )
    directions = tuple(InputValue(column.name, _DIRECTION) for column in described.orders)
    yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}GroupKeyOrderBy", None, directions)
    yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}GroupHaving", None, tuple(having))
    yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}GroupOrderBy", None, tuple(order))


def _having_filter(operator: str, column: EntityColumn) -> str:
    return "FloatFilter" if operator in NUMERIC_RESULTS else f"{column.type.scalar}Filter"
