"""The header `electric-schema`: how clients read the texts of columns. Pure. Source: docs/sync.md."""

from collections.abc import Sequence

import msgspec

from workers.sync.catalog import SyncColumn

_HEAD = 4
"""What a type modifier of a text or a number has more than its length."""
_TIMES = frozenset({"time", "timetz", "timestamp", "timestamptz"})
_FIELDS = {
    0x0004: "YEAR", 0x0002: "MONTH", 0x0006: "YEAR TO MONTH", 0x0008: "DAY", 0x0400: "HOUR", 0x0800: "MINUTE",
    0x1000: "SECOND", 0x0408: "DAY TO HOUR", 0x0C08: "DAY TO MINUTE", 0x1C08: "DAY TO SECOND", 0x0C00: "HOUR TO MINUTE",
    0x1C00: "HOUR TO SECOND", 0x1800: "MINUTE TO SECOND",
}  # fmt: skip
_ALL_FIELDS, _FULL_PRECISION = 0x7FFF, 0xFFFF


def schema_header(columns: Sequence[SyncColumn], key: Sequence[str]) -> str:
    """Return the header: ASCII, whatever the columns are called."""
    described = {column.name: _described(column, key) for column in columns}
    text = msgspec.json.encode(described).decode()
    return "".join(char if char.isascii() else _escaped(char) for char in text)


def _described(column: SyncColumn, key: Sequence[str]) -> dict[str, object]:
    described: dict[str, object] = {"type": column.type}
    if column.dimensions:
        described["dims"] = column.dimensions
    if column.is_not_null:
        described["not_null"] = True
    if column.name in key:
        described["pk_index"] = key.index(column.name)
    return described | _modifier(column.type, column.modifier)


def _modifier(kind: str, modifier: int) -> dict[str, object]:
    if modifier < 0:
        return {}
    if kind == "varchar":
        return {"max_length": modifier - _HEAD}
    if kind == "bpchar":
        return {"length": modifier - _HEAD}
    if kind in ("bit", "varbit"):
        return {"length": modifier}
    if kind in _TIMES:
        return {"precision": modifier}
    if kind == "numeric":
        packed = modifier - _HEAD
        scale = packed & 0x7FF
        return {"precision": packed >> 16, "scale": scale - 2048 if scale > 1023 else scale}
    if kind == "interval":
        fields, precision = modifier >> 16 & _ALL_FIELDS, modifier & _FULL_PRECISION
        described: dict[str, object] = {} if precision == _FULL_PRECISION else {"precision": precision}
        return described | ({"fields": _FIELDS[fields]} if fields in _FIELDS else {})
    return {"type_mod": modifier}


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
