"""Finds the columns that must equal a constant for a row to be in a shape. Pure.

A change of a row whose new value differs cannot bring the row in, so a shape that does not have the row need not look at it: what a
change costs does not grow with the shapes that it does not concern. Only types are taken whose texts are equal where the values are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from workers.sync.where.pieces import ColumnRef, ParamRef, Piece, Pieces, Value, Word

_NUMBERS = frozenset({"int2", "int4", "int8"})
_TEXTS = frozenset({"text", "varchar"})
COMPARABLE = _NUMBERS | _TEXTS | {"uuid"}
_PRINTED_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A uuid as Postgres prints it; it reads a hyphen after any four digits, braces and capital letters as well."""


def equal_columns(pieces: Pieces, types: Mapping[str, str], params: Sequence[str | None]) -> dict[str, str]:
    """Return column -> text of its constant, for columns of `types` (name -> type) that are compared by AND alone."""
    found: dict[str, str] = {}
    for part in _conditions(pieces):
        match part:
            case (Word("("), ColumnRef(name=name), Word(" = "), constant, Word(")")) if name in types:
                text = _constant(constant, params)
                canonical = None if text is None else _canonical(text, types[name])
                if canonical is not None:
                    found.setdefault(name, canonical)
    return found


def _conditions(pieces: Pieces) -> Iterator[Pieces]:
    """Yield the conditions of which all must be true. A client writes hundreds of them: each piece is looked at once."""
    closing, and_places = _groups(pieces)
    pending = [(0, len(pieces))]
    while pending:
        start, stop = pending.pop()
        while closing.get(start) == stop - 1 and closing.get(start + 1) == stop - 2:
            start, stop = start + 1, stop - 1  # an expression in parentheses of its own
        place = and_places.get(start) if closing.get(start) == stop - 1 else None
        if place is None:
            yield pieces[start:stop]
        else:
            pending += [(place + 1, stop - 1), (start + 1, place)]


def _groups(pieces: Pieces) -> tuple[dict[int, int], dict[int, int]]:
    """Return where each parenthesis that stands alone is closed, and where the first AND directly inside of it is."""
    closing: dict[int, int] = {}
    and_places: dict[int, int] = {}
    opened: list[int] = []
    for place, piece in enumerate(pieces):
        if not isinstance(piece, Word):
            continue
        if piece.text == " and " and opened:
            and_places.setdefault(opened[-1], place)
        for sign in piece.text:
            if sign == "(":
                opened.append(place)
            elif sign == ")" and opened:
                start = opened.pop()
                if pieces[start] == Word("(") and piece.text == ")":
                    closing[start] = place
    return closing, and_places


def _constant(piece: Piece, params: Sequence[str | None]) -> str | None:
    match piece:
        case Value(text=text) | Word(text=text):
            return text
        case ParamRef(number=number) if 1 <= number <= len(params):
            return params[number - 1]
    return None


def _canonical(text: str, kind: str) -> str | None:
    """Return the text that Postgres prints for a constant; None if that is not certain."""
    if kind in _TEXTS:
        return text
    if kind in _NUMBERS:
        is_plain = text.isascii() and text.isdigit() and len(text) < 19 and (text == "0" or text[0] != "0")
        return text if is_plain else None
    return text if _PRINTED_UUID.fullmatch(text) else None
