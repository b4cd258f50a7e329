"""Reads rows of a table as the stream of changes writes them: all of them in one snapshot, or some by key.

It runs as `service_role`, which sees all rows and whose SQL role postgres manages anyway: types of a project may have code of their own.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from schemas.changes import Values
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.rows import Row
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement, TransactionSpec
from workers.sql.compose import quoted
from workers.streams.model import SourceColumn, SourceTable
from workers.streams.selection import passes_filters

_FIRST_ROWS, _MOST_ROWS, _PAGE_BYTES = 16, 2000, 8 * 1024 * 1024
"""Rows of one FETCH, which are in memory at once: few at first, then as many as make so many bytes."""
_SETTINGS = (
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "1"),
    ("row_security", "off"),
    ("statement_timeout", "60000"),
    ("idle_in_transaction_session_timeout", "0"),
    ("role", "service_role"),
)
_POINT = Statement(
    "select pg_catalog.pg_current_snapshot()::pg_catalog.text, (pg_catalog.pg_current_wal_insert_lsn() - '0/0')::pg_catalog.int8"
)


class TableSnapshot:
    """All rows of a table at one moment. `text` and `lsn`: the snapshot, and a position behind every commit that it may see."""

    def __init__(self, transaction: Transaction, table: SourceTable, text: str, lsn: int) -> None:
        self._transaction, self._table, self.text, self.lsn = transaction, table, text, lsn

    async def pages(self) -> AsyncIterator[list[Values]]:
        """Yield the rows that pass the filters, page by page. Raises: DatabaseError, Disconnected."""
        await self._transaction.run(
            Statement(f"declare hw_stream no scroll cursor for {_select(self._table)}")
        )
        count = _FIRST_ROWS
        while True:
            (rows,) = await self._transaction.run(Statement(f"fetch {count} from hw_stream"))
            yield _picked(self._table, rows)
            if len(rows) < count:
                return
            size = sum(len(value or b"") for row in rows for value in row)
            count = max(1, min(_MOST_ROWS, 2 * count, count * _PAGE_BYTES // max(size, 1)))


@asynccontextmanager
async def open_snapshot(database: ConnectionPool, table: SourceTable) -> AsyncIterator[TableSnapshot]:
    """Yield a snapshot. Raises: DatabaseError, Disconnected, PoolTimeout."""
    async with database.transaction(_SETTINGS, is_snapshot=True) as transaction:
        ((row,),) = await transaction.run(_POINT)
        yield TableSnapshot(transaction, table, (row[0] or b"").decode(), int(row[1] or 0))


async def read_keys(
    database: ConnectionPool, table: SourceTable, keys: Sequence[tuple[bytes, ...]]
) -> dict[tuple[bytes, ...], Values]:
    """Return the rows at some keys (JSON texts) as they are now, by key. Raises: as `open_snapshot`."""
    names = [f"k{place}" for place in range(len(table.key))]
    columns = [table.columns[place] for place in table.key_places]
    typed = ", ".join(
        f"{name} {'pg_catalog.text' if column.type == 'bytea' else column.sql_type}"
        for name, column in zip(names, columns, strict=True)
    )
    equal = " and ".join(
        f"t.{quoted(column.name)} = "
        + (f"pg_catalog.decode(k.{name}, 'hex')" if column.type == "bytea" else f"k.{name}")
        for name, column in zip(names, columns, strict=True)
    )
    objects = (b",".join(b'"k%d":%b' % (place, part) for place, part in enumerate(key)) for key in keys)
    statement = Statement(
        f"{_select(table)} join pg_catalog.json_to_recordset($1::pg_catalog.json) as k ({typed}) on {equal}",
        [b"[%b]" % b",".join(b"{%b}" % one for one in objects)],
    )
    (rows,) = await database.run(TransactionSpec(_SETTINGS, [statement], read_only=True))
    places = table.key_places
    return {tuple(row[place] or b"null" for place in places): row for row in _picked(table, rows)}


def _select(table: SourceTable) -> str:
    expressions = ", ".join(_json_of(column) for column in (*table.columns, *table.filter_columns))
    return f"select {expressions} from {quoted(table.schema)}.{quoted(table.name)} as t"  # noqa: S608 - names are quoted, there are no values


def _json_of(column: SourceColumn) -> str:
    """Return the expression of a column's JSON text, spelled as messages spell it (schemas.changes.Values)."""
    name = f"t.{quoted(column.name)}"
    match column.type:
        case "json" | "jsonb":
            return f"{name}::pg_catalog.text"
        case "bytea":
            return f"pg_catalog.to_jsonb(pg_catalog.encode({name}, 'hex'))::pg_catalog.text"
    return f"pg_catalog.to_jsonb({name})::pg_catalog.text"


def _picked(table: SourceTable, rows: Sequence[Row]) -> list[Values]:
    """Return the rows that pass, without the columns that only filters need."""
    count = len(table.columns)
    names = [column.name for column in (*table.columns, *table.filter_columns)]
    whole: list[Values] = [[value if value is not None else b"null" for value in row] for row in rows]
    if not table.filters:
        return whole
    return [row[:count] for row in whole if passes_filters(table, dict(zip(names, row, strict=True)))]


def has_unknown(values: Values) -> bool:
    """Return whether a row has values that the log does not have."""
    return any(value is None for value in values)


def key_text(key: Sequence[bytes]) -> str:
    """Return a key as a JSON list."""
    return msgspec.json.encode([msgspec.Raw(part) for part in key]).decode()
