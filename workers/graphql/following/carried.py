"""As much of a filter as the feed of row changes can decide, in its grammar; the rest is left for SQL. Pure.

Carried are comparisons of one column that hold together; `or`, `not`, related rows and what the grammar has no word for
are left. Source: reference page "realtime", section 9.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from workers.graphql.plan.inputs import Reader, value_at
from workers.graphql.plan.tree import All, Compare, Condition, IsNull, Operand
from workers.sql.compose import ParameterSlot

_OPERATORS = {
    "=": "eq", "<>": "neq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "~~": "like", "~~*": "ilike",
    "~": "match", "~*": "imatch",
}  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*", re.ASCII)
_MOST_VALUES = 100
_LONGEST = 64 * 1024


def carried(
    condition: Condition | None, readers: Sequence[Reader], variables: Mapping[str, object]
) -> tuple[str, Condition | None]:
    """Give the text for the feed, and the condition that is left; None: nothing is."""
    texts: list[str] = []
    left: list[Condition] = []
    for part in _parts(condition):
        text = _text(part, readers, variables)
        if text and sum(map(len, texts)) + len(text) < _LONGEST:
            texts.append(text)
        else:
            left.append(part)
    rest = None if not left else left[0] if len(left) == 1 else All(tuple(left))
    return ",".join(texts), rest


def _parts(condition: Condition | None) -> Iterator[Condition]:
    if isinstance(condition, All):
        for part in condition.parts:
            yield from _parts(part)
    elif condition is not None:
        yield condition


def _text(part: Condition, readers: Sequence[Reader], variables: Mapping[str, object]) -> str:
    """Write a condition in the grammar; an empty text where it has no words for it."""
    match part:
        case IsNull(column, is_null) if _PLAIN.fullmatch(column):
            return f"{column}={'' if is_null else 'not.'}is.null"
        case Compare(column, operator, operand, is_any) if _PLAIN.fullmatch(column):
            value = _value(operand, readers, variables)
            if value is None:
                return ""
            if not is_any:
                return f"{column}={_OPERATORS[operator]}.{_quoted(value)}" if operator in _OPERATORS else ""
            if operator == "=" and value.startswith("{") and value.count(",") < _MOST_VALUES:
                return f"{column}=in.({value[1:-1]})"
    return ""


def _value(operand: Operand, readers: Sequence[Reader], variables: Mapping[str, object]) -> str | None:
    param = operand.param
    if isinstance(param, ParameterSlot):
        reader = readers[param.index]
        return reader.convert(value_at(variables, reader.path))
    return None if param is None else param.decode()


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
