"""The `select` parameter: columns, casts, aggregates, embeds and spreads.

Source: docs/reference/rest.md, section 6 (grammar), 8, 9, 10.
"""

import re
from functools import lru_cache

from workers.rest.model import STAR, FieldPath, SelectColumn, SelectEmbed, SelectItem
from workers.rest.parse.lexer import Scanner, parse_field, parse_name, parse_type

MAX_DEPTH = 60
"""Embeds inside one another; deeper is refused before it can exhaust the stack."""

MOST_ITEMS = 1600
"""Columns and embeds of one resource: what a table can have, and a little less than Postgres can give."""

_ALIAS = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[\w$][\w $]*(?:-(?!>)[\w $]+)*):(?!:)', re.DOTALL)

_PLAIN_COLUMNS = re.compile(r"[\w$]+(?:,[\w$]+)*(?=[,)]|\Z)")
"""Names of columns with nothing behind them, as most items are."""

_PLAIN_EMBED = re.compile(
    r"(?!count\()(?:(\.\.\.)(?!count\()|([\w$]+):(?!count\())?([\w$]+)(?:!(inner|left))?\("
)
"""What stands before the items of an embed, as most are written. `count()` is an aggregate."""

_LONG_NAME = 128
"""Longer names than Postgres can have are not kept."""

AGGREGATES = ("sum", "avg", "count", "max", "min")


def parse_select(text: str) -> tuple[SelectItem, ...]:
    """Read a whole `select`; an empty one is `*`.

    Raises: BadQuery.
    """
    if text == "*":
        return (STAR,)
    scan = Scanner(text, "select parameter")
    # What stands behind a whole select is not looked at, as in the original.
    return _forest(scan, 0) or (STAR,)


def _forest(scan: Scanner, depth: int) -> tuple[SelectItem, ...]:
    if depth > MAX_DEPTH:
        scan.fail(f"at most {MAX_DEPTH} resources inside one another")
    items: list[SelectItem] = []
    scan.blanks()
    if scan.at_end or scan.peek() == ")":
        return ()
    text = scan.text
    while True:
        if plain := _PLAIN_COLUMNS.match(text, scan.position):
            _add_columns(scan, items, plain)
        elif embed := _PLAIN_EMBED.match(text, scan.position):
            _check_count(scan, items)
            scan.position = embed.end()
            spread, alias, name, join = embed.groups()
            select = _forest(scan, depth + 1)
            scan.expect(")", '","', '")"')
            items.append(SelectEmbed(name, select, alias, None, join, spread is not None))
        else:
            _check_count(scan, items)
            items.append(_item(scan, depth))
        if not scan.comma():
            return tuple(items)


def _check_count(scan: Scanner, items: list[SelectItem]) -> None:
    if len(items) == MOST_ITEMS:
        scan.fail(f"at most {MOST_ITEMS} columns and resources side by side")


def _add_columns(scan: Scanner, items: list[SelectItem], plain: re.Match[str]) -> None:
    """Add the columns of a match to the items. Raises: BadQuery at the first that is one too many."""
    for name in plain[0].split(","):
        if len(items) == MOST_ITEMS:
            _check_count(scan, items)
        items.append(_plain_column(name) if len(name) < _LONG_NAME else SelectColumn(FieldPath(name)))
        scan.position += len(name) + 1
    scan.position = plain.end()


@lru_cache(maxsize=4096)
def _plain_column(name: str) -> SelectColumn:
    return SelectColumn(FieldPath(name))


def _item(scan: Scanner, depth: int) -> SelectItem:
    if scan.accept("..."):
        return _embed(scan, parse_name(scan), None, depth, is_spread=True)
    if scan.accept("*"):
        _item_end(scan)
        return STAR
    start = scan.position
    alias = _alias(scan)
    if scan.accept("count()"):
        return _column(scan, FieldPath("*"), alias, aggregate="count")
    name_start = scan.position
    field = parse_field(scan, *(() if alias or start != name_start else ('"..."',)))
    if not field.path and scan.peek() in ("!", "("):
        return _embed(scan, field.name, alias, depth, is_spread=False)
    return _column(scan, field, alias)


def _alias(scan: Scanner) -> str | None:
    """Read `alias:` if it stands here; `name::type` is a cast."""
    if not _ALIAS.match(scan.text, scan.position):
        return None
    name = parse_name(scan)
    scan.position += 1
    return name


def _embed(scan: Scanner, name: str, alias: str | None, depth: int, *, is_spread: bool) -> SelectEmbed:
    hint = join = None
    for _ in range(2):
        if not scan.accept("!"):
            break
        word = parse_name(scan)
        if word in ("inner", "left"):
            join = join or word
        else:
            hint = hint or word
    scan.expect("(")
    select = _forest(scan, depth + 1)
    scan.expect(")", '","', '")"')
    return SelectEmbed(name, select, alias, hint, join, is_spread)


def _column(scan: Scanner, field: FieldPath, alias: str | None, aggregate: str | None = None) -> SelectColumn:
    cast = None
    if aggregate is None:
        cast = parse_type(scan) if scan.accept("::") else None
        aggregate = parse_aggregate(scan)
    aggregate_cast = parse_type(scan) if aggregate and scan.accept("::") else None
    _item_end(scan)
    return SelectColumn(field, alias, cast, aggregate, aggregate_cast)


def parse_aggregate(scan: Scanner) -> str | None:
    """Read `.sum()` and its like, or `.count(distinct)`, if one stands here."""
    if scan.peek() != ".":
        return None
    for name in AGGREGATES:
        if scan.accept(f".{name}()"):
            return name
        if scan.accept(f".{name}(distinct)"):
            return f"{name}(distinct)"
    scan.position += 1
    scan.fail(*(f'"{name}()"' for name in AGGREGATES))


def _item_end(scan: Scanner) -> None:
    scan.blanks()
    if not scan.at_end and scan.peek() not in (",", ")"):
        scan.fail('","', "end of input")
