"""Conditions of filters on the values of the log. Pure.

What a condition marks as decidable here (`Filter.local`, set by the pool) is compared as Postgres would; whatever is not
plain (a number in quotes, an operand in an odd spelling) is None: ask MATCH. Texts that are marked for an order are in that
of their bytes, which is that of their code points. NULL matches nothing, negated or not, but
`is` and `isdistinct`. A column that is not in the log matches nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation

import msgspec

from schemas.numbers import parse_whole_number
from schemas.realtime import Filter
from schemas.realtime_rules import canonical_uuid

Row = Mapping[str, bytes | None]
"""Values by column, as in the log."""
Key = int | Decimal | str | bool
"""A value that equals another exactly if Postgres says so."""

_NULL = b"null"
_FARTHEST = 10**18
"""Whole numbers beyond it are compared as decimals, which have any length."""
_TRUE, _FALSE = ("true", "t"), ("false", "f")

_COMPARE: dict[str, Callable[[Key, Key], bool]] = {
    "eq": lambda a, b: a == b,
    "neq": lambda a, b: a != b,
    "lt": lambda a, b: a < b,  # type: ignore[operator]  # both are of one kind
    "lte": lambda a, b: a <= b,  # type: ignore[operator]
    "gt": lambda a, b: a > b,  # type: ignore[operator]
    "gte": lambda a, b: a >= b,  # type: ignore[operator]
}


def passes(filters: Iterable[Filter], row: Row) -> bool | None:
    """Tell whether a row passes all conditions; None: only SQL knows."""
    unsure = False
    for each in filters:
        match _passes(each, row):
            case False:
                return False
            case None:
                unsure = True
    return None if unsure else True


def wanted_keys(condition: Filter) -> list[Key] | None:
    """Give the values of which the column must have one; None if that is not all that is asked."""
    if condition.is_negated or condition.op not in ("eq", "in"):
        return None
    keys = [operand_key(condition.local, value) for value in condition.values]
    return None if not keys or None in keys else [key for key in keys if key is not None]


def operand_key(local: str, text: str) -> Key | None:
    """Read an operand; None if it is not spelled plainly."""
    match local:
        case "number":
            return _number(text)
        case "bool":
            lowered = text.lower()
            return True if lowered in _TRUE else False if lowered in _FALSE else None
        case "uuid":
            return canonical_uuid(text)
        case "text":
            return text
    return None


def value_key(local: str, value: bytes) -> Key | None:
    """Read a value of the log that is not NULL; None if it is not plain."""
    match local:
        case "number":
            return None if value[:1] == b'"' else _number(value.decode())
        case "bool":
            return True if value == b"true" else False if value == b"false" else None
        case "uuid" | "text":
            found = msgspec.json.decode(value)
            return found if isinstance(found, str) else None
    return None


def _passes(condition: Filter, row: Row) -> bool | None:
    value = row.get(condition.column)
    if value is None:
        return False
    if not condition.local:
        return None
    if condition.op == "is":
        return _is(condition, value)
    if condition.op == "isdistinct":
        found = True if value == _NULL else _compared("neq", condition, value)
        return found if found is None or not condition.is_negated else not found
    if value == _NULL:
        return False
    found = _in(condition, value) if condition.op == "in" else _compared(condition.op, condition, value)
    return found if found is None or not condition.is_negated else not found


def _is(condition: Filter, value: bytes) -> bool | None:
    match condition.values[0].lower() if condition.values else "":
        case "null" | "unknown":
            found = value == _NULL
        case "true":
            found = value == b"true"
        case "false":
            found = value == b"false"
        case _:
            return None
    return found != condition.is_negated


def _compared(op: str, condition: Filter, value: bytes) -> bool | None:
    if len(condition.values) != 1 or op not in _COMPARE:
        return None
    if op not in ("eq", "neq") and condition.local == "bool":
        return None
    own, other = value_key(condition.local, value), operand_key(condition.local, condition.values[0])
    return None if own is None or other is None else _COMPARE[op](own, other)


def _in(condition: Filter, value: bytes) -> bool | None:
    own = value_key(condition.local, value)
    keys = [operand_key(condition.local, each) for each in condition.values]
    return None if own is None or None in keys else own in keys


def _number(text: str) -> Key | None:
    try:
        whole = parse_whole_number(text, least=-_FARTHEST, most=_FARTHEST)
        return _finite(Decimal(text)) if whole is None else whole
    except (InvalidOperation, ValueError):
        return None


def _finite(number: Decimal) -> Decimal | None:
    return number if number.is_finite() else None
