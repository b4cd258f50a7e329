"""Build fields of the root types, and what fields of rows have in common with them: arguments, functions, references. Pure.

A field whose type introspection hides is None.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from workers.graphql.introspection.types import FieldDefinition, InputValue, TypeRef, list_of, required
from workers.graphql.model import (
    Entity,
    EntityColumn,
    FunctionField,
    Name,
    ResultShape,
    RoleSchema,
    RootField,
    RootKind,
    ValueType,
)
from workers.graphql.reflect.names import is_valid

_PAGING = (
    InputValue("first", "Int", "Give the first `n` records"),
    InputValue("last", "Int", "Give the last `n` records"),
    InputValue("before", "Cursor", "Give records before this cursor"),
    InputValue("after", "Cursor", "Give records after this cursor"),
    InputValue("offset", "Int", "Leave out `n` records after the cursor, or from the beginning"),
)


@dataclass(frozen=True, slots=True)
class EntityDescription:
    """Parts of an entity's description that several types use, built once."""

    entity: Entity
    columns: tuple[tuple[EntityColumn, TypeRef], ...]
    """Columns that are fields, with the references to their types, in table order."""
    orders: tuple[EntityColumn, ...]
    """Columns by which rows may be ordered."""
    args: tuple[InputValue, ...]
    """Arguments of a connection."""
    shows_additions: bool
    """Whether our additions to the original are shown."""


VisibleEntities = dict[Name, EntityDescription]
"""The entities that introspection shows, by their name in the database."""


def visible_entities(schema: RoleSchema) -> VisibleEntities:
    """Return the entities that introspection shows, by their name in the database."""
    return {
        name: _describe_entity(entity) for name, entity in schema.entities.items() if entity.is_introspectable
    }


def _describe_entity(entity: Entity) -> EntityDescription:
    columns = tuple(_readable_columns(entity))
    orders = tuple(column for column, _ in columns if column.type.is_orderable)
    args = _collection_args(entity.name, has_order=bool(orders))
    return EntityDescription(entity, columns, orders, args, entity.shows_additions)


def value_ref(value_type: ValueType) -> TypeRef | None:
    """Return the reference to the type of values; None for an enum that introspection hides."""
    if value_type.enum is not None and not value_type.enum.is_introspectable:
        return None
    return list_of(value_type.scalar) if value_type.is_list else value_type.scalar


def _readable_columns(entity: Entity) -> Iterator[tuple[EntityColumn, TypeRef]]:
    for column in entity.columns.values():
        type_ref = value_ref(column.type)
        if column.is_selectable and type_ref is not None and is_valid(column.name):
            yield column, type_ref


def _collection_args(name: str, *, has_order: bool) -> tuple[InputValue, ...]:
    order = InputValue(
        "orderBy",
        list_of(required(f"{name}OrderBy")),
        "Order of the records; the primary key decides between equal ones",
    )
    return (
        *_PAGING,
        InputValue("filter", f"{name}Filter", "Give only records that match"),
        *((order,) if has_order else ()),
    )


def function_field(function: FunctionField, scope: VisibleEntities) -> FieldDefinition | None:
    """Return the field of a function, root or computed."""
    if not function.is_introspectable:
        return None
    args = []
    for argument in function.arguments:
        argument_type = value_ref(argument.type)
        if argument_type is None:
            return None
        type_ref = required(argument_type) if argument.is_required else argument_type
        args.append(InputValue(argument.name, type_ref, None, argument.default))
    if function.shape is ResultShape.VALUE:
        result = value_ref(function.type) if function.type is not None else None
        return FieldDefinition(function.name, result, function.description, tuple(args)) if result else None
    target = scope.get(function.target) if function.target is not None else None
    if target is None:
        return None
    name = target.entity.name
    if function.shape is ResultShape.ROWS:
        return FieldDefinition(
            function.name, f"{name}Connection", function.description, (*args, *target.args)
        )
    return FieldDefinition(function.name, name, function.description, tuple(args))


def root_field(field: RootField, scope: VisibleEntities) -> FieldDefinition | None:
    """Return a field of Query or Mutation."""
    if not is_valid(field.name):
        return None
    if field.function is not None:
        return function_field(field.function, scope)
    if field.kind is RootKind.NODE:
        args = (InputValue("nodeId", required("ID"), "The record's `ID`"),)
        return FieldDefinition(field.name, "Node", "Retrieve a record by its `ID`", args)
    described = scope.get(field.entity) if field.entity is not None else None
    return None if described is None else _entity_field(field, described)


def _entity_field(field: RootField, described: EntityDescription) -> FieldDefinition | None:
    name = described.entity.name
    match field.kind:
        case RootKind.COLLECTION:
            description = f"A pagable collection of type `{name}`"
            return FieldDefinition(field.name, required(f"{name}Connection"), description, described.args)
        case RootKind.BY_KEY:
            description = f"Retrieve a record of type `{name}` by its primary key"
            return FieldDefinition(field.name, name, description, tuple(_key_args(described.entity)))
        case RootKind.INSERT:
            objects = required(list_of(required(f"{name}InsertInput")))
            description = f"Adds one or more `{name}` records to the collection"
            args: tuple[InputValue, ...] = (
                InputValue("objects", objects, "The records to add"),
                *_conflict_argument(described),
            )
            return FieldDefinition(field.name, f"{name}InsertResponse", description, args)
        case RootKind.UPDATE:
            input_type = required(f"{name}UpdateInput")
            args = (InputValue("set", input_type, "What matching records are set to"), *_matching_args(name))
            description = f"Updates zero or more records in the `{name}` collection"
            return FieldDefinition(field.name, required(f"{name}UpdateResponse"), description, args)
        case RootKind.DELETE:
            description = f"Deletes zero or more records from the `{name}` collection"
            return FieldDefinition(
                field.name, required(f"{name}DeleteResponse"), description, _matching_args(name)
            )
        case _:
            return None


def _conflict_argument(described: EntityDescription) -> Iterator[InputValue]:
    if described.shows_additions and constraints_of(described.entity):
        description = "What becomes of records that are there already"
        yield InputValue("onConflict", f"{described.entity.name}OnConflict", description)


def constraints_of(entity: Entity) -> list[str]:
    """Return the unique constraints with names that are valid enum values; empty if the role may not insert."""
    return [name for name, _ in entity.unique_keys if is_valid(name)] if entity.is_insertable else []


def _key_args(entity: Entity) -> Iterator[InputValue]:
    for column in entity.key_columns:
        type_ref = value_ref(column.type)
        if type_ref is not None:
            yield InputValue(column.name, required(type_ref), f"The record's `{column.name}` value")


def _matching_args(name: str) -> tuple[InputValue, ...]:
    return (
        InputValue("filter", f"{name}Filter", "Change only records that match"),
        InputValue("atMost", required("Int"), "Change nothing if more records than these match", "1"),
    )
