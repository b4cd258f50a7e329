"""Typed rows of the statements in `read.sql`, and the snapshot that they form together. Pure.

A `CatalogSnapshot` does not depend on a role: it contains the access lists, and `build.py` builds a schema for any role.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct


class ReflectedSchema(Struct, frozen=True):
    """An exposed schema."""

    oid: int
    name: str
    acl: str
    comment: str | None


class ReflectedRoles(Struct, frozen=True):
    """The superusers, and the inherited memberships as pairs (member, role)."""

    superusers: list[str]
    memberships: list[tuple[str, str]]


class ReflectedRelation(Struct, frozen=True):
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


class ReflectedColumn(Struct, frozen=True, array_like=True):
    """A column. Encoded as an array instead of an object, because there are many."""

    relation: int
    number: int
    name: str
    type: int
    modifier: int
    is_not_null: bool
    is_writable: bool
    acl: str | None
    comment: str | None


class ReflectedType(Struct, frozen=True, array_like=True):
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


class ReflectedKey(Struct, frozen=True, array_like=True):
    """A primary key (p), a unique constraint (u), or a unique index without condition (i), with column numbers."""

    name: str
    kind: str
    relation: int
    columns: list[int]


class ReflectedForeignKey(Struct, frozen=True, array_like=True):
    """A foreign key, with column numbers on both sides."""

    relation: int
    columns: list[int]
    target: int
    target_columns: list[int]
    comment: str | None


class ReflectedFunction(Struct, frozen=True):
    """A function. `types` has its inputs only; `names`, `modes` and `defaults` have its outputs as well."""

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
        """Return name, type and default expression of each input; the name of an unnamed one is ''."""
        modes = self.modes or ["i"] * len(self.types)
        indexes = [index for index, mode in enumerate(modes) if mode in "ibv"]
        names = [self.names[index] if index < len(self.names) else "" for index in indexes]
        defaults = [self.defaults[index] if self.defaults else None for index in indexes]
        return list(zip(names, self.types, defaults, strict=True))


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """Everything that was read, for all roles."""

    schemas: tuple[ReflectedSchema, ...]
    """In the order of the search path."""
    roles: ReflectedRoles
    relations: tuple[ReflectedRelation, ...]
    columns: dict[int, tuple[ReflectedColumn, ...]]
    """By relation, in table order."""
    types: dict[int, ReflectedType]
    keys: dict[int, tuple[ReflectedKey, ...]]
    """By relation."""
    foreign_keys: tuple[ReflectedForeignKey, ...]
    functions: tuple[ReflectedFunction, ...]

    def column_names(self, relation: int, numbers: Sequence[int]) -> tuple[str, ...] | None:
        """Return the names of columns by their numbers; None if the relation lacks one of them."""
        names = {column.number: column.name for column in self.columns.get(relation, ())}
        column_names = tuple(names.get(number, "") for number in numbers)
        return column_names if all(column_names) else None


def make_snapshot(documents: Mapping[str, bytes], schemas: Sequence[str]) -> CatalogSnapshot:
    """Decode the results of the statements, by name of the statement. `schemas` is the search path.

    Raises: msgspec.MsgspecError if a result has another form.
    """
    rank = {name: index for index, name in enumerate(schemas)}
    schema_rows = msgspec.json.decode(documents["schemas"], type=list[ReflectedSchema])
    relations = msgspec.json.decode(documents["relations"], type=list[ReflectedRelation])
    functions = msgspec.json.decode(documents["functions"], type=list[ReflectedFunction])
    columns: dict[int, list[ReflectedColumn]] = {}
    for column in msgspec.json.decode(documents["columns"], type=list[ReflectedColumn]):
        columns.setdefault(column.relation, []).append(column)
    keys: dict[int, list[ReflectedKey]] = {}
    for key in msgspec.json.decode(documents["keys"], type=list[ReflectedKey]):
        keys.setdefault(key.relation, []).append(key)
    return CatalogSnapshot(
        schemas=tuple(sorted(schema_rows, key=lambda row: rank[row.name])),
        roles=msgspec.json.decode(documents["roles"], type=ReflectedRoles),
        relations=tuple(sorted(relations, key=lambda row: rank[row.schema])),
        columns={relation: tuple(rows) for relation, rows in columns.items()},
        types={row.oid: row for row in msgspec.json.decode(documents["types"], type=list[ReflectedType])},
        keys={relation: tuple(rows) for relation, rows in keys.items()},
        foreign_keys=tuple(msgspec.json.decode(documents["foreign_keys"], type=list[ReflectedForeignKey])),
        functions=tuple(sorted(functions, key=lambda row: rank[row.schema])),
    )
