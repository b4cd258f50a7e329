"""Types of columns, arguments and results as GraphQL has them. Pure. Source: reference page "graphql", section 6.

A domain counts as the type under it, with the domain's length; an operand is cast to that type as well, so that a filter
does not fail on a value which the domain forbids.
"""

from collections.abc import Mapping
from typing import NamedTuple

from workers.graphql.model import Enum, ValueType
from workers.graphql.reflect.privileges import Rights
from workers.graphql.reflect.rows import TypeRow

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
"""By the oid of the type; what is not here is `Opaque`, save citext, which has no fixed oid."""
KEYS = frozenset({18, 20, 21, 23, 25, 1042, 1043, 2950})
"""Types by which a row may be looked up."""
_PADDED, _VARYING = 1042, 1043
_LENGTH_OFFSET = 4
_OPAQUE = "Opaque"


class _Base(NamedTuple):
    """A type with its domains taken off."""

    row: TypeRow
    modifier: int


class Values:
    """Finds the types of values for one role. `enums` are those it sees, by the oid of the type."""

    def __init__(self, types: Mapping[int, TypeRow], enums: Mapping[int, Enum], rights: Rights) -> None:
        self._types, self._enums, self._rights = types, enums, rights
        self._known: dict[tuple[int, int], ValueType | None] = {}

    def find(self, oid: int, modifier: int = -1) -> ValueType | None:
        """Give the type of values; None where they cannot appear: rows, pseudo types, elements that may not be used."""
        key = (oid, modifier)
        if key not in self._known:
            self._known[key] = self._made(oid, modifier)
        return self._known[key]

    def is_key(self, oid: int) -> bool:
        """Tell whether a column of that type may stand in the arguments of `tByPk`."""
        base = self._base(oid, -1)
        return base is not None and (base.row.oid in KEYS or base.row.name == "citext")

    def is_enum(self, oid: int) -> bool:
        """Tell whether a type is an enum or an array of one, seen by the role or not."""
        base = self._base(oid, -1)
        if base is not None and base.row.element:
            base = self._base(base.row.element, -1)
        return base is not None and base.row.kind == "e"

    def row_of(self, oid: int) -> int:
        """Give the relation whose rows have that type; 0 if it is another type."""
        row = self._types.get(oid)
        return row.relation if row is not None else 0

    def _made(self, oid: int, modifier: int) -> ValueType | None:
        base = self._base(oid, modifier)
        if base is None or base.row.kind in "cp":
            return None
        if base.row.element:
            return self._list(base.row)
        return self._single(base.row, base.modifier)

    def _list(self, row: TypeRow) -> ValueType | None:
        element = self._base(row.element, -1)
        if element is None or element.row.kind in "cp" or not self._rights.may_use(element.row.acl):
            return None
        single = self._single(element.row, -1)
        return ValueType(single.scalar, row.sql, single.enum, is_list=True, is_text=single.is_text)

    def _single(self, row: TypeRow, modifier: int) -> ValueType:
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
