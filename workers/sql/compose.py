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
from typing import LiteralString


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter filled at execution: `values[index]`, passed through `convert` where one is needed."""

    index: int
    convert: Callable[[str], bytes] | None = None


Param = bytes | None | Slot


@dataclass(frozen=True, slots=True)
class Sql:
    """A fragment: pieces of text with the parameters between them (`len(texts) == len(params) + 1`)."""

    texts: tuple[str, ...]
    params: tuple[Param, ...] = ()

    def __add__(self, other: "Sql") -> "Sql":
        seam = self.texts[-1] + other.texts[0]
        return Sql((*self.texts[:-1], seam, *other.texts[1:]), self.params + other.params)

    def __bool__(self) -> bool:
        return self.texts != ("",)


EMPTY = Sql(("",))
_TYPE = re.compile(r"[\w $]+")


def raw(text: LiteralString) -> Sql:
    """Make a fragment of text known in advance (a literal in the source, never a value)."""
    return Sql((text,))


def ident(name: str) -> Sql:
    """Quote one identifier."""
    return Sql((quoted(name),))


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
    return Sql(("", ""), (value.encode() if isinstance(value, str) else value,))


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
    texts: list[str] = [""]
    params: list[Param] = []
    for number, part in enumerate(parts):
        if number:
            texts[-1] += separator
        texts[-1] += part.texts[0]
        texts.extend(part.texts[1:])
        params.extend(part.params)
    return Sql(tuple(texts), tuple(params))


def concat(*parts: Sql) -> Sql:
    """Put fragments side by side."""
    return join("", parts)


def render(sql: Sql) -> tuple[str, tuple[Param, ...]]:
    """Give the statement's text with `$1`, `$2`... and its parameters in that order."""
    pieces = [sql.texts[0]]
    for number, text in enumerate(sql.texts[1:], start=1):
        pieces.append(f"${number}")
        pieces.append(text)
    return "".join(pieces), sql.params


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
