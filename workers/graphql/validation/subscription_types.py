"""Describe the types of subscriptions, which introspection does not show: the root type, and the changes of each table. Pure.

Source: docs/graphql-subscriptions.md.
"""

from collections.abc import Collection, Iterator

import msgspec

from workers.graphql.introspection.fields import value_ref
from workers.graphql.introspection.types import (
    EnumValue,
    FieldDefinition,
    InputValue,
    TypeDefinition,
    TypeKind,
    TypeSystem,
    list_of,
    required,
)
from workers.graphql.model import Entity, RoleSchema
from workers.graphql.reflect.change_fields import EVENTS, change_entities


def with_subscriptions(described: TypeSystem, schema: RoleSchema) -> TypeSystem:
    """Return the types of a role with those of its subscriptions. A type of the role takes precedence over one of these."""
    events, root = (_free_name(name, described.types) for name in ("ChangeEvent", "Subscription"))
    added = [TypeDefinition(TypeKind.ENUM, events, None, tuple(EnumValue(event) for event in EVENTS))]
    fields: dict[str, FieldDefinition] = {}
    for name, entity in change_entities(schema):
        if entity.name in described.types:
            change, old = _change_types(entity, described.types)
            added += (change, old)
            fields[name] = FieldDefinition(name, change.name, None, tuple(_arguments(entity, events)))
    # A subscription to a field of Query is a live query.
    fields |= {field.name: field for field in _members(described, described.query)}
    added.append(TypeDefinition(TypeKind.OBJECT, root, None, tuple(fields.values())))
    types = described.types | {definition.name: definition for definition in added}
    return msgspec.structs.replace(described, types=types, subscription=root)


def _arguments(entity: Entity, events: str) -> Iterator[InputValue]:
    yield InputValue("event", list_of(required(events)))
    yield InputValue("filter", f"{entity.name}Filter")
    yield InputValue("since", "String")


def _change_types(entity: Entity, taken: Collection[str]) -> tuple[TypeDefinition, TypeDefinition]:
    """Return the types of a change, and of the row before it."""
    columns = ((name, column) for name, column in entity.columns.items() if column.is_selectable)
    members = tuple(FieldDefinition(name, value_ref(column.type) or "String") for name, column in columns)
    old = TypeDefinition(TypeKind.OBJECT, _free_name(f"{entity.name}Old", taken), None, members)
    fields = (
        FieldDefinition("event", required("String")),
        FieldDefinition("commitTimestamp", "String"),
        FieldDefinition("position", "String"),
        FieldDefinition("node", entity.name),
        FieldDefinition("old", old.name),
    )
    return TypeDefinition(TypeKind.OBJECT, _free_name(f"{entity.name}Change", taken), None, fields), old


def _members(described: TypeSystem, name: str) -> Iterator[FieldDefinition]:
    for member in described.types[name].members:
        if isinstance(member, FieldDefinition):
            yield member


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a name for a type; with underscores behind it if a type of the role has it."""
    while name in taken:
        name += "_"
    return name
