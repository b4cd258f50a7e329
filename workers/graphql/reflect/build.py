"""Make the schema of a role out of the snapshot of the catalogs. Pure, and no further reading: a role costs no round trip.

Steps: rights -> schemas the role may enter -> enums -> types of values -> entities -> relations and functions -> roots.
"""

from dataclasses import replace

from workers.graphql.model import Entity, Enum, Name, Schema
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import (
    SchemaDirective,
    read_constraint,
    read_enum,
    read_name,
    read_schema,
    read_table,
)
from workers.graphql.reflect.entities import Found, View, find_entities
from workers.graphql.reflect.functions import find_computed_fields, find_root_functions
from workers.graphql.reflect.privileges import Rights
from workers.graphql.reflect.relations import find_relations
from workers.graphql.reflect.roots import mutation_fields, query_fields
from workers.graphql.reflect.rows import Snapshot, TypeRow
from workers.graphql.reflect.values import Values


def check_directives(snapshot: Snapshot) -> None:
    """Read all comment directives, whoever may see what they stand on. Raises: SchemaError for the first wrong one."""
    for space in snapshot.schemas:
        read_schema(space.comment)
    for relation in snapshot.relations:
        read_table(relation.comment)
        for column in snapshot.columns.get(relation.oid, ()):
            read_name(column.comment)
    for key in snapshot.foreign_keys:
        read_constraint(key.comment)
    exposed = {space.name for space in snapshot.schemas}
    for row in snapshot.types.values():
        if row.kind == "e" and row.schema in exposed:
            read_enum(row.comment)
    for function in snapshot.functions:
        read_name(function.comment)


def build(
    snapshot: Snapshot, role: str, version: int, *, introspection: bool = True, additions: bool = False
) -> Schema:
    """Make the schema of a role. `introspection`, `additions` hold for schemas whose comment says nothing of them.

    Raises: SchemaError when a comment directive is wrong, whether or not the role sees what it stands on.
    """
    check_directives(snapshot)
    rights = Rights(snapshot.roles, role)
    spaces = {row.name: read_schema(row.comment) for row in snapshot.schemas if rights.may_enter(row.acl)}
    enums = _enums(snapshot, rights, spaces, introspection)
    view = View(snapshot, rights, spaces, Values(snapshot.types, enums, rights), introspection, additions)
    found = find_entities(view)
    entities = _completed(view, found)
    functions = find_root_functions(view, found)
    return Schema(
        role=role,
        version=version,
        entities=entities,
        query=query_fields(entities.values(), functions),
        mutation=mutation_fields(entities.values(), functions),
        enums={enum.name: enum for enum in enums.values()},
        has_introspection=any(map(view.is_introspectable, spaces)) if spaces else introspection,
    )


def _completed(view: View, found: dict[int, Found]) -> dict[Name, Entity]:
    """Give the entities with their relations and computed fields."""
    relations = find_relations(view, found)
    functions = find_computed_fields(view, found)
    return {
        each.entity.sql: replace(
            each.entity, relations=relations.get(oid, {}), functions=functions.get(oid, {})
        )
        for oid, each in found.items()
    }


def _enums(
    snapshot: Snapshot, rights: Rights, spaces: dict[str, SchemaDirective], introspection: bool
) -> dict[int, Enum]:
    """Give the enums that the role may use, by the oid of their type; of several with one name the first on the path."""
    rank = {name: place for place, name in enumerate(spaces)}
    rows = [row for row in snapshot.types.values() if row.kind == "e" and row.schema in rank]
    found: dict[int, Enum] = {}
    taken: set[str] = set()
    for row in sorted(rows, key=lambda row: (rank[row.schema], row.name)):
        enum = _enum(row, spaces[row.schema], introspection)
        if rights.may_use(row.acl) and names.is_valid(enum.name) and enum.name not in taken:
            taken.add(enum.name)
            found[row.oid] = enum
    return found


def _enum(row: TypeRow, space: SchemaDirective, introspection: bool) -> Enum:
    directive = read_enum(row.comment)
    mappings = dict(directive.mappings)
    return Enum(
        name=directive.name or names.type_name(row.name, inflect=space.inflect_names),
        sql=(row.schema, row.name),
        labels={mappings.get(label, label): label for label in row.labels or ()},
        is_introspectable=introspection if space.introspection is None else space.introspection,
    )
