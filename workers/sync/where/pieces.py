"""What a parsed expression consists of: our own words, and references to columns, values, parameters and subqueries. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from workers.sync.names import TableName


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of the table of its SELECT; `qualifier` as it was written, may be empty."""

    name: str
    qualifier: tuple[str, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Value:
    """A constant text, whose type the context decides."""

    text: str


@dataclass(frozen=True, slots=True)
class ParamRef:
    """A parameter by its number, from 1."""

    number: int
    place: int


@dataclass(frozen=True, slots=True)
class Subquery:
    """Columns of another table, of the rows for which `where` is true."""

    columns: tuple[ColumnRef, ...]
    table: TableName
    where: "Pieces"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Word:
    """Constant text of ours."""

    text: str


Piece = Word | ColumnRef | Value | ParamRef | Subquery
Pieces = tuple[Piece, ...]


def subqueries_of(pieces: Pieces) -> Iterator[Subquery]:
    """Yield the subqueries of an expression, those inside of others too."""
    for piece in pieces:
        if isinstance(piece, Subquery):
            yield piece
            yield from subqueries_of(piece.where)
