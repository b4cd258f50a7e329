"""Split a filter into the part that the feed of row changes can evaluate, and the rest, which SQL evaluates. Pure.

The feed evaluates comparisons of single columns, combined with `and`, in the filter grammar of realtime. `or`, `not`,
related rows, and operators that the grammar lacks remain for SQL. Source: docs/reference/realtime.md, section 9.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from workers.graphql.plan.conditions import ColumnComparison, Condition, Conjunction, NullTest, Operand
from workers.graphql.plan.inputs import SlotReader, value_at
from workers.sql.compose import ParameterSlot

_OPERATORS = {
    "=": "eq", "<>": "neq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "~~": "like", "~~*": "ilike",
    "~": "match", "~*": "imatch",
}  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*", re.ASCII)
_MOST_VALUES = 100
_LONGEST = 64 * 1024


def split_for_feed(
    condition: Condition | None, readers: Sequence[SlotReader], variables: Mapping[str, object]
) -> tuple[str, Condition | None]:
    """Return the filter for the feed as text, and the remaining condition (None if the feed evaluates all of it)."""
    texts: list[str] = []
    undecided: list[Condition] = []
    for part in _parts(condition):
        text = _text(part, readers, variables)
        if text and sum(map(len, texts)) + len(text) < _LONGEST:
            texts.append(text)
        else:
            undecided.append(part)
    remainder = (
        None if not undecided else undecided[0] if len(undecided) == 1 else Conjunction(tuple(undecided))
    )
    return ",".join(texts), remainder


def _parts(condition: Condition | None) -> Iterator[Condition]:
    if isinstance(condition, Conjunction):
        for part in condition.parts:
            yield from _parts(part)
    elif condition is not None:
        yield condition


def _text(part: Condition, readers: Sequence[SlotReader], variables: Mapping[str, object]) -> str:
    """Return a condition in the feed's grammar; an empty text if the grammar cannot express it."""
    match part:
        case NullTest(column, is_null) if _PLAIN.fullmatch(column):
            return f"{column}={'' if is_null else 'not.'}is.null"
        case ColumnComparison(column, operator, operand, is_any) if _PLAIN.fullmatch(column):
            value = _value(operand, readers, variables)
            if value is None:
                return ""
            if not is_any:
                return f"{column}={_OPERATORS[operator]}.{_quoted(value)}" if operator in _OPERATORS else ""
            if operator == "=" and value.startswith("{") and value.count(",") < _MOST_VALUES:
                return f"{column}=in.({value[1:-1]})"
    return ""


def _value(operand: Operand, readers: Sequence[SlotReader], variables: Mapping[str, object]) -> str | None:
    param = operand.param
    if isinstance(param, ParameterSlot):
        reader = readers[param.index]
        return reader.convert(value_at(variables, reader.path))
    return None if param is None else param.decode()


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
