"""The query string as a whole: from text to `Query`, and its shape.

The shape of a URL is its query string with the values of plain filters left out. Requests of one shape share one plan
(architecture, decision 11), so the values come beside it and fill the plan's slots. A value with any syntax of its own
(logic trees, `is`, arrays of any/all, full-text) stays part of the shape.
Source: docs/reference/rest.md, section 6.
"""

import re
from collections import defaultdict
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import quote, unquote_plus

from msgspec.structs import replace

from workers.rest.model import FieldFilter, Logic, Operand, OrderTerm, Path, RestQuery, RowRange
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
_LOGIC = frozenset({"and", "or"})
_EMBEDDABLE = frozenset({"order", "limit", "offset", *_LOGIC})
_NO_COLUMNS = _RESERVED | _EMBEDDABLE
_BY_KEY = itemgetter(0)
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]*")
_PLAIN = re.compile(r"(?:not\.)?(?:eq|neq|gt|gte|lt|lte|like|ilike|match|imatch|in)\.")


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
    has_hole = HOLE in query
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if not equals or (has_hole and HOLE in part) or not _is_column(key):
            shape.append(part.replace(HOLE, "%00"))
            continue
        match = _PLAIN.match(value)
        if match is None:
            argument = unquote_plus(value)
            if is_call and not is_filter(argument):
                shape.append(f"{key}={HOLE}")
                values.append(argument)
            else:
                shape.append(part)
            continue
        prefix, operand = match[0], value[match.end() :]
        if "%" in operand or "+" in operand:
            operand = unquote_plus(operand)
        if prefix.endswith("in.") and not (operand.startswith("(") and operand.endswith(")")):
            shape.append(part)
            continue
        shape.append(f"{key}={prefix}{HOLE}")
        values.append(operand)
    return "&".join(shape), values


def _is_column(key: str) -> bool:
    if key in _NO_COLUMNS or "%" in key or "+" in key:
        return False
    return "." not in key or key.rpartition(".")[2] not in _EMBEDDABLE


def parse_query(shape: str, *, is_call: bool = False) -> RestQuery:
    """Read a shape (or a whole query string, which is a shape without holes).

    `is_call`: for reads of functions, a parameter that is not a filter is an argument.
    Raises: BadQuery, RangeNotSatisfiable.
    """
    pairs = _parameters(shape)
    named = _by_word(pairs, is_call)
    order: dict[Path, tuple[OrderTerm, ...]] = {}
    for key, value, _ in named["order"]:
        if value:
            order.setdefault(_parent(key, "order"), parse_order(value))
    logic = tuple([_logic(key, value) for key, value, _ in named["logic"]])
    first = {key: value for key, value, _ in reversed(pairs)}
    columns = _names(first.get("columns"), "columns parameter")
    select = parse_select(first.get("select") or "*")
    filters, arguments = _filters(named["filter"], is_call)
    query = RestQuery(
        select=select,
        filters=filters,
        logic=logic,
        order=tuple(order.items()),
        columns=columns,
        on_conflict=_names(first.get("on_conflict"), "on_conflict parameter"),
        ranges=_ranges(named["limit"], named["offset"]),
        arguments=arguments,
        canonical=_canonical(pairs),
    )
    return _with_additions(query, pairs, named["added"]) if named["added"] else query


def _parameters(shape: str) -> Parameters:
    """Decode the parameters of a shape."""
    pairs = []
    for part in shape.split("&"):
        key, equals, value = part.partition("=")
        if not equals:
            continue
        has_hole = value.endswith(HOLE)
        if has_hole:
            value = value[:-1]
        if "%" in part or "+" in part:
            key, value = unquote_plus(key), unquote_plus(value)
        pairs.append(Parameter(key, value, has_hole))
    return pairs


def _by_word(pairs: Parameters, is_call: bool) -> defaultdict[str, Parameters]:
    """Sort parameters by what they are: the word of `order`, `limit` and `offset`, `logic`, `added` and `filter`."""
    named: defaultdict[str, Parameters] = defaultdict(list)
    for parameter in pairs:
        key, value, _ = parameter
        word = key.rpartition(".")[2]
        if key in _RESERVED:
            continue
        if word in _EMBEDDABLE:
            named["logic" if word in _LOGIC else word].append(parameter)
        # A filter on a column that has the name of an addition is none.
        elif not is_call and (key in ADDED or word in ADDED_ANYWHERE) and not is_filter(value):
            named["added"].append(parameter)
        else:
            named["filter"].append(parameter)
    return named


def _with_additions(query: RestQuery, pairs: Parameters, added: Parameters) -> RestQuery:
    """Add the parameters beyond the standard grammar. Raises: BadQuery."""
    first = {key: value for key, value, _ in reversed(added)}
    cursor = first.get("cursor")
    return replace(
        query,
        distinct=tuple(
            [(_parent(key, "distinct"), parse_distinct(v)) for key, v, _ in _last(added, "distinct")]
        ),
        having=tuple([(_parent(key, "having"), parse_having(v)) for key, v, _ in _last(added, "having")]),
        key=_names(first.get("key"), "key parameter"),
        nested=parse_nested(first.get("nested")),
        cursor=None if cursor is None else parse_cursor(cursor),
        without_cursor=()
        if cursor is None
        else _canonical(
            [parameter for parameter in pairs if parameter.key != "cursor" or is_filter(parameter.value)]
        ),
    )


def _last(pairs: Parameters, word: str) -> Parameters:
    return [parameter for parameter in pairs if parameter.key.rpartition(".")[2] == word]


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
    scan.blanks()
    while True:
        names.append(parse_name(scan))
        if not scan.comma():
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
        slot = ParameterSlot(holes) if has_hole else None
        holes += has_hole
        if is_call and not is_filter(value):
            arguments.append((key, slot or value))
            continue
        path, field = parse_tree_path(key)
        filters.append((path, parse_filter(field, value, slot)))
    return tuple(filters), tuple(arguments)


def _ranges(limited: Parameters, moved: Parameters) -> tuple[tuple[Path, RowRange], ...]:
    if not limited and not moved:
        return ()
    limits: dict[Path, int | None] = {}
    offsets: dict[Path, int] = {}
    for key, value, _ in limited:
        limits[_parent(key, "limit")] = parse_limit(value)
    for key, value, _ in moved:
        offsets[_parent(key, "offset")] = parse_offset(value)
    return tuple([(path, RowRange(offsets.get(path, 0), limits.get(path))) for path in {**limits, **offsets}])


def _canonical(pairs: Parameters) -> tuple[str | tuple[str, int], ...]:
    """Return the parameters sorted by key as pieces; `(prefix, n)` is a value whose prefix stands and whose rest is hole n."""
    numbered = []
    holes = 0
    for key, value, has_hole in pairs:
        numbered.append((key, value, has_hole, holes))
        holes += has_hole
    numbered.sort(key=_BY_KEY)
    pieces: list[str | tuple[str, int]] = []
    for key, value, has_hole, hole in numbered:
        name = key if _UNRESERVED.fullmatch(key) else quote(key, safe="")
        pieces.append(f"{'&' if pieces else ''}{name}=")
        encoded = value if _UNRESERVED.fullmatch(value) else quote(value, safe="")
        pieces.append((encoded, hole) if has_hole else encoded)
    return tuple(pieces)
