"""What the statements of `read.sql` answer, as typed rows, and the snapshot they make together. Pure.

A `Snapshot` knows no role: access lists are kept as they are, and `build.py` makes a schema of it for any role.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct


class SchemaRow(Struct, frozen=True):
    """An exposed schema."""

    oid: int
    name: str
    acl: str
    comment: str | None


class RolesRow(Struct, frozen=True):
    """Who is a superuser, and whose privileges a role holds as its own: pairs (member, role)."""

    superusers: list[str]
    memberships: list[tuple[str, str]]


class RelationRow(Struct, frozen=True):
    """A table, view, materialized view or foreign table."""

    oid: int
    schema: str
    name: str
    kind: str
    row_type: int
    row_security: bool
    writes: int
    """Bits: 8 insert, 4 update, 16 delete."""
    acl: str
    comment: str | None


class ColumnRow(Struct, frozen=True, array_like=True):
    """A column; arrays instead of objects, as there are many."""

    relation: int
    number: int
    name: str
    type: int
    modifier: int
    is_not_null: bool
    is_writable: bool
    acl: str | None
    comment: str | None


class TypeRow(Struct, frozen=True, array_like=True):
    """A type. `kind` is pg_type.typtype; `element` is 0 unless an array, `base` unless a domain."""

    oid: int
    schema: str
    name: str
    sql: str
    kind: str
    element: int
    relation: int
    base: int
    modifier: int
    is_not_null: bool
    acl: str | None
    """None: everyone may use it."""
    comment: str | None
    labels: list[str] | None


class KeyRow(Struct, frozen=True, array_like=True):
    """A primary key (p), a unique constraint (u), or a unique index without condition (i), with column numbers."""

    name: str
    kind: str
    relation: int
    columns: list[int]


class ForeignKeyRow(Struct, frozen=True, array_like=True):
    """A foreign key, with column numbers on both sides."""

    relation: int
    columns: list[int]
    target: int
    target_columns: list[int]
    comment: str | None


class FunctionRow(Struct, frozen=True):
    """A function. `types` are those of its inputs; `names`, `modes` and `defaults` count its outputs as well."""

    schema: str
    name: str
    types: list[int]
    names: list[str]
    modes: list[str]
    default_count: int
    defaults: list[str | None] | None
    result: int
    returns_set: bool
    rows: float
    is_volatile: bool
    is_variadic: bool
    acl: str
    comment: str | None

    @property
    def inputs(self) -> list[tuple[str, int, str | None]]:
        """Give name, type and default expression of each input; a nameless one has the name ''."""
        modes = self.modes or ["i"] * len(self.types)
        places = [place for place, mode in enumerate(modes) if mode in "ibv"]
        names = [self.names[place] if place < len(self.names) else "" for place in places]
        defaults = [self.defaults[place] if self.defaults else None for place in places]
        return list(zip(names, self.types, defaults, strict=True))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that was read, for every role."""

    schemas: tuple[SchemaRow, ...]
    """In the order of the search path."""
    roles: RolesRow
    relations: tuple[RelationRow, ...]
    columns: dict[int, tuple[ColumnRow, ...]]
    """By relation, in table order."""
    types: dict[int, TypeRow]
    keys: dict[int, tuple[KeyRow, ...]]
    """By relation."""
    foreign_keys: tuple[ForeignKeyRow, ...]
    functions: tuple[FunctionRow, ...]

    def column_names(self, relation: int, numbers: Sequence[int]) -> tuple[str, ...] | None:
        """Give the names of columns by their numbers; None where one is no column of the relation."""
        names = {column.number: column.name for column in self.columns.get(relation, ())}
        found = tuple(names.get(number, "") for number in numbers)
        return found if all(found) else None


def make_snapshot(documents: Mapping[str, bytes], schemas: Sequence[str]) -> Snapshot:
    """Decode the answers to the statements, by their names. `schemas` is the search path.

    Raises: msgspec.MsgspecError when they have another form.
    """
    rank = {name: place for place, name in enumerate(schemas)}
    spaces = msgspec.json.decode(documents["schemas"], type=list[SchemaRow])
    relations = msgspec.json.decode(documents["relations"], type=list[RelationRow])
    functions = msgspec.json.decode(documents["functions"], type=list[FunctionRow])
    columns: dict[int, list[ColumnRow]] = {}
    for column in msgspec.json.decode(documents["columns"], type=list[ColumnRow]):
        columns.setdefault(column.relation, []).append(column)
    keys: dict[int, list[KeyRow]] = {}
    for key in msgspec.json.decode(documents["keys"], type=list[KeyRow]):
        keys.setdefault(key.relation, []).append(key)
    return Snapshot(
        schemas=tuple(sorted(spaces, key=lambda row: rank[row.name])),
        roles=msgspec.json.decode(documents["roles"], type=RolesRow),
        relations=tuple(sorted(relations, key=lambda row: rank[row.schema])),
        columns={relation: tuple(rows) for relation, rows in columns.items()},
        types={row.oid: row for row in msgspec.json.decode(documents["types"], type=list[TypeRow])},
        keys={relation: tuple(rows) for relation, rows in keys.items()},
        foreign_keys=tuple(msgspec.json.decode(documents["foreign_keys"], type=list[ForeignKeyRow])),
        functions=tuple(sorted(functions, key=lambda row: rank[row.schema])),
    )
