"""Tables and views that a role sees, with their columns. Pure. Source: reference page "graphql", sections 3, 5 and 7."""

from dataclasses import dataclass
from typing import NamedTuple

from workers.graphql.model import Column, Entity
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import (
    SchemaDirective,
    TableDirective,
    read_name,
    read_table,
)
from workers.graphql.reflect.privileges import DELETE, INSERT, SELECT, UPDATE, Rights
from workers.graphql.reflect.rows import ColumnRow, KeyRow, RelationRow, Snapshot
from workers.graphql.reflect.values import Values

_INSERTABLE, _UPDATABLE, _DELETABLE = 8, 4, 16
_KEYLESS_KINDS = "vmf"
"""Kinds whose primary key a directive may name."""


@dataclass(frozen=True, slots=True)
class View:
    """What a role brings to the snapshot: its rights, the schemas it may enter, and the types of values it sees."""

    snapshot: Snapshot
    rights: Rights
    spaces: dict[str, SchemaDirective]
    """By schema, in the order of the search path."""
    values: Values
    introspection: bool
    """Whether schemas that say nothing of introspection show themselves."""
    additions: bool = False
    """Whether introspection tells of additions in schemas that say nothing of them."""

    def inflects(self, schema: str) -> bool:
        """Tell whether names of a schema are inflected."""
        return self.spaces[schema].inflect_names

    def is_introspectable(self, schema: str) -> bool:
        """Tell whether what lies in a schema is told by introspection."""
        said = self.spaces[schema].introspection
        return self.introspection if said is None else said

    def shows_additions(self, schema: str) -> bool:
        """Tell whether introspection tells of what the original has not, for tables of a schema."""
        said = self.spaces[schema].additions
        return self.additions if said is None else said


class Found(NamedTuple):
    """An entity and the row it was made of."""

    row: RelationRow
    entity: Entity

    def is_selectable(self, sql: str) -> bool:
        """Tell whether the role may select a column, by its name in the database."""
        return any(column.sql == sql and column.is_selectable for column in self.entity.columns.values())


def find_entities(view: View) -> dict[int, Found]:
    """Give the entities by the oid of their relation; of several with one name the first on the search path."""
    found: dict[int, Found] = {}
    taken: set[str] = set()
    for row in view.snapshot.relations:
        if row.schema in view.spaces:
            entity = _entity(row, view)
            if entity is not None and entity.name not in taken:
                taken.add(entity.name)
                found[row.oid] = Found(row, entity)
    return found


def _entity(row: RelationRow, view: View) -> Entity | None:
    """Make an entity; None where it has no key, no name, or no column to select."""
    directive = read_table(row.comment)
    inflect = view.inflects(row.schema)
    name = directive.name or names.type_name(row.name, inflect=inflect)
    keys = view.snapshot.keys.get(row.oid, ())
    primary_key = _primary_key(row, keys, directive, view.snapshot)
    if not primary_key or not names.is_valid(name):
        return None
    columns = _columns(row, frozenset(primary_key), inflect, view)
    if not any(column.is_selectable for column in columns.values()):
        return None
    key_columns = [
        column for column in columns.values() if column.sql in primary_key and column.is_selectable
    ]
    has_key = len(key_columns) == len(primary_key)
    letters = view.rights.on_data(row.acl)
    space = view.spaces[row.schema]
    return Entity(
        name=name,
        sql=(row.schema, row.name),
        kind=row.kind,
        columns=columns,
        primary_key=primary_key,
        max_rows=space.max_rows if directive.max_rows is None else directive.max_rows,
        has_total_count=directive.has_total_count,
        has_aggregate=directive.has_aggregate,
        is_insertable=any(column.is_insertable for column in columns.values()),
        is_updatable=any(column.is_updatable for column in columns.values()),
        is_deletable=DELETE in letters and bool(row.writes & _DELETABLE),
        has_key_lookup=has_key and _is_key_lookup(row, key_columns, view),
        has_node_id=has_key,
        row_security=row.row_security,
        unique_keys=_unique_keys(row, keys, view.snapshot),
        description=directive.description,
        is_introspectable=view.is_introspectable(row.schema),
        shows_additions=view.shows_additions(row.schema),
    )


def _primary_key(
    row: RelationRow, keys: tuple[KeyRow, ...], directive: TableDirective, snapshot: Snapshot
) -> tuple[str, ...]:
    """Give the columns of the real key; else those of the directive, if they are there."""
    for key in keys:
        if key.kind == "p":
            return snapshot.column_names(row.oid, key.columns) or ()
    wanted = directive.primary_key_columns if row.kind in _KEYLESS_KINDS else ()
    have = {column.name for column in snapshot.columns.get(row.oid, ())}
    return wanted if have.issuperset(wanted) else ()


def _columns(row: RelationRow, key: frozenset[str], inflect: bool, view: View) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    letters = view.rights.on_data(row.acl)
    for each in view.snapshot.columns.get(row.oid, ()):
        granted = letters | view.rights.letters(each.acl) if each.acl else letters
        column = _column(row, each, granted, inflect, view)
        if column is not None and (names.is_valid(column.name) or each.name in key):
            columns[column.name] = column
    return columns


def _column(
    row: RelationRow, own: ColumnRow, letters: frozenset[str], inflect: bool, view: View
) -> Column | None:
    """Make a column; None where the role may do nothing with it, or its values cannot appear."""
    value_type = view.values.find(own.type, own.modifier)
    if value_type is None:
        return None
    directive = read_name(own.comment)
    is_selectable = SELECT in letters
    is_insertable = own.is_writable and INSERT in letters and bool(row.writes & _INSERTABLE)
    is_updatable = own.is_writable and UPDATE in letters and bool(row.writes & _UPDATABLE)
    if not (is_selectable or is_insertable or is_updatable):
        return None
    return Column(
        name=directive.name or names.field_name(own.name, inflect=inflect),
        sql=own.name,
        type=value_type,
        is_nullable=not own.is_not_null,
        is_selectable=is_selectable,
        is_insertable=is_insertable,
        is_updatable=is_updatable,
        description=directive.description,
    )


def _is_key_lookup(row: RelationRow, key: list[Column], view: View) -> bool:
    types = {column.name: column.type for column in view.snapshot.columns.get(row.oid, ())}
    return all(names.is_valid(column.name) and view.values.is_key(types[column.sql]) for column in key)


def _unique_keys(
    row: RelationRow, keys: tuple[KeyRow, ...], snapshot: Snapshot
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give the constraints by name, the primary key first."""
    ranked = sorted((key for key in keys if key.kind in "pu"), key=lambda key: (key.kind, key.name))
    named = ((key.name, snapshot.column_names(row.oid, key.columns)) for key in ranked)
    return tuple((name, columns) for name, columns in named if columns is not None)
