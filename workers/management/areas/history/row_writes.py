"""Rows of a table with history, read and written by values of versions: all of it runs as role postgres.

Values go through `json_populate_record`, so each is read by its column's type.
"""

from collections.abc import Iterable

import msgspec

from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement
from workers.management.areas.history.reading import HistoryOfTable
from workers.management.areas.rows.edit import statement_of
from workers.management.areas.rows.table import DescribedTable, column_sql
from workers.management.interface.errors import ManagementError
from workers.row_history.stored import Values
from workers.sql.compose import Sql, concat, ident, join, param, raw

UTC = Statement("set local timezone = 'UTC'")
"""The first statement of such a transaction: versions have times in UTC."""


async def read_row(
    transaction: Transaction, history: HistoryOfTable, key: Values, *, locks: bool
) -> Values | None:
    """Return a row as `to_json` writes it, None where there is none; `locks`: until the transaction ends."""
    reading = concat(
        raw("select pg_catalog.to_json(r)::pg_catalog.text from "), history.table.sql, raw(" as r where "),
        _condition(history, key), raw(" for update" if locks else ""),
    )  # fmt: skip
    [rows] = await transaction.run(statement_of(reading))
    return msgspec.json.decode(rows[0][0] or b"{}", type=Values) if rows else None


async def run_change(transaction: Transaction, change: Sql) -> None:
    """Run a change of one row. Raises: ManagementError (409) if it changed none, DatabaseError."""
    [rows] = await transaction.run(statement_of(concat(change, raw(" returning 1"))))
    if not rows:
        raise ManagementError(
            409, "not_stored", "A trigger or rule of the table dropped the change; nothing was written"
        )


def update_row(history: HistoryOfTable, key: Values, values: Values) -> Sql | None:
    """Return the update of a row to these values; None where no stored column is among them."""
    table = history.table
    changes = [ident(name) + raw(" = k.") + ident(name) for name in stored_columns(table, values)]
    if not changes:
        return None
    return concat(
        raw("update "), table.sql, raw(" as r set "), join(", ", changes), raw(" from "), _record(table, values),
        raw(" where "), _condition(history, key),
    )  # fmt: skip


def insert_row(history: HistoryOfTable, values: Values) -> Sql:
    """Return the insert of a row with these values; columns that are not among them get their default."""
    table = history.table
    names = stored_columns(table, values)
    columns = join(", ", [ident(name) for name in names])
    selected = join(", ", [raw("k.") + ident(name) for name in names])
    return concat(
        raw("insert into "), table.sql, raw(" ("), columns, raw(") overriding system value select "), selected, raw(" from "), _record(table, values)
    )  # fmt: skip


def delete_row(history: HistoryOfTable, key: Values) -> Sql:
    """Return the deletion of a row."""
    return concat(raw("delete from "), history.table.sql, raw(" as r where "), _condition(history, key))


def stored_columns(table: DescribedTable, values: Iterable[str]) -> list[str]:
    """Return the columns that can be written: those that are still there and not computed."""
    writable = {column.name for column in table.columns if column.generated is None}
    return [name for name in values if name in writable]


def as_json(table: DescribedTable, values: Values) -> Values:
    """Return values as `to_json` writes them: history has bytea without its prefix."""
    binary = {column.name for column in table.columns if column.base_type == "bytea"}
    return {
        name: msgspec.Raw(b'"\\\\x' + bytes(value)[1:])
        if name in binary and bytes(value).startswith(b'"')
        else value
        for name, value in values.items()
    }


def is_same(one: msgspec.Raw, other: msgspec.Raw) -> bool:
    """Return whether two JSON texts mean the same value."""
    return bool(msgspec.json.decode(one) == msgspec.json.decode(other))


def _condition(history: HistoryOfTable, key: Values) -> Sql:
    record = _record(history.table, key)
    return join(
        " and ",
        [
            concat(column_sql(name), raw(" = (select k."), ident(name), raw(" from "), record, raw(")"))
            for name in history.stored.key
        ],
    )


def _record(table: DescribedTable, values: Values) -> Sql:
    """Return a relation `k` of one row with these values, each of its column's type."""
    text = msgspec.json.encode(as_json(table, values))
    return concat(
        raw("pg_catalog.json_populate_record(null::"),
        table.sql,
        raw(", "),
        param(text),
        raw("::pg_catalog.json) as k"),
    )
