"""From a role's schema to the types that introspection tells of. Pure.

What a schema of the database keeps out of introspection is left out, and every field that leads there. Fields of the
roots are sorted by name; those of a row stand in table order, then relations, then functions.
Source: reference page "graphql", sections 4, 7-15; the sentences of descriptions are pinned by conformance where it does.
"""

from collections.abc import Iterator

from workers.graphql.introspection.entity_types import entity_types
from workers.graphql.introspection.fields import Scope, root_field, scope_of
from workers.graphql.introspection.types import Described, EnumValue, Field, Kind, Type, required
from workers.graphql.introspection.vocabulary import (
    DIRECTIVES,
    SCHEMA_DESCRIPTION,
    enum_filter,
    fixed_types,
)
from workers.graphql.model import RootField, Schema
from workers.graphql.reflect.names import is_valid


def describe(schema: Schema, *, is_whole: bool = False) -> Described:
    """Give all types of a schema. Of several with one name, the first of: roots and fixed types, enums, tables.

    `is_whole`: everything that documents may speak of, also what introspection would keep back.
    """
    types: dict[str, Type] = {}
    scope = scope_of(schema, is_whole=is_whole)
    query = _root("Query", "The root type for querying data", schema.query, scope)
    mutation = _root("Mutation", "The root type for creating and mutating data", schema.mutation, scope)
    for each in (query, *([mutation] if mutation.members else []), *fixed_types(), _node(scope)):
        types.setdefault(each.name, each)
    for each in (*_enum_types(schema), *_row_types(scope)):
        types.setdefault(each.name, each)
    return Described(
        types=dict(sorted(types.items())),
        query="Query",
        mutation="Mutation" if mutation.members else None,
        directives=DIRECTIVES,
        description=SCHEMA_DESCRIPTION,
        size=sum(_size(each) for each in types.values()),
    )


def _size(told: Type) -> int:
    return 1 + sum(1 + len(member.args) if isinstance(member, Field) else 1 for member in told.members)


def _root(name: str, description: str, fields: dict[str, RootField], scope: Scope) -> Type:
    told = (root_field(field, scope) for _, field in sorted(fields.items()))
    return Type(Kind.OBJECT, name, description, tuple(field for field in told if field is not None))


def _node(scope: Scope) -> Type:
    entities = sorted(told.entity.name for told in scope.values() if told.entity.has_node_id)
    field = Field("nodeId", required("ID"), "Retrieves a record by `ID`")
    return Type(Kind.INTERFACE, "Node", None, (field,), possible=tuple(entities))


def _enum_types(schema: Schema) -> Iterator[Type]:
    for enum in schema.enums.values():
        if enum.is_introspectable:
            values = tuple(EnumValue(label) for label in enum.labels if is_valid(label))
            yield Type(Kind.ENUM, enum.name, enum.description, values)
            yield enum_filter(enum.name)


def _row_types(scope: Scope) -> Iterator[Type]:
    for told in scope.values():
        yield from entity_types(told, scope)
