"""Fields of the roots, and what they share with fields of rows: arguments of collections, functions, references. Pure.

A field that leads to something kept out of introspection is None.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from workers.graphql.introspection.types import Field, InputValue, TypeRef, list_of, required
from workers.graphql.model import (
    Column,
    Entity,
    Function,
    Name,
    RootField,
    RootKind,
    Schema,
    Shape,
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
class Told:
    """What is told of an entity in many places, made once."""

    entity: Entity
    columns: tuple[tuple[Column, TypeRef], ...]
    """Columns that are fields, with the reference to their values, in table order."""
    orders: tuple[Column, ...]
    """Those by which rows may be ordered."""
    args: tuple[InputValue, ...]
    """Arguments of a connection."""
    shows_additions: bool
    """What the original has not is told of it."""


Scope = dict[Name, Told]
"""The entities that are told."""


def scope_of(schema: Schema, *, is_whole: bool = False) -> Scope:
    """Give the entities that introspection tells of, by their name in the database.

    `is_whole`: everything that documents may speak of, also what introspection would keep back.
    """
    return {
        name: _told(entity, shows_additions=is_whole or entity.shows_additions)
        for name, entity in schema.entities.items()
        if is_whole or entity.is_introspectable
    }


def _told(entity: Entity, *, shows_additions: bool) -> Told:
    columns = tuple(_readable_columns(entity))
    orders = tuple(column for column, _ in columns if column.type.is_orderable)
    args = _collection_args(entity.name, has_order=bool(orders))
    return Told(entity, columns, orders, args, shows_additions)


def value_ref(value_type: ValueType) -> TypeRef | None:
    """Give the reference to the type of values; None where it is an enum that is not told."""
    if value_type.enum is not None and not value_type.enum.is_introspectable:
        return None
    return list_of(value_type.scalar) if value_type.is_list else value_type.scalar


def _readable_columns(entity: Entity) -> Iterator[tuple[Column, TypeRef]]:
    for column in entity.columns.values():
        of = value_ref(column.type)
        if column.is_selectable and of is not None and is_valid(column.name):
            yield column, of


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


def function_field(function: Function, scope: Scope) -> Field | None:
    """Give the field of a function, root or computed."""
    if not function.is_introspectable:
        return None
    args = []
    for argument in function.arguments:
        of = value_ref(argument.type)
        if of is None:
            return None
        told = required(of) if argument.is_required else of
        args.append(InputValue(argument.name, told, None, argument.default))
    if function.shape is Shape.VALUE:
        result = value_ref(function.type) if function.type is not None else None
        return Field(function.name, result, function.description, tuple(args)) if result else None
    target = scope.get(function.target) if function.target is not None else None
    if target is None:
        return None
    name = target.entity.name
    if function.shape is Shape.ROWS:
        return Field(function.name, f"{name}Connection", function.description, (*args, *target.args))
    return Field(function.name, name, function.description, tuple(args))


def root_field(field: RootField, scope: Scope) -> Field | None:
    """Give a field of Query or Mutation."""
    if not is_valid(field.name):
        return None
    if field.function is not None:
        return function_field(field.function, scope)
    if field.kind is RootKind.NODE:
        args = (InputValue("nodeId", required("ID"), "The record's `ID`"),)
        return Field(field.name, "Node", "Retrieve a record by its `ID`", args)
    told = scope.get(field.entity) if field.entity is not None else None
    return None if told is None else _entity_field(field, told)


def _entity_field(field: RootField, told: Told) -> Field | None:
    name = told.entity.name
    match field.kind:
        case RootKind.COLLECTION:
            description = f"A pagable collection of type `{name}`"
            return Field(field.name, required(f"{name}Connection"), description, told.args)
        case RootKind.BY_KEY:
            description = f"Retrieve a record of type `{name}` by its primary key"
            return Field(field.name, name, description, tuple(_key_args(told.entity)))
        case RootKind.INSERT:
            objects = required(list_of(required(f"{name}InsertInput")))
            description = f"Adds one or more `{name}` records to the collection"
            args: tuple[InputValue, ...] = (
                InputValue("objects", objects, "The records to add"),
                *_conflict_argument(told),
            )
            return Field(field.name, f"{name}InsertResponse", description, args)
        case RootKind.UPDATE:
            given = required(f"{name}UpdateInput")
            args = (InputValue("set", given, "What matching records are set to"), *_matching_args(name))
            description = f"Updates zero or more records in the `{name}` collection"
            return Field(field.name, required(f"{name}UpdateResponse"), description, args)
        case RootKind.DELETE:
            description = f"Deletes zero or more records from the `{name}` collection"
            return Field(field.name, required(f"{name}DeleteResponse"), description, _matching_args(name))
        case _:
            return None


def _conflict_argument(told: Told) -> Iterator[InputValue]:
    if told.shows_additions and constraints_of(told.entity):
        description = "What becomes of records that are there already"
        yield InputValue("onConflict", f"{told.entity.name}OnConflict", description)


def constraints_of(entity: Entity) -> list[str]:
    """Give the names of the unique constraints that an enum can hold."""
    return [name for name, _ in entity.unique_keys if is_valid(name)] if entity.is_insertable else []


def _key_args(entity: Entity) -> Iterator[InputValue]:
    for column in entity.key_columns:
        of = value_ref(column.type)
        if of is not None:
            yield InputValue(column.name, required(of), f"The record's `{column.name}` value")


def _matching_args(name: str) -> tuple[InputValue, ...]:
    return (
        InputValue("filter", f"{name}Filter", "Change only records that match"),
        InputValue("atMost", required("Int"), "Change nothing if more records than these match", "1"),
    )
