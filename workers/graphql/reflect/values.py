"""Map types of the database to GraphQL scalars, enums and lists. Pure. Source: docs/reference/graphql.md, section 6.

A domain is mapped like its base type, with the domain's length. Operands are cast to the base type as well, so that a
filter does not fail on a value that the domain forbids.
"""

from collections.abc import Mapping
from typing import NamedTuple

from workers.graphql.model import EnumType, ValueType
from workers.graphql.reflect.privileges import RolePrivileges
from workers.graphql.reflect.rows import ReflectedType

SCALARS: dict[int, str] = {
    16: "Boolean",
    18: "String",  # "char"
    20: "BigInt",
    21: "Int",
    23: "Int",
    25: "String",
    114: "JSON",
    700: "Float",
    701: "Float",
    1042: "String",  # char(n)
    1043: "String",  # varchar(n)
    1082: "Date",
    1083: "Time",
    1114: "Datetime",
    1184: "Datetime",
    1700: "BigFloat",
    2950: "UUID",
    3802: "JSON",
}
"""Scalar by oid of the type. Other types are `Opaque`, except citext, an extension type without a fixed oid."""
KEYS = frozenset({18, 20, 21, 23, 25, 1042, 1043, 2950})
"""Oids of the types that `tByPk` takes as arguments."""
_PADDED, _VARYING = 1042, 1043
_LENGTH_OFFSET = 4
_OPAQUE = "Opaque"


class _Base(NamedTuple):
    """The base type under any domains."""

    row: ReflectedType
    modifier: int


class ValueTypes:
    """Value types as one role sees them. `enums` are those that the role may use, by oid of the type."""

    def __init__(
        self, types: Mapping[int, ReflectedType], enums: Mapping[int, EnumType], rights: RolePrivileges
    ) -> None:
        self._types, self._enums, self._rights = types, enums, rights
        self._cache: dict[tuple[int, int], ValueType | None] = {}

    def find(self, oid: int, modifier: int = -1) -> ValueType | None:
        """Return the type of values; None if it is not supported: rows, pseudo types, arrays of a type without USAGE."""
        key = (oid, modifier)
        if key not in self._cache:
            self._cache[key] = self._build(oid, modifier)
        return self._cache[key]

    def is_key(self, oid: int) -> bool:
        """Return whether a column of the type may be an argument of `tByPk`."""
        base = self._base(oid, -1)
        return base is not None and (base.row.oid in KEYS or base.row.name == "citext")

    def is_enum(self, oid: int) -> bool:
        """Return whether a type is an enum or an array of one, whether the role may use it or not."""
        base = self._base(oid, -1)
        if base is not None and base.row.element:
            base = self._base(base.row.element, -1)
        return base is not None and base.row.kind == "e"

    def row_of(self, oid: int) -> int:
        """Return the relation whose rows have a type; 0 if it is not a row type."""
        row = self._types.get(oid)
        return row.relation if row is not None else 0

    def _build(self, oid: int, modifier: int) -> ValueType | None:
        base = self._base(oid, modifier)
        if base is None or base.row.kind in "cp":
            return None
        if base.row.element:
            return self._list(base.row)
        return self._single(base.row, base.modifier)

    def _list(self, row: ReflectedType) -> ValueType | None:
        element = self._base(row.element, -1)
        if element is None or element.row.kind in "cp" or not self._rights.may_use(element.row.acl):
            return None
        single = self._single(element.row, -1)
        return ValueType(single.scalar, row.sql, single.enum, is_list=True, is_text=single.is_text)

    def _single(self, row: ReflectedType, modifier: int) -> ValueType:
        enum = self._enums.get(row.oid)
        if enum is not None:
            return ValueType(enum.name, row.sql, enum)
        scalar = SCALARS.get(row.oid, "String" if row.name == "citext" else _OPAQUE)
        has_length = row.oid in (_PADDED, _VARYING) and modifier > _LENGTH_OFFSET
        return ValueType(
            scalar,
            row.sql,
            max_length=modifier - _LENGTH_OFFSET if has_length else None,
            is_text=scalar in ("BigInt", "BigFloat", "JSON"),
        )

    def _base(self, oid: int, modifier: int) -> _Base | None:
        row = self._types.get(oid)
        while row is not None and row.kind == "d":
            modifier = row.modifier
            row = self._types.get(row.base)
        return None if row is None else _Base(row, modifier)
