"""Sql: a fragment of SQL with its parameters, and the only way to join fragments.

Text and parameters travel together, so no step counts placeholders. Identifiers pass `ident`; operands pass
`param`; text known in advance passes `raw`. `render` numbers the placeholders once the statement is whole.
A parameter is a constant (bytes in Postgres' text format, or None) or a `Slot`: a place that is filled for each
request, which lets a planned statement be kept by the shape of its URL (architecture, decision 11).
Parameters are sent without a type, so Postgres infers it from the place, as for a quoted literal.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import LiteralString


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter filled at execution: `values[index]`, passed through `convert` where one is needed."""

    index: int
    convert: Callable[[str], bytes] | None = None


Param = bytes | None | Slot


_Hole = tuple[Param]


class Sql:
    """A fragment: text, holes for parameters, and other fragments, in their order.

    Fragments are joined by reference and flattened once, when the statement is rendered: a large statement is made of
    thousands of them, and copying texts at each level took most of the time of planning.
    """

    __slots__ = ("_pieces",)

    def __init__(self, pieces: "tuple[str | _Hole | Sql, ...]") -> None:
        self._pieces = pieces

    @property
    def texts(self) -> tuple[str, ...]:
        """Give the text between the parameters: one piece more than there are of them."""
        texts = [""]
        for piece in self.flattened():
            if isinstance(piece, str):
                texts[-1] += piece
            else:
                texts.append("")
        return tuple(texts)

    @property
    def params(self) -> tuple[Param, ...]:
        """Give the parameters in their order."""
        return tuple(piece[0] for piece in self.flattened() if not isinstance(piece, str))

    def flattened(self) -> "list[str | _Hole]":
        """Give text and holes without the fragments around them."""
        flat: list[str | _Hole] = []
        waiting: list[str | _Hole | Sql] = [self]
        while waiting:
            piece = waiting.pop()
            if type(piece) is Sql:
                waiting.extend(reversed(piece._pieces))
            else:
                flat.append(piece)  # type: ignore[arg-type]  # what is no fragment
        return flat

    def __add__(self, other: "Sql") -> "Sql":
        return concat(self, other)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sql) and (self.texts, self.params) == (other.texts, other.params)

    def __hash__(self) -> int:
        return hash((self.texts, self.params))

    def __repr__(self) -> str:
        return f"Sql({render(self)[0]!r})"


EMPTY = Sql(())
_TYPE = re.compile(r"[\w $]+")


@lru_cache(maxsize=4096)
def raw(text: LiteralString) -> Sql:
    """Make a fragment of text known in advance (a literal in the source, never a value)."""
    return Sql((text,))


def number(value: int) -> Sql:
    """Write a number into the text, for places where no parameter may stand."""
    return Sql((str(value),))


@lru_cache(maxsize=4096)
def ident(name: str) -> Sql:
    """Quote one identifier."""
    return Sql((quoted(name),))


@lru_cache(maxsize=4096)
def qualified(*names: str) -> Sql:
    """Quote a dotted name: `qualified("public", "items")` is `"public"."items"`."""
    return Sql((".".join(quoted(name) for name in names),))


def quoted(name: str) -> str:
    """Give an identifier between double quotes, as text."""
    return '"' + name.replace('"', '""').replace("\x00", "") + '"'


def literal(text: str) -> Sql:
    """Quote a constant of the catalog as an SQL literal, for places where no parameter may stand."""
    escaped = text.replace("'", "''").replace("\x00", "")
    if "\\" in escaped:
        return Sql((" E'" + escaped.replace("\\", "\\\\") + "'",))
    return Sql(("'" + escaped + "'",))


def param(value: str | bytes | Slot | None) -> Sql:
    """Make a placeholder for a value."""
    return Sql(((value.encode() if isinstance(value, str) else value,),))


def type_name(text: str) -> Sql:
    """Give the type of a cast as a caller wrote it: words of letters, digits, `_` and `$` only.

    Raises: ValueError for anything else; the grammar lets nothing else through.
    """
    if not _TYPE.fullmatch(text):
        raise ValueError("not the name of a type")
    return Sql((text,))


def catalog_text(text: str) -> Sql:
    """Take SQL that the catalog itself wrote (`format_type`, a default expression). Never for a caller's text."""
    return Sql((text,))


def join(separator: LiteralString, parts: Iterable[Sql]) -> Sql:
    """Put fragments side by side with a separator between them."""
    pieces: list[str | _Hole | Sql] = []
    for place, part in enumerate(parts):
        if place:
            pieces.append(separator)
        pieces.append(part)
    return Sql(tuple(pieces))


def concat(*parts: Sql) -> Sql:
    """Put fragments side by side."""
    return Sql(tuple([part for part in parts if part._pieces]))


def render(sql: Sql) -> tuple[str, tuple[Param, ...]]:
    """Give the statement's text with `$1`, `$2`... and its parameters in that order."""
    texts: list[str] = []
    params: list[Param] = []
    for piece in sql.flattened():
        if isinstance(piece, str):
            texts.append(piece)
        else:
            params.append(piece[0])
            texts.append(f"${len(params)}")
    return "".join(texts), tuple(params)


def bind(params: Sequence[Param], values: Sequence[str]) -> list[bytes | None]:
    """Fill the slots of a rendered statement with the values of one request."""
    bound: list[bytes | None] = []
    for param in params:
        if isinstance(param, Slot):
            value = values[param.index]
            bound.append(param.convert(value) if param.convert else value.encode())
        else:
            bound.append(param)
    return bound
