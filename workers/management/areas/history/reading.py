"""Which table, which row, which version: read by the pool's own login, whose statements touch nothing of the project.

The text of a key is made by Postgres, as role postgres: a type of a key may be the project's own, and its code must not run with more.
"""

from typing import Any

from msgspec import Struct

from schemas.changes import Position
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Value, statement
from workers.database.transactions.model import Statement, TransactionSpec
from workers.management.areas.rows.edit import statement_of
from workers.management.areas.rows.table import DescribedTable, describe_table
from workers.management.areas.rows.values import text_value
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.row_history.stored import SQL, StoredHistory, StoredVersion
from workers.sql.compose import Sql, concat, ident, join, param, raw


class HistoryOfTable(Struct, frozen=True):
    """A table and its history."""

    table: DescribedTable
    stored: StoredHistory


async def ask(context: OperationContext, name: str, *values: Value) -> Rows:
    """Run one statement of workers/row_history/stored.sql. Raises: DatabaseError, Disconnected, PoolTimeout."""
    own = await context.database.own()
    [rows] = await own.run(TransactionSpec((), [statement(SQL[name], *values)]))
    return rows


async def history_of(context: OperationContext, schema: str, name: str) -> HistoryOfTable:
    """Return a table with its history. Raises: ManagementError (404 without the table, 409 without a history)."""
    table = await describe_table(context, schema, name)
    rows = decode_rows(await ask(context, "table", schema, name), StoredHistory)
    if not rows:
        raise ManagementError(
            409,
            "no_history",
            f"{schema}.{name} has no history",
            hint=f"Switch it on: `headwater history on {name} --days 30`.",
        )
    return HistoryOfTable(table, rows[0])


async def key_text(context: OperationContext, history: HistoryOfTable, key: dict[str, Any]) -> str:
    """Return the text under which versions of a row are stored. Raises: ManagementError (400), DatabaseError."""
    names = history.stored.key
    if set(key) != set(names) or any(value is None for value in key.values()):
        raise invalid_arguments(f"`key` must have a value for each of {', '.join(names)}, and nothing else")
    table = history.table
    # The column of an empty row gives each value its type, so no name of a type stands in the text.
    given = concat(
        raw("select "),
        join(
            ", ",
            [param(text_value(table.column(name), key[name])) + raw(" as ") + ident(name) for name in names],
        ),
    )
    empty = concat(
        raw("select "),
        join(", ", [ident(name) for name in names]),
        raw(" from "),
        table.sql,
        raw(" where false"),
    )
    parts = join(", ", [_as_json(history, name) for name in names])
    reading = concat(
        raw("select '[' operator(pg_catalog.||) pg_catalog.concat_ws(',', "), parts, raw(") operator(pg_catalog.||) ']' from ("),
        empty, raw(" union all "), given, raw(") as k"),
    )  # fmt: skip
    async with context.database.transaction(timeout_s=context.settings.statement_timeout_s) as transaction:
        await transaction.run(Statement("set local timezone = 'UTC'"))
        [rows] = await transaction.run(statement_of(reading))
    return (rows[0][0] or b"").decode()


def _as_json(history: HistoryOfTable, name: str) -> Sql:
    value = raw("k.") + ident(name)
    if history.table.column(name).base_type == "bytea":  # as the log of changes spells it
        value = concat(raw("pg_catalog.encode("), value, raw(", 'hex')"))
    return concat(raw("pg_catalog.to_jsonb("), value, raw(")::pg_catalog.text"))


async def version_of(context: OperationContext, history: HistoryOfTable, position: str) -> StoredVersion:
    """Return a version by its position. Raises: ManagementError (400, 404)."""
    place = read_position(position)
    found = decode_rows(
        await ask(context, "version", history.stored.id, place.lsn, place.number, place.index), StoredVersion
    )
    if not found:
        raise not_found(f"version {position} of {history.table.schema}.{history.table.name}")
    return found[0]


def read_position(text: str) -> Position:
    """Return a position from its text. Raises: ManagementError (400)."""
    try:
        return Position.parse(text)
    except ValueError as error:
        raise invalid_arguments(f"`version`: {error}") from None
