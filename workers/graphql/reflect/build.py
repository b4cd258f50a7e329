"""Build the schema of a role from the snapshot of the catalogs. Pure: no role needs another round trip.

Steps: privileges -> schemas that the role may use -> enums -> value types -> entities -> relations and functions -> roots.
"""

from dataclasses import replace

from workers.graphql.model import Entity, EnumType, Name, RoleSchema
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import (
    SchemaDirective,
    read_constraint,
    read_enum,
    read_name,
    read_schema,
    read_table,
)
from workers.graphql.reflect.entities import ReflectedEntity, RoleView, find_entities
from workers.graphql.reflect.functions import find_computed_fields, find_root_functions
from workers.graphql.reflect.privileges import RolePrivileges
from workers.graphql.reflect.relations import find_relations
from workers.graphql.reflect.roots import mutation_fields, query_fields
from workers.graphql.reflect.rows import CatalogSnapshot, ReflectedType
from workers.graphql.reflect.values import ValueTypes


def check_directives(snapshot: CatalogSnapshot) -> None:
    """Read all comment directives, whichever role may see their objects. Raises: SchemaError for the first invalid one."""
    for schema in snapshot.schemas:
        read_schema(schema.comment)
    for relation in snapshot.relations:
        read_table(relation.comment)
        for column in snapshot.columns.get(relation.oid, ()):
            read_name(column.comment)
    for key in snapshot.foreign_keys:
        read_constraint(key.comment)
    exposed = {schema.name for schema in snapshot.schemas}
    for row in snapshot.types.values():
        if row.kind == "e" and row.schema in exposed:
            read_enum(row.comment)
    for function in snapshot.functions:
        read_name(function.comment)


def build(
    snapshot: CatalogSnapshot, role: str, version: int, *, introspection: bool = True, additions: bool = False
) -> RoleSchema:
    """Build the schema of a role. `introspection` and `additions` apply to schemas whose comment does not set them.

    Raises: SchemaError if any comment directive is invalid, whether or not the role sees its object.
    """
    check_directives(snapshot)
    rights = RolePrivileges(snapshot.roles, role)
    schemas = {row.name: read_schema(row.comment) for row in snapshot.schemas if rights.may_enter(row.acl)}
    enums = _build_enums(snapshot, rights, schemas, introspection)
    view = RoleView(
        snapshot, rights, schemas, ValueTypes(snapshot.types, enums, rights), introspection, additions
    )
    entities_by_oid = find_entities(view)
    entities = _with_relations(view, entities_by_oid)
    functions = find_root_functions(view, entities_by_oid)
    return RoleSchema(
        role=role,
        version=version,
        entities=entities,
        query=query_fields(entities.values(), functions),
        mutation=mutation_fields(entities.values(), functions),
        enums={enum.name: enum for enum in enums.values()},
        has_introspection=any(map(view.is_introspectable, schemas)) if schemas else introspection,
    )


def _with_relations(view: RoleView, entities_by_oid: dict[int, ReflectedEntity]) -> dict[Name, Entity]:
    """Return the entities with their relations and computed fields."""
    keyed = {oid: reflected for oid, reflected in entities_by_oid.items() if reflected.entity.primary_key}
    relations = find_relations(view, keyed)
    functions = find_computed_fields(view, entities_by_oid)
    return {
        reflected.entity.sql: replace(
            reflected.entity, relations=relations.get(oid, {}), functions=functions.get(oid, {})
        )
        for oid, reflected in entities_by_oid.items()
    }


def _build_enums(
    snapshot: CatalogSnapshot,
    rights: RolePrivileges,
    schemas: dict[str, SchemaDirective],
    introspection: bool,
) -> dict[int, EnumType]:
    """Return the enums that the role may use, by oid of the type. Of several with one name, the first on the search path."""
    rank = {name: index for index, name in enumerate(schemas)}
    rows = [row for row in snapshot.types.values() if row.kind == "e" and row.schema in rank]
    enums: dict[int, EnumType] = {}
    names_in_use: set[str] = set()
    for row in sorted(rows, key=lambda row: (rank[row.schema], row.name)):
        enum = _build_enum(row, schemas[row.schema], introspection)
        if rights.may_use(row.acl) and names.is_valid(enum.name) and enum.name not in names_in_use:
            names_in_use.add(enum.name)
            enums[row.oid] = enum
    return enums


def _build_enum(row: ReflectedType, schema: SchemaDirective, introspection: bool) -> EnumType:
    directive = read_enum(row.comment)
    mappings = dict(directive.mappings)
    return EnumType(
        name=directive.name or names.type_name(row.name, inflect=schema.inflect_names),
        sql=(row.schema, row.name),
        labels={mappings.get(label, label): label for label in row.labels or ()},
        is_introspectable=introspection if schema.introspection is None else schema.introspection,
    )
