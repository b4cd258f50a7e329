"""The grammar of filters on row changes: text in, conditions out. Pure.

    filter     = "" | condition *("," condition)
    condition  = column "=" ["not."] op "." value
    value      = text | `"` text with backslash escapes `"` | "(" list ")" for `in`

Commas between parentheses or double quotes do not split. A quote begins only behind `.`, `(` or `,`. The list of `in` is
read as Postgres reads an array, by Postgres. Source: reference page "realtime", section 9.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS = frozenset(
    ("eq", "neq", "lt", "lte", "gt", "gte", "in", "like", "ilike", "is", "match", "imatch", "isdistinct")
)

LONGEST = 16 * 1024
"""Characters of a filter: a hundred long values of an `in`, several times."""
MOST_CONDITIONS = 20
"""Conditions of a filter; each costs the database a look at the join."""

_EMPTY_SEGMENT = "filter must not contain empty segments (check for extra commas)"
_NO_PARENTHESES = "`in` filter value must be wrapped by parentheses"


class FilterRefused(ValueError):
    """The text is no filter: its message says why, as clients know it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition as it was written. `value` of `in` is the text of an array, braces included."""

    column: str
    op: str
    value: str
    is_negated: bool = False


def parse_filter(text: str) -> list[Condition]:
    """Read a filter; blanks alone are none. Raises: FilterRefused."""
    trimmed = text.strip()
    if not trimmed:
        return []
    if len(trimmed) > LONGEST:
        raise FilterRefused(f"filter must not be longer than {LONGEST} characters")
    segments = list(itertools.islice(_segments(trimmed), MOST_CONDITIONS + 1))
    if len(segments) > MOST_CONDITIONS:
        raise FilterRefused(f"filter must not have more than {MOST_CONDITIONS} conditions")
    return [_condition(segment.strip()) for segment in segments]


def inspected(value: object) -> str:
    """Write texts, lists and tuples of them as messages for clients show them: `["a", "b"]`, `nil`."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("#{", "\\#{") + '"'
        case tuple():
            return "{" + ", ".join(map(inspected, value)) + "}"
        case list():
            return "[" + ", ".join(map(inspected, value)) + "]"
    return str(value)


def _condition(text: str) -> Condition:
    if not text:
        raise FilterRefused(_EMPTY_SEGMENT)
    column, equals, rest = text.partition("=")
    if not equals:
        raise FilterRefused(inspected([text]))
    is_negated = rest.startswith("not.")
    rest = rest.removeprefix("not.")
    op, dot, value = rest.partition(".")
    if not dot:
        raise FilterRefused(inspected([rest]))
    if op not in OPERATORS:
        raise FilterRefused(inspected([op, value]))
    return Condition(column, op, _operand(op, value), is_negated)


def _operand(op: str, value: str) -> str:
    if op != "in":
        return _unquoted(value)
    if len(value) < 2 or value[0] != "(" or value[-1] != ")":
        raise FilterRefused(_NO_PARENTHESES)
    return "{" + value[1:-1] + "}"


def _segments(text: str) -> Iterator[str]:
    """Split at the commas of the top level."""
    depth, begin, at, before, is_quoted = 0, 0, 0, "", False
    while at < len(text):
        sign = text[at]
        if is_quoted:
            is_quoted = sign != '"'
            at += sign == "\\"
        elif sign == '"' and before in (".", "(", ","):
            is_quoted = True
        elif sign == "(":
            depth += 1
        elif sign == ")":
            depth = max(0, depth - 1)
        elif sign == "," and depth == 0:
            yield text[begin:at]
            begin, sign = at + 1, ""
        before = sign
        at += 1
    yield text[begin:]


def _unquoted(value: str) -> str:
    """Take the quotes off a value that stands between them as a whole; others stay as they are."""
    if not value.startswith('"'):
        return value
    signs: list[str] = []
    at = 1
    while at < len(value) and value[at] != '"':
        at += value[at] == "\\" and at + 1 < len(value)
        signs.append(value[at])
        at += 1
    return "".join(signs) if at == len(value) - 1 else value
