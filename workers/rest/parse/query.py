"""The query string as a whole: from text to `Query`, and its shape.

The shape of a URL is its query string with the values of plain filters left out. Requests of one shape share one plan
(architecture, decision 11), so the values come beside it and fill the plan's slots. A value with any syntax of its own
(logic trees, `is`, arrays of any/all, full-text) stays part of the shape.
Source: reference page "rest", section 6.
"""

import re
from urllib.parse import quote_plus, unquote_plus

from workers.rest.model import Filter, Logic, Operand, Path, Query, Range
from workers.rest.parse.filters import is_filter, parse_filter, parse_logic, parse_logic_path, parse_tree_path
from workers.rest.parse.lexer import Scanner, parse_name
from workers.rest.parse.order import parse_order
from workers.rest.parse.ranges import parse_limit, parse_offset
from workers.rest.parse.select import parse_select
from workers.sql.compose import Slot

HOLE = "\x00"
"""Stands in a shape for a value that each request brings."""

_RESERVED = frozenset({"select", "columns", "on_conflict"})
_EMBEDDABLE = frozenset({"order", "limit", "offset", "and", "or"})
_PLAIN = re.compile(r"((?:not\.)?(?:eq|neq|gt|gte|lt|lte|like|ilike|match|imatch|in)\.)(.*)", re.DOTALL)

Pairs = list[tuple[str, str]]


def shape_of(query: str, *, is_call: bool = False) -> tuple[str, list[str]]:
    """Split a raw query string into its shape and the values left out of it, in order.

    `is_call`: what is no filter is an argument, and left out as well.
    """
    if not query:
        return "", []
    shape, values = [], []
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        found = _PLAIN.fullmatch(value) if equals else None
        if not equals or HOLE in part or not _is_column(key):
            shape.append(part)
            continue
        if found is None:
            argument = unquote_plus(value)
            if is_call and not is_filter(argument):
                shape.append(f"{key}={HOLE}")
                values.append(argument)
            else:
                shape.append(part)
            continue
        operand = unquote_plus(found[2])
        if found[1].endswith("in.") and not (operand.startswith("(") and operand.endswith(")")):
            shape.append(part)
            continue
        shape.append(f"{key}={found[1]}{HOLE}")
        values.append(operand)
    return "&".join(shape), values


def _is_column(key: str) -> bool:
    if key in _RESERVED or "%" in key or "+" in key:
        return False
    return key.rpartition(".")[2] not in _EMBEDDABLE


def parse_query(shape: str, *, is_call: bool = False) -> Query:
    """Read a shape (or a whole query string, which is a shape without holes).

    `is_call`: reads of functions take what is no filter as an argument.
    Raises: BadQuery, RangeNotSatisfiable.
    """
    pairs = [
        (unquote_plus(k), unquote_plus(v)) for k, eq, v in (p.partition("=") for p in shape.split("&")) if eq
    ]
    order = tuple(
        (_parent(key, "order"), parse_order(value)) for key, value in _ending(pairs, "order") if value
    )
    logic = tuple(_logic(key, value) for key, value in _ending(pairs, "and", "or"))
    columns = _names(_first(pairs, "columns"), "columns parameter")
    select = parse_select(_first(pairs, "select") or "*")
    filters, arguments = _filters(pairs, is_call)
    on_conflict = _names(_first(pairs, "on_conflict"), "on_conflict parameter")
    return Query(
        select, filters, logic, order, _ranges(pairs), columns, on_conflict, arguments, _canonical(pairs)
    )


def _ending(pairs: Pairs, *words: str) -> Pairs:
    return [(key, value) for key, value in pairs if key not in _RESERVED and key.rpartition(".")[2] in words]


def _first(pairs: Pairs, name: str) -> str | None:
    return next((value for key, value in pairs if key == name), None)


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
    pairs: Pairs, is_call: bool
) -> tuple[tuple[tuple[Path, Filter], ...], tuple[tuple[str, Operand], ...]]:
    filters: list[tuple[Path, Filter]] = []
    arguments: list[tuple[str, Operand]] = []
    holes = 0
    for key, value in pairs:
        if key in _RESERVED or key.rpartition(".")[2] in _EMBEDDABLE:
            continue
        slot = Slot(holes) if value.endswith(HOLE) else None
        holes += slot is not None
        if is_call and not is_filter(value):
            arguments.append((key, slot or value))
            continue
        path, field = parse_tree_path(key)
        filters.append((path, parse_filter(field, value, slot)))
    return tuple(filters), tuple(arguments)


def _ranges(pairs: Pairs) -> tuple[tuple[Path, Range], ...]:
    limits: dict[Path, int | None] = {}
    offsets: dict[Path, int] = {}
    for key, value in _ending(pairs, "limit"):
        limits.setdefault(_parent(key, "limit"), parse_limit(value))
    for key, value in _ending(pairs, "offset"):
        offsets.setdefault(_parent(key, "offset"), parse_offset(value))
    return tuple((path, Range(offsets.get(path, 0), limits.get(path))) for path in {**limits, **offsets})


def _canonical(pairs: Pairs) -> tuple[str | tuple[str, int], ...]:
    """Give the parameters sorted by key as pieces; `(prefix, n)` is a value whose prefix stands and whose rest is hole n."""
    numbered = []
    holes = 0
    for key, value in pairs:
        numbered.append((key, value, holes))
        holes += value.endswith(HOLE)
    pieces: list[str | tuple[str, int]] = []
    for key, value, hole in sorted(numbered, key=lambda entry: entry[0]):
        pieces.append(f"{'&' if pieces else ''}{quote_plus(key)}=")
        pieces.append((quote_plus(value[:-1]), hole) if value.endswith(HOLE) else quote_plus(value))
    return tuple(pieces)
