"""Types of columns, and how their values become JSON. Pure: rows of the catalog in, converters out.

A type without a converter is one whose JSON only the server knows: composites, types with a cast to json, and arrays of these.
Values of a type that is no longer in the catalog are published as text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workers.replication import values
from workers.replication.values import Convert

_BUILT_IN: dict[int, tuple[str, Convert]] = {
    16: ("bool", values.boolean),
    17: ("bytea", values.binary),
    18: ("char", values.string),
    19: ("name", values.string),
    20: ("int8", values.integer),
    21: ("int2", values.integer),
    23: ("int4", values.integer),
    25: ("text", values.string),
    26: ("oid", values.string),
    114: ("json", values.plain_json),
    700: ("float4", values.floating),
    701: ("float8", values.floating),
    1042: ("bpchar", values.string),
    1043: ("varchar", values.string),
    1082: ("date", values.string),
    1083: ("time", values.string),
    1114: ("timestamp", values.timestamp),
    1184: ("timestamptz", values.timestamptz),
    1186: ("interval", values.string),
    1266: ("timetz", values.string),
    1700: ("numeric", values.numeric),
    2950: ("uuid", values.string),
    3802: ("jsonb", values.plain_json),
}


@dataclass(frozen=True, slots=True)
class CatalogType:
    """A row of the statement `types`."""

    oid: int
    name: str
    type: str
    """`pg_type.typtype`: b base, c composite, d domain, e enum, p pseudo, r range, m multirange."""
    base: int
    element: int
    delimiter: str
    sql_name: str
    has_cast: bool


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type: its name in the catalog, its converter if there is one, and its name in SQL."""

    name: str
    convert: Convert | None
    sql_name: str = ""


BUILT_IN: Mapping[int, ColumnType] = {
    oid: ColumnType(name, convert) for oid, (name, convert) in _BUILT_IN.items()
}
"""Types whose oids never change, so that they need no query."""


def column_types(rows: Iterable[CatalogType]) -> dict[int, ColumnType]:
    """Return the type of each row by oid. All types that a type consists of must be among the rows or built in."""
    types = {row.oid: row for row in rows}
    return {oid: ColumnType(row.name, _converter(oid, types), row.sql_name) for oid, row in types.items()}


def _converter(oid: int, types: Mapping[int, CatalogType]) -> Convert | None:
    if oid in _BUILT_IN:
        return _BUILT_IN[oid][1]
    row = types.get(oid)
    if row is None:
        return values.string
    if row.type == "d":
        return _converter(row.base, types)
    if row.element:
        inner = _converter(row.element, types)
        return None if inner is None else values.array(inner, row.delimiter.encode())
    if row.type in "cp" or row.has_cast or row.name in ("int2vector", "oidvector"):
        return None
    return values.string
