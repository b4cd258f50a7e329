"""Parses the filters of subscriptions to row changes into conditions. Pure.

    filter     = "" | condition *("," condition)
    condition  = column "=" ["not."] op "." value
    value      = text | `"` text with backslash escapes `"` | "(" list ")" for `in`

Commas inside parentheses or double quotes do not split. A quote opens only after `.`, `(` or `,`. Postgres parses the list of
`in` as an array. Source: docs/reference/realtime.md, section 9.
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
"""Conditions of a filter; each needs a query of the database when the subscription is made."""

_EMPTY_SEGMENT = "filter must not contain empty segments (check for extra commas)"
_NO_PARENTHESES = "`in` filter value must be wrapped by parentheses"


class FilterRejected(ValueError):
    """The text is not a filter; the message is the one that clients receive."""


@dataclass(frozen=True, slots=True)
class ParsedCondition:
    """One condition as it was written. `value` of `in` is the text of an array, braces included."""

    column: str
    op: str
    value: str
    is_negated: bool = False


def parse_filter(text: str) -> list[ParsedCondition]:
    """Parse a filter; an empty one gives an empty list. Raises: FilterRejected."""
    trimmed = text.strip()
    if not trimmed:
        return []
    if len(trimmed) > LONGEST:
        raise FilterRejected(f"filter must not be longer than {LONGEST} characters")
    segments = list(itertools.islice(_segments(trimmed), MOST_CONDITIONS + 1))
    if len(segments) > MOST_CONDITIONS:
        raise FilterRejected(f"filter must not have more than {MOST_CONDITIONS} conditions")
    return [_condition(segment.strip()) for segment in segments]


def inspected(value: object) -> str:
    """Return texts, lists and tuples of them as error messages for clients print them: `["a", "b"]`, `nil`."""
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


def _condition(text: str) -> ParsedCondition:
    if not text:
        raise FilterRejected(_EMPTY_SEGMENT)
    column, equals, rest = text.partition("=")
    if not equals:
        raise FilterRejected(inspected([text]))
    is_negated = rest.startswith("not.")
    rest = rest.removeprefix("not.")
    op, dot, value = rest.partition(".")
    if not dot:
        raise FilterRejected(inspected([rest]))
    if op not in OPERATORS:
        raise FilterRejected(inspected([op, value]))
    return ParsedCondition(column, op, _operand(op, value), is_negated)


def _operand(op: str, value: str) -> str:
    if op != "in":
        return _unquoted(value)
    if len(value) < 2 or value[0] != "(" or value[-1] != ")":
        raise FilterRejected(_NO_PARENTHESES)
    return "{" + value[1:-1] + "}"


def _segments(text: str) -> Iterator[str]:
    """Split at the commas of the top level."""
    depth, begin, at, before, is_quoted = 0, 0, 0, "", False
    while at < len(text):
        character = text[at]
        if is_quoted:
            is_quoted = character != '"'
            at += character == "\\"
        elif character == '"' and before in (".", "(", ","):
            is_quoted = True
        elif character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            yield text[begin:at]
            begin, character = at + 1, ""
        before = character
        at += 1
    yield text[begin:]


def _unquoted(value: str) -> str:
    """Remove the quotes of a value that is quoted completely; return other values unchanged."""
    if not value.startswith('"'):
        return value
    characters: list[str] = []
    at = 1
    while at < len(value) and value[at] != '"':
        at += value[at] == "\\" and at + 1 < len(value)
        characters.append(value[at])
        at += 1
    return "".join(characters) if at == len(value) - 1 else value
