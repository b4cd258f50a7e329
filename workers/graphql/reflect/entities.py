"""Build entities: the tables and views that a role sees, with their columns. Pure. Source: docs/reference/graphql.md, sections 3, 5 and 7."""

from dataclasses import dataclass
from typing import NamedTuple

from workers.graphql.model import Entity, EntityColumn
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import (
    SchemaDirective,
    TableDirective,
    read_name,
    read_table,
)
from workers.graphql.reflect.privileges import DELETE, INSERT, SELECT, UPDATE, RolePrivileges
from workers.graphql.reflect.rows import CatalogSnapshot, ReflectedColumn, ReflectedKey, ReflectedRelation
from workers.graphql.reflect.values import ValueTypes

_INSERTABLE, _UPDATABLE, _DELETABLE = 8, 4, 16
_KEYLESS_KINDS = "vmf"
"""Kinds whose primary key a directive may name."""


@dataclass(frozen=True, slots=True)
class RoleView:
    """The snapshot as a role sees it: its privileges, the schemas that it may use, and the value types."""

    snapshot: CatalogSnapshot
    rights: RolePrivileges
    schemas: dict[str, SchemaDirective]
    """By schema, in the order of the search path."""
    values: ValueTypes
    introspection: bool
    """Default for schemas that do not set `introspection`."""
    additions: bool = False
    """Default for schemas that do not set `additions`."""

    def inflects(self, schema: str) -> bool:
        """Return whether names of a schema are inflected."""
        return self.schemas[schema].inflect_names

    def is_introspectable(self, schema: str) -> bool:
        """Return whether introspection shows the objects of a schema."""
        setting = self.schemas[schema].introspection
        return self.introspection if setting is None else setting

    def shows_additions(self, schema: str) -> bool:
        """Return whether introspection shows our additions to the original for the tables of a schema."""
        setting = self.schemas[schema].additions
        return self.additions if setting is None else setting


class ReflectedEntity(NamedTuple):
    """An entity and the catalog row that it was built from."""

    row: ReflectedRelation
    entity: Entity

    def is_selectable(self, sql: str) -> bool:
        """Return whether the role may select a column, by its name in the database."""
        return any(column.sql == sql and column.is_selectable for column in self.entity.columns.values())


def find_entities(view: RoleView) -> dict[int, ReflectedEntity]:
    """Return the entities by oid of their relation. Of several with one name, the first on the search path.

    Views without a primary key that functions return come last: their rows are reached through these functions only.
    """
    entities: dict[int, ReflectedEntity] = {}
    names_in_use: set[str] = set()
    returned = {view.values.row_of(function.result) for function in view.snapshot.functions}
    for has_key in (True, False):
        for row in view.snapshot.relations:
            if row.schema not in view.schemas or not (has_key or row.oid in returned):
                continue
            entity = _build_entity(row, view)
            if entity is None or bool(entity.primary_key) is not has_key:
                continue
            if entity.name not in names_in_use:
                names_in_use.add(entity.name)
                entities[row.oid] = ReflectedEntity(row, entity)
    return entities


def _build_entity(row: ReflectedRelation, view: RoleView) -> Entity | None:
    """Return the entity of a relation; None without a valid name or a column that the role may select.

    A table must have a primary key. A view without a primary key cannot be written and gets neither a collection nor a node id.
    """
    directive = read_table(row.comment)
    inflect = view.inflects(row.schema)
    name = directive.name or names.type_name(row.name, inflect=inflect)
    keys = view.snapshot.keys.get(row.oid, ())
    primary_key = _primary_key(row, keys, directive, view.snapshot)
    if not names.is_valid(name) or not (primary_key or row.kind in _KEYLESS_KINDS):
        return None
    columns = _build_columns(row, frozenset(primary_key), inflect, view)
    if not any(column.is_selectable for column in columns.values()):
        return None
    key_columns = [
        column for column in columns.values() if column.sql in primary_key and column.is_selectable
    ]
    has_key = bool(primary_key) and len(key_columns) == len(primary_key)
    privileges = view.rights.on_relation(row.acl) if primary_key else frozenset[str]()
    schema = view.schemas[row.schema]
    return Entity(
        name=name,
        sql=(row.schema, row.name),
        kind=row.kind,
        columns=columns,
        primary_key=primary_key,
        max_rows=schema.max_rows if directive.max_rows is None else directive.max_rows,
        has_total_count=directive.has_total_count,
        has_aggregate=directive.has_aggregate,
        is_insertable=bool(primary_key) and any(column.is_insertable for column in columns.values()),
        is_updatable=bool(primary_key) and any(column.is_updatable for column in columns.values()),
        is_deletable=DELETE in privileges and bool(row.writes & _DELETABLE),
        has_key_lookup=has_key and _is_key_lookup(row, key_columns, view),
        has_node_id=has_key,
        row_security=row.row_security,
        unique_keys=_unique_keys(row, keys, view.snapshot),
        description=directive.description,
        is_introspectable=view.is_introspectable(row.schema)
        and (bool(primary_key) or view.shows_additions(row.schema)),
        shows_additions=view.shows_additions(row.schema),
    )


def _primary_key(
    row: ReflectedRelation,
    keys: tuple[ReflectedKey, ...],
    directive: TableDirective,
    snapshot: CatalogSnapshot,
) -> tuple[str, ...]:
    """Return the columns of the primary key; without one, those of the directive, if they exist."""
    for key in keys:
        if key.kind == "p":
            return snapshot.column_names(row.oid, key.columns) or ()
    named = directive.primary_key_columns if row.kind in _KEYLESS_KINDS else ()
    existing = {column.name for column in snapshot.columns.get(row.oid, ())}
    return named if existing.issuperset(named) else ()


def _build_columns(
    relation: ReflectedRelation, key: frozenset[str], inflect: bool, view: RoleView
) -> dict[str, EntityColumn]:
    columns: dict[str, EntityColumn] = {}
    privileges = view.rights.on_relation(relation.acl)
    for row in view.snapshot.columns.get(relation.oid, ()):
        column_privileges = privileges | view.rights.granted(row.acl) if row.acl else privileges
        column = _build_column(relation, row, column_privileges, inflect, view)
        if column is not None and (names.is_valid(column.name) or row.name in key):
            columns[column.name] = column
    return columns


def _build_column(
    relation: ReflectedRelation,
    row: ReflectedColumn,
    privileges: frozenset[str],
    inflect: bool,
    view: RoleView,
) -> EntityColumn | None:
    """Return a column; None if the role lacks all privileges on it, or its type is not supported."""
    value_type = view.values.find(row.type, row.modifier)
    if value_type is None:
        return None
    directive = read_name(row.comment)
    is_selectable = SELECT in privileges
    is_insertable = row.is_writable and INSERT in privileges and bool(relation.writes & _INSERTABLE)
    is_updatable = row.is_writable and UPDATE in privileges and bool(relation.writes & _UPDATABLE)
    if not (is_selectable or is_insertable or is_updatable):
        return None
    return EntityColumn(
        name=directive.name or names.field_name(row.name, inflect=inflect),
        sql=row.name,
        type=value_type,
        is_nullable=not row.is_not_null,
        is_selectable=is_selectable,
        is_insertable=is_insertable,
        is_updatable=is_updatable,
        description=directive.description,
    )


def _is_key_lookup(relation: ReflectedRelation, key: list[EntityColumn], view: RoleView) -> bool:
    types = {column.name: column.type for column in view.snapshot.columns.get(relation.oid, ())}
    return all(names.is_valid(column.name) and view.values.is_key(types[column.sql]) for column in key)


def _unique_keys(
    relation: ReflectedRelation, keys: tuple[ReflectedKey, ...], snapshot: CatalogSnapshot
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return unique constraints with their columns: the primary key first, then by name."""
    constraints = sorted((key for key in keys if key.kind in "pu"), key=lambda key: (key.kind, key.name))
    named = ((key.name, snapshot.column_names(relation.oid, key.columns)) for key in constraints)
    return tuple((name, columns) for name, columns in named if columns is not None)
