"""Build the types that introspection shows from a role's schema. Pure.

Objects of a database schema that disables introspection are left out, and so are all fields with their types. Fields of
the root types are sorted by name. The fields of a row are its columns in table order, then relations, then functions.
Source: docs/reference/graphql.md, sections 4, 7-15. Conformance cases compare some of the descriptions.
"""

from collections.abc import Iterator

from workers.graphql.introspection.entity_types import entity_types
from workers.graphql.introspection.fields import VisibleEntities, root_field, visible_entities
from workers.graphql.introspection.fixed_types import (
    DIRECTIVES,
    SCHEMA_DESCRIPTION,
    enum_filter,
    fixed_types,
)
from workers.graphql.introspection.types import (
    EnumValue,
    FieldDefinition,
    TypeDefinition,
    TypeKind,
    TypeSystem,
    required,
)
from workers.graphql.model import RoleSchema, RootField
from workers.graphql.reflect.names import is_valid


def describe(schema: RoleSchema) -> TypeSystem:
    """Return all types of a schema. Of several with one name, the first of: roots and fixed types, enums, tables."""
    types: dict[str, TypeDefinition] = {}
    scope = visible_entities(schema)
    query = _root("Query", "The root type for querying data", schema.query, scope)
    mutation = _root("Mutation", "The root type for creating and mutating data", schema.mutation, scope)
    for type_ in (query, *([mutation] if mutation.members else []), *fixed_types(), _node(scope)):
        types.setdefault(type_.name, type_)
    for type_ in (*_enum_types(schema), *_row_types(scope)):
        types.setdefault(type_.name, type_)
    return TypeSystem(
        types=dict(sorted(types.items())),
        query="Query",
        mutation="Mutation" if mutation.members else None,
        directives=DIRECTIVES,
        description=SCHEMA_DESCRIPTION,
        size=sum(_size(type_) for type_ in types.values()),
    )


def _size(type_: TypeDefinition) -> int:
    return 1 + sum(
        1 + len(member.args) if isinstance(member, FieldDefinition) else 1 for member in type_.members
    )


def _root(
    name: str, description: str, fields: dict[str, RootField], scope: VisibleEntities
) -> TypeDefinition:
    visible_fields = (root_field(field, scope) for _, field in sorted(fields.items()))
    return TypeDefinition(
        TypeKind.OBJECT, name, description, tuple(field for field in visible_fields if field is not None)
    )


def _node(scope: VisibleEntities) -> TypeDefinition:
    entities = sorted(described.entity.name for described in scope.values() if described.entity.has_node_id)
    field = FieldDefinition("nodeId", required("ID"), "Retrieves a record by `ID`")
    return TypeDefinition(TypeKind.INTERFACE, "Node", None, (field,), possible=tuple(entities))


def _enum_types(schema: RoleSchema) -> Iterator[TypeDefinition]:
    for enum in schema.enums.values():
        if enum.is_introspectable:
            values = tuple(EnumValue(label) for label in enum.labels if is_valid(label))
            yield TypeDefinition(TypeKind.ENUM, enum.name, enum.description, values)
            yield enum_filter(enum.name)


def _row_types(scope: VisibleEntities) -> Iterator[TypeDefinition]:
    for described in scope.values():
        yield from entity_types(described, scope)
