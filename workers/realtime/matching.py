"""MATCH: which rows pass a filter, by SQL on the types of the columns.

Rows arrive as JSON in the form of `schemas.changes.Values`, and are read back into the columns' types; bytea is written there as
hexadecimal digits. A row that cannot be read back, or for which a filter raises an error, does not match. The role and the
search path of these statements: conditions.py.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from schemas.realtime import FilterCondition, MatchQuery, RowFlags
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement, TransactionSpec
from workers.realtime.conditions import column_of, condition_sql, work_of
from workers.realtime.errors import is_passing
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.observations import report_filter_error
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


async def find_matching(database: ConnectionPool, query: MatchQuery, metrics: RealtimeMetrics) -> RowFlags:
    """Answer MATCH. Raises: DatabaseError, Disconnected, PoolTimeout if the server cannot answer now."""
    columns = await _columns(database, query)
    if any(condition.column not in columns for condition in query.filters):
        return RowFlags([bytes(len(query.rows))])
    return RowFlags([await _matching(database, query, columns, query.rows, metrics)])


async def _columns(database: ConnectionPool, query: MatchQuery) -> dict[str, _Column]:
    names = msgspec.json.encode(sorted({condition.column for condition in query.filters}))
    parameters = [query.schema.encode(), query.table.encode(), names]
    rows = (await database.run(TransactionSpec(_SETTINGS, [Statement(_SQL["columns"], parameters)])))[0]
    return {column.name: column for column in (_read_column(row[0] or b"") for row in rows)}


async def _matching(
    database: ConnectionPool,
    query: MatchQuery,
    columns: dict[str, _Column],
    rows: Sequence[bytes],
    metrics: RealtimeMetrics,
) -> bytes:
    """Evaluate all rows in one statement; if that fails, each in a statement of its own."""
    try:
        is_builtin = all(column.is_builtin for column in columns.values())
        flags = (await database.run(work_of(_select(query.filters, columns, rows), is_builtin)))[0]
        return (flags[0][0] or b"").translate(_AS_FLAGS)
    except DatabaseError as error:
        if is_passing(error):
            raise
        if len(rows) == 1 or error.code == _TIMED_OUT:
            report_filter_error(metrics, error, f"{query.schema}.{query.table}")
            return bytes(len(rows))
    return b"".join([await _matching(database, query, columns, [row], metrics) for row in rows])


def _select(filters: Sequence[FilterCondition], columns: dict[str, _Column], rows: Sequence[bytes]) -> Sql:
    definitions = join(", ", [_definition(column) for column in columns.values()])
    conditions = join(") and (", [_condition(one, columns[one.column]) for one in filters])
    return concat(
        raw("select pg_catalog.string_agg(case when ("), conditions, raw(") then '1' else '0' end, '')"),
        raw(" from pg_catalog.jsonb_to_recordset("), param(b"[" + b",".join(rows) + b"]"),
        raw(") as row ("), definitions, raw(")"),
    )  # fmt: skip


def _definition(column: _Column) -> Sql:
    """Return the definition of a column of the rows."""
    if column.type == "bytea":
        return concat(ident(column.name), raw(" text"))
    collation = concat(raw(" collate "), qualified(*column.collation)) if column.collation else raw("")
    return concat(ident(column.name), raw(" "), catalog_text(column.type), collation)


def _condition(condition: FilterCondition, column: _Column) -> Sql:
    value = column_of(column.name)
    if column.type == "bytea":
        value = concat(raw("pg_catalog.decode("), value, raw(", 'hex')"))
    return condition_sql(condition, value, catalog_text(column.type))
