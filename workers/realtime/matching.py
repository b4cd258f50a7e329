"""MATCH: which rows pass a filter, by SQL on the types of the columns.

Rows come as JSON in the form of `schemas.changes.Values`, and are read back into the columns' types; bytea stands there as
hexadecimal digits. A row that cannot be read back, or a filter that raises for it, does not match. What runs, and as whom:
conditions.py.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from schemas.realtime import Filter, Flags, MatchAsked
from workers.database.errors import DatabaseError
from workers.database.pool import Pool
from workers.database.session import Statement, Work
from workers.realtime.conditions import column_of, holds, work_of
from workers.realtime.errors import is_passing
from workers.realtime.numbers import Numbers
from workers.realtime.observations import tell_of_filter
from workers.sql.compose import Sql, catalog_text, concat, ident, join, param, qualified, raw
from workers.sql.files import read_statements

_SQL = read_statements("workers.realtime", "matching.sql")
_SETTINGS = (("search_path", ""), ("statement_timeout", "5s"))
_AS_FLAGS = bytes.maketrans(b"01", b"\0\1")
_TIMED_OUT = "57014"


class _Column(Struct, frozen=True):
    name: str
    type: str
    collation: tuple[str, str] | None
    is_builtin: bool


_read_column = msgspec.json.Decoder(_Column).decode


async def find_matching(database: Pool, asked: MatchAsked, numbers: Numbers) -> Flags:
    """Answer MATCH. Raises: DatabaseError and its siblings, where the server cannot answer now."""
    columns = await _columns(database, asked)
    if any(each.column not in columns for each in asked.filters):
        return Flags([bytes(len(asked.rows))])
    return Flags([await _matching(database, asked, columns, asked.rows, numbers)])


async def _columns(database: Pool, asked: MatchAsked) -> dict[str, _Column]:
    names = msgspec.json.encode(sorted({each.column for each in asked.filters}))
    parameters = [asked.schema.encode(), asked.table.encode(), names]
    rows = (await database.run(Work(_SETTINGS, [Statement(_SQL["columns"], parameters)])))[0]
    return {column.name: column for column in (_read_column(row[0] or b"") for row in rows)}


async def _matching(
    database: Pool, asked: MatchAsked, columns: dict[str, _Column], rows: Sequence[bytes], numbers: Numbers
) -> bytes:
    """Ask for all rows at once; if that fails, for each alone."""
    try:
        is_builtin = all(column.is_builtin for column in columns.values())
        found = (await database.run(work_of(_query(asked.filters, columns, rows), is_builtin)))[0]
        return (found[0][0] or b"").translate(_AS_FLAGS)
    except DatabaseError as error:
        if is_passing(error):
            raise
        if len(rows) == 1 or error.code == _TIMED_OUT:
            tell_of_filter(numbers, error, f"{asked.schema}.{asked.table}")
            return bytes(len(rows))
    return b"".join([await _matching(database, asked, columns, [row], numbers) for row in rows])


def _query(filters: Sequence[Filter], columns: dict[str, _Column], rows: Sequence[bytes]) -> Sql:
    read = join(", ", [_read(column) for column in columns.values()])
    held = join(") and (", [_held(each, columns[each.column]) for each in filters])
    return concat(
        raw("select pg_catalog.string_agg(case when ("), held, raw(") then '1' else '0' end, '')"),
        raw(" from pg_catalog.jsonb_to_recordset("), param(b"[" + b",".join(rows) + b"]"),
        raw(") as row ("), read, raw(")"),
    )  # fmt: skip


def _read(column: _Column) -> Sql:
    """Give the definition of a column of the rows."""
    if column.type == "bytea":
        return concat(ident(column.name), raw(" text"))
    collation = concat(raw(" collate "), qualified(*column.collation)) if column.collation else raw("")
    return concat(ident(column.name), raw(" "), catalog_text(column.type), collation)


def _held(condition: Filter, column: _Column) -> Sql:
    value = column_of(column.name)
    if column.type == "bytea":
        value = concat(raw("pg_catalog.decode("), value, raw(", 'hex')"))
    return holds(condition, value, catalog_text(column.type))
