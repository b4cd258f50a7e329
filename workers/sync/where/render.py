"""Writes a parsed expression as SQL, with the columns of the tables that the caller may read. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.sql.compose import Sql, catalog_text, concat, ident, join, param, qualified, raw
from workers.sync.names import TableName
from workers.sync.where.pieces import ColumnRef, ParamRef, Pieces, Subquery, Value, Word
from workers.sync.where.tokens import ExpressionRejected, rejected

ALIAS = "hw_row"
"""Of the shape's own table; the tables of subqueries get numbers."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may name: the readable columns of each table, and the values of its parameters."""

    readable: Mapping[TableName, frozenset[str]]
    params: Sequence[str | None]


def render_where(pieces: Pieces, table: TableName, scope: Scope, alias: str = ALIAS) -> Sql:
    """Return the expression as SQL. Raises: ExpressionRejected for a name or parameter that is not there."""
    return _render(pieces, table, alias, scope, iter(range(1, 1000)))


def _render(pieces: Pieces, table: TableName, alias: str, scope: Scope, numbers: Iterator[int]) -> Sql:
    readable = scope.readable.get(table)
    if readable is None:
        raise ExpressionRejected(f'Table "{table[0]}"."{table[1]}" does not exist')
    parts: list[Sql] = []
    for piece in pieces:
        match piece:
            case Word(text):
                parts.append(catalog_text(text))
            case Value(text):
                parts.append(param(text))
            case ParamRef(number, place):
                if not 1 <= number <= len(scope.params):
                    raise rejected(place, f"parameter ${number} was not provided")
                parts.append(param(scope.params[number - 1]))
            case ColumnRef():
                parts.append(_column(piece, table, alias, readable))
            case Subquery():
                parts.append(_subquery(piece, scope, numbers))
    return concat(*parts)


def _column(ref: ColumnRef, table: TableName, alias: str, readable: frozenset[str]) -> Sql:
    if ref.qualifier not in ((), (table[1],), table) or ref.name not in readable:
        shown = ".".join((*ref.qualifier, ref.name))
        raise rejected(ref.place, f"unknown reference {shown}")
    return qualified(alias, ref.name)


def _subquery(piece: Subquery, scope: Scope, numbers: Iterator[int]) -> Sql:
    alias = f"hw_inner_{next(numbers)}"
    readable = scope.readable.get(piece.table)
    if readable is None:
        raise ExpressionRejected(f'Table "{piece.table[0]}"."{piece.table[1]}" does not exist')
    columns = join(", ", [_column(ref, piece.table, alias, readable) for ref in piece.columns])
    head = concat(raw("select "), columns, raw(" from "), qualified(*piece.table), raw(" as "), ident(alias))
    if not piece.where:
        return head
    return concat(head, raw(" where "), _render(piece.where, piece.table, alias, scope, numbers))
