"""Finds the columns that must equal a constant for a row to be in a shape. Pure.

A change of a row whose new value differs cannot bring the row in, so a shape that does not have the row need not look at it: what a
change costs does not grow with the shapes that it does not concern. Only types are taken whose texts are equal where the values are.
"""

from collections.abc import Iterator, Mapping, Sequence

from workers.sync.where.pieces import ColumnRef, ParamRef, Piece, Pieces, Value, Word

_NUMBERS = frozenset({"int2", "int4", "int8"})
_TEXTS = frozenset({"text", "varchar"})
COMPARABLE = _NUMBERS | _TEXTS | {"uuid"}


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
    """Yield the conditions of which all must be true."""
    while _is_wrapped(pieces):
        pieces = pieces[1:-1]
    place = _outer_and(pieces)
    if place is None:
        yield pieces
        return
    yield from _conditions(pieces[1:place])
    yield from _conditions(pieces[place + 1 : -1])


def _is_wrapped(pieces: Pieces) -> bool:
    """Return whether an expression is another one in parentheses of its own."""
    if len(pieces) < 5 or pieces[0] != Word("(") or pieces[-1] != Word(")") or pieces[1] != Word("("):
        return False
    depth = 0
    for place, piece in enumerate(pieces[1:-1], 1):
        if isinstance(piece, Word):
            depth += piece.text.count("(") - piece.text.count(")")
        if depth == 0:
            return place == len(pieces) - 2
    return False


def _outer_and(pieces: Pieces) -> int | None:
    """Return where the AND of an expression `(left and right)` is."""
    depth = 0
    for place, piece in enumerate(pieces):
        if isinstance(piece, Word):
            if piece.text == " and " and depth == 1:
                return place
            depth += piece.text.count("(") - piece.text.count(")")
    return None


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
    is_uuid = len(text) == 36 and text == text.lower() and text.replace("-", "").isalnum()
    return text if is_uuid else None
