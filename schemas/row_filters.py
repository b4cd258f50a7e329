"""Filter conditions evaluated on values of the log. Pure.

A condition that is marked as decidable here (`FilterCondition.local`, set by the pool) is compared as Postgres would compare
it. A value or operand that is not spelled plainly (a number in quotes, for example) gives None: the edge sends MATCH. Texts
that are marked for an order compare by their bytes, which is the order of their code points. NULL matches nothing, negated or
not, except with `is` and `isdistinct`. A column that is not in the log matches nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation

import msgspec

from schemas.numbers import parse_whole_number
from schemas.realtime import FilterCondition
from schemas.realtime_rules import canonical_uuid

Row = Mapping[str, bytes | None]
"""Values by column, as in the log."""
ComparableValue = int | Decimal | str | bool
"""A value that equals another one exactly if they are equal in Postgres."""

_NULL = b"null"
_FARTHEST = 10**18
"""Whole numbers beyond it are compared as decimals, which have any length."""
_TRUE, _FALSE = ("true", "t"), ("false", "f")

_COMPARE: dict[str, Callable[[ComparableValue, ComparableValue], bool]] = {
    "eq": lambda a, b: a == b,
    "neq": lambda a, b: a != b,
    "lt": lambda a, b: a < b,  # type: ignore[operator]  # both are of one kind
    "lte": lambda a, b: a <= b,  # type: ignore[operator]
    "gt": lambda a, b: a > b,  # type: ignore[operator]
    "gte": lambda a, b: a >= b,  # type: ignore[operator]
}


def passes(filters: Iterable[FilterCondition], row: Row) -> bool | None:
    """Return whether a row passes all conditions; None if only SQL can tell."""
    unsure = False
    for condition in filters:
        match _passes(condition, row):
            case False:
                return False
            case None:
                unsure = True
    return None if unsure else True


def required_values(condition: FilterCondition) -> list[ComparableValue] | None:
    """Return the values of which the column must have one; None if the condition is of another form."""
    if condition.is_negated or condition.op not in ("eq", "in"):
        return None
    keys = [operand_key(condition.local, value) for value in condition.values]
    return None if not keys or None in keys else [key for key in keys if key is not None]


def operand_key(local: str, text: str) -> ComparableValue | None:
    """Return an operand as a comparable value; None if it is not spelled plainly."""
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


def value_key(local: str, value: bytes) -> ComparableValue | None:
    """Return a value of the log, which is not NULL, as a comparable value; None if it is not plain."""
    match local:
        case "number":
            return None if value[:1] == b'"' else _number(value.decode())
        case "bool":
            return True if value == b"true" else False if value == b"false" else None
        case "uuid" | "text":
            text = msgspec.json.decode(value)
            return text if isinstance(text, str) else None
    return None


def _passes(condition: FilterCondition, row: Row) -> bool | None:
    value = row.get(condition.column)
    if value is None:
        return False
    if not condition.local:
        return None
    if condition.op == "is":
        return _is(condition, value)
    if condition.op == "isdistinct":
        result = True if value == _NULL else _compared("neq", condition, value)
        return result if result is None or not condition.is_negated else not result
    if value == _NULL:
        return False
    result = _in(condition, value) if condition.op == "in" else _compared(condition.op, condition, value)
    return result if result is None or not condition.is_negated else not result


def _is(condition: FilterCondition, value: bytes) -> bool | None:
    match condition.values[0].lower() if condition.values else "":
        case "null" | "unknown":
            result = value == _NULL
        case "true":
            result = value == b"true"
        case "false":
            result = value == b"false"
        case _:
            return None
    return result != condition.is_negated


def _compared(op: str, condition: FilterCondition, value: bytes) -> bool | None:
    if len(condition.values) != 1 or op not in _COMPARE:
        return None
    if op not in ("eq", "neq") and condition.local == "bool":
        return None
    left, right = value_key(condition.local, value), operand_key(condition.local, condition.values[0])
    return None if left is None or right is None else _COMPARE[op](left, right)


def _in(condition: FilterCondition, value: bytes) -> bool | None:
    key = value_key(condition.local, value)
    keys = [operand_key(condition.local, operand) for operand in condition.values]
    return None if key is None or None in keys else key in keys


def _number(text: str) -> ComparableValue | None:
    try:
        whole = parse_whole_number(text, least=-_FARTHEST, most=_FARTHEST)
        return _finite(Decimal(text)) if whole is None else whole
    except (InvalidOperation, ValueError):
        return None


def _finite(number: Decimal) -> Decimal | None:
    return number if number.is_finite() else None
