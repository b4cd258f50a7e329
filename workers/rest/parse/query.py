"""The query string as a whole: from text to `Query`, and its shape.

The shape of a URL is its query string with the values of plain filters left out. Requests of one shape share one plan
(architecture, decision 11), so the values come beside it and fill the plan's slots. A value with any syntax of its own
(logic trees, `is`, arrays of any/all, full-text) stays part of the shape.
Source: docs/reference/rest.md, section 6.
"""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote_plus

from workers.rest.model import FieldFilter, Logic, Operand, Path, RestQuery, RowRange
from workers.rest.parse.additions import (
    ADDED,
    ADDED_ANYWHERE,
    parse_cursor,
    parse_distinct,
    parse_having,
    parse_nested,
)
from workers.rest.parse.filters import is_filter, parse_filter, parse_logic, parse_logic_path, parse_tree_path
from workers.rest.parse.lexer import Scanner, parse_name
from workers.rest.parse.order import parse_order
from workers.rest.parse.ranges import parse_limit, parse_offset
from workers.rest.parse.select import parse_select
from workers.sql.compose import ParameterSlot

HOLE = "\x00"
"""Stands in a shape for a value that each request brings."""

_RESERVED = frozenset({"select", "columns", "on_conflict"})
_EMBEDDABLE = frozenset({"order", "limit", "offset", "and", "or"})
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]*")
_PLAIN = re.compile(r"((?:not\.)?(?:eq|neq|gt|gte|lt|lte|like|ilike|match|imatch|in)\.)(.*)", re.DOTALL)


class Parameter(NamedTuple):
    """One `key=value`, decoded. With a hole, the value is what stands before it."""

    key: str
    value: str
    has_hole: bool


Parameters = list[Parameter]


def shape_of(query: str, *, is_call: bool = False) -> tuple[str, list[str]]:
    """Split a raw query string into its shape and the values left out of it, in order.

    `is_call`: a parameter that is not a filter is an argument; its value is left out as well.
    """
    if not query:
        return "", []
    shape, values = [], []
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        match = _PLAIN.fullmatch(value) if equals else None
        if not equals or HOLE in part or not _is_column(key):
            shape.append(part.replace(HOLE, "%00"))
            continue
        if match is None:
            argument = unquote_plus(value)
            if is_call and not is_filter(argument):
                shape.append(f"{key}={HOLE}")
                values.append(argument)
            else:
                shape.append(part)
            continue
        operand = match[2]
        if "%" in operand or "+" in operand:
            operand = unquote_plus(operand)
        if match[1].endswith("in.") and not (operand.startswith("(") and operand.endswith(")")):
            shape.append(part)
            continue
        shape.append(f"{key}={match[1]}{HOLE}")
        values.append(operand)
    return "&".join(shape), values


def _is_column(key: str) -> bool:
    if key in _RESERVED or "%" in key or "+" in key:
        return False
    return key.rpartition(".")[2] not in _EMBEDDABLE


def parse_query(shape: str, *, is_call: bool = False) -> RestQuery:
    """Read a shape (or a whole query string, which is a shape without holes).

    `is_call`: for reads of functions, a parameter that is not a filter is an argument.
    Raises: BadQuery, RangeNotSatisfiable.
    """
    pairs = [
        Parameter(unquote_plus(key), unquote_plus(value.removesuffix(HOLE)), value.endswith(HOLE))
        for key, equals, value in (part.partition("=") for part in shape.split("&"))
        if equals
    ]
    structural = _ending(pairs, *_EMBEDDABLE)
    order = tuple(
        [
            (_parent(key, "order"), parse_order(value))
            for key, value, _ in _ending(structural, "order")
            if value
        ]
    )
    logic = tuple([_logic(key, value) for key, value, _ in _ending(structural, "and", "or")])
    first = {key: value for key, value, _ in reversed(pairs)}
    columns = _names(first.get("columns"), "columns parameter")
    select = parse_select(first.get("select") or "*")
    filters, arguments = _filters(pairs, is_call)
    on_conflict = _names(first.get("on_conflict"), "on_conflict parameter")
    added = [] if is_call else [parameter for parameter in pairs if _is_added(parameter)]
    cursor = _first(added, "cursor")
    return RestQuery(
        select=select,
        filters=filters,
        logic=logic,
        order=order,
        ranges=_ranges(structural),
        columns=columns,
        on_conflict=on_conflict,
        distinct=tuple(
            (_parent(key, "distinct"), parse_distinct(v)) for key, v, _ in _last(added, "distinct")
        ),
        having=tuple((_parent(key, "having"), parse_having(v)) for key, v, _ in _last(added, "having")),
        key=_names(_first(added, "key"), "key parameter"),
        nested=parse_nested(_first(added, "nested")),
        cursor=None if cursor is None else parse_cursor(cursor),
        arguments=arguments,
        canonical=_canonical(pairs),
        without_cursor=()
        if cursor is None
        else _canonical([parameter for parameter in pairs if parameter.key != "cursor"]),
    )


def _is_added(each: Parameter) -> bool:
    """Return whether a parameter is one beyond the standard grammar; a filter on a column of that name is not."""
    word = each.key.rpartition(".")[2]
    is_named = each.key in ADDED or word in ADDED_ANYWHERE
    return is_named and not is_filter(each.value)


def _last(pairs: Parameters, word: str) -> Parameters:
    return [parameter for parameter in pairs if parameter.key.rpartition(".")[2] == word]


def _ending(pairs: Parameters, *words: str) -> Parameters:
    return [
        parameter
        for parameter in pairs
        if parameter.key not in _RESERVED and parameter.key.rpartition(".")[2] in words
    ]


def _first(pairs: Parameters, name: str) -> str | None:
    return next((parameter.value for parameter in pairs if parameter.key == name), None)


def _parent(key: str, word: str) -> Path:
    """Read the path before a reserved word: `a.b.order` is `(a, b)`."""
    if key == word:
        return ()
    path, last = parse_tree_path(key[: -len(word) - 1])
    return (*path, last.name)


def _logic(key: str, value: str) -> tuple[Path, Logic]:
    path, operator, negated = parse_logic_path(key)
    return path, parse_logic(operator, negated, value)


def _names(text: str | None, what: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    scan = Scanner(text, what)
    names = []
    while True:
        scan.blanks()
        names.append(parse_name(scan))
        scan.blanks()
        if not scan.accept(","):
            break
    if not scan.at_end:
        scan.fail('","', "end of input")
    return tuple(dict.fromkeys(names))


def _filters(
    pairs: Parameters, is_call: bool
) -> tuple[tuple[tuple[Path, FieldFilter], ...], tuple[tuple[str, Operand], ...]]:
    filters: list[tuple[Path, FieldFilter]] = []
    arguments: list[tuple[str, Operand]] = []
    holes = 0
    for key, value, has_hole in pairs:
        if key in _RESERVED or key.rpartition(".")[2] in _EMBEDDABLE:
            continue
        if not is_call and _is_added(Parameter(key, value, has_hole)):
            continue
        slot = ParameterSlot(holes) if has_hole else None
        holes += has_hole
        if is_call and not is_filter(value):
            arguments.append((key, slot or value))
            continue
        path, field = parse_tree_path(key)
        filters.append((path, parse_filter(field, value, slot)))
    return tuple(filters), tuple(arguments)


def _ranges(pairs: Parameters) -> tuple[tuple[Path, RowRange], ...]:
    limits: dict[Path, int | None] = {}
    offsets: dict[Path, int] = {}
    for key, value, _ in _ending(pairs, "limit"):
        limits.setdefault(_parent(key, "limit"), parse_limit(value))
    for key, value, _ in _ending(pairs, "offset"):
        offsets.setdefault(_parent(key, "offset"), parse_offset(value))
    return tuple((path, RowRange(offsets.get(path, 0), limits.get(path))) for path in {**limits, **offsets})


def _canonical(pairs: Parameters) -> tuple[str | tuple[str, int], ...]:
    """Return the parameters sorted by key as pieces; `(prefix, n)` is a value whose prefix stands and whose rest is hole n."""
    numbered = []
    holes = 0
    for parameter in pairs:
        numbered.append((parameter, holes))
        holes += parameter.has_hole
    pieces: list[str | tuple[str, int]] = []
    for (key, value, has_hole), hole in sorted(numbered, key=lambda entry: entry[0].key):
        pieces.append(f"{'&' if pieces else ''}{_encoded(key)}=")
        encoded = _encoded(value)
        pieces.append((encoded, hole) if has_hole else encoded)
    return tuple(pieces)


def _encoded(text: str) -> str:
    """Percent-encode a key or a value; most are plain words."""
    return text if _UNRESERVED.fullmatch(text) else quote(text, safe="")
