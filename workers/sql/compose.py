"""SQL fragments with their parameters, and the only way to join them.

Text and parameters are kept together, so no step counts placeholders. Identifiers go through `ident`, operands through
`param`, constant text through `raw`. `render` numbers the placeholders once the statement is complete.
A parameter is a constant (bytes in Postgres' text format, or None) or a `ParameterSlot`, which is filled for each request,
so that a planned statement can be cached by the shape of its URL (architecture, decision 11).
Parameters are sent without a type, so Postgres infers it from the context, as for a quoted literal.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import LiteralString

from msgspec import Struct


class ParameterSlot(Struct, frozen=True):
    """A parameter filled at execution: `values[index]`, passed through `convert` where one is needed."""

    index: int
    convert: Callable[[str], bytes] | None = None


Param = bytes | None | ParameterSlot


_Parameter = tuple[Param]


class Sql(tuple["str | _Parameter | Sql", ...]):
    """A fragment: text, parameters, and other fragments, in order.

    Fragments are joined by reference and flattened once, when the statement is rendered: a large statement consists of
    thousands of them, and copying texts at each level took most of the planning time. It is a tuple of its pieces, because
    those are made without a call of Python code.
    """

    __slots__ = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts before, between and after the parameters: one more than there are parameters."""
        texts = [""]
        for piece in self.flattened():
            if isinstance(piece, str):
                texts[-1] += piece
            else:
                texts.append("")
        return tuple(texts)

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters in order."""
        return tuple(piece[0] for piece in self.flattened() if not isinstance(piece, str))

    def flattened(self) -> "list[str | _Parameter]":
        """Return texts and parameters in order, without nesting."""
        flat: list[str | _Parameter] = []
        append = flat.append
        open_fragments = [iter(self)]
        while open_fragments:
            for piece in open_fragments[-1]:
                if type(piece) is not Sql:
                    append(piece)  # type: ignore[arg-type]  # not a fragment
                elif len(piece) == 1 and type(piece[0]) is str:  # most are one text
                    append(piece[0])
                else:
                    open_fragments.append(iter(piece))
                    break
            else:
                open_fragments.pop()
        return flat

    def __add__(self, other: "Sql") -> "Sql":  # type: ignore[override]  # of a tuple in general it would be a tuple
        return concat(self, other)

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
    """Return a fragment of constant text (a literal in the source, never a value)."""
    return Sql((text,))


def number(value: int) -> Sql:
    """Return a number as text, for places where a parameter is not allowed."""
    return Sql((str(value),))


_LONG_NAME = 128


def ident(name: str) -> Sql:
    """Quote one identifier. Fragments of longer names than Postgres can have are not kept: clients choose them."""
    return _short_ident(name) if len(name) < _LONG_NAME else Sql((quoted(name),))


@lru_cache(maxsize=4096)
def _short_ident(name: str) -> Sql:
    return Sql((quoted(name),))


@lru_cache(maxsize=4096)
def qualified(*names: str) -> Sql:
    """Quote a dotted name: `qualified("public", "items")` is `"public"."items"`."""
    return Sql((".".join(quoted(name) for name in names),))


def quoted(name: str) -> str:
    """Return an identifier in double quotes, as text."""
    return '"' + name.replace('"', '""').replace("\x00", "") + '"'


def literal(text: str) -> Sql:
    """Quote a constant of the catalog as an SQL literal, for places where a parameter is not allowed."""
    escaped = text.replace("'", "''").replace("\x00", "")
    if "\\" in escaped:
        return Sql((" E'" + escaped.replace("\\", "\\\\") + "'",))
    return Sql(("'" + escaped + "'",))


def param(value: str | bytes | ParameterSlot | None) -> Sql:
    """Return a placeholder for a value."""
    return Sql(((value.encode() if isinstance(value, str) else value,),))


def type_name(text: str) -> Sql:
    """Return the type of a cast as a caller wrote it: only alphanumeric words, `_` and `$` included.

    Raises: ValueError for anything else, which the grammar does not produce.
    """
    if not _TYPE.fullmatch(text):
        raise ValueError("not the name of a type")
    return Sql((text,))


def catalog_text(text: str) -> Sql:
    """Return SQL that the server wrote into the catalog (`format_type`, a default expression). Never for a caller's text."""
    return Sql((text,))


def join(separator: LiteralString, parts: Iterable[Sql]) -> Sql:
    """Join fragments with a separator."""
    pieces: list[str | _Parameter | Sql] = []
    for place, part in enumerate(parts):
        if place:
            pieces.append(separator)
        pieces.append(part)
    return Sql(pieces)


def concat(*parts: Sql) -> Sql:
    """Concatenate fragments."""
    return Sql(filter(None, parts))


def with_literals(sql: Sql) -> str:
    """Return the statement's text with every parameter as a quoted literal, for commands that take none (COPY).

    An untyped literal gets its type from the context, as a parameter does. Raises: ValueError for a slot.
    """
    pieces: list[str] = []
    for piece in sql.flattened():
        if isinstance(piece, str):
            pieces.append(piece)
        elif piece[0] is None:
            pieces.append("null")
        elif isinstance(piece[0], bytes):
            pieces.extend(literal(piece[0].decode()))  # type: ignore[arg-type]  # it is one text
        else:
            raise ValueError("a slot has no value yet")
    return "".join(pieces)


def constant(sql: Sql) -> Sql:
    """Return a fragment without parameters as one text, so that joining it costs little. Raises: ValueError if it has some."""
    text, params = render(sql)
    if params:
        raise ValueError("a constant fragment has no parameters")
    return Sql((text,))


def render(sql: Sql) -> tuple[str, tuple[Param, ...]]:
    """Return the statement's text with `$1`, `$2`... and its parameters in that order."""
    params: list[Param] = []
    pieces = sql.flattened()
    for place, piece in enumerate(pieces):
        if type(piece) is tuple:
            params.append(piece[0])
            pieces[place] = f"${len(params)}"
    return "".join(pieces), tuple(params)  # type: ignore[arg-type]  # every parameter has become a text
