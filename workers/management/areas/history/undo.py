"""Undoing a version: what it changed gets the values of before, as a new change that role postgres makes and that has a version of its own.

    insert   the row is deleted, if it still is as it was inserted
    update   the columns that changed get their former values, if they still have the ones of this version
    delete   the row is inserted again, with all its former values

The row is locked, compared and changed in one transaction. Values go through `json_populate_record`, so each is read by its column's type.
"""

from collections.abc import Iterable

import msgspec

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement
from workers.management.areas.history.reading import HistoryOfTable
from workers.management.areas.rows.edit import statement_of
from workers.management.areas.rows.table import DescribedTable, column_sql
from workers.management.interface.errors import ManagementError, SqlRejected
from workers.management.interface.operation import OperationContext
from workers.row_history.stored import StoredVersion, Values
from workers.sql.compose import Sql, concat, ident, join, param, raw

_UTC = Statement("set local timezone = 'UTC'")
_UNIQUE = "23505"


async def undo_version(context: OperationContext, history: HistoryOfTable, version: StoredVersion) -> None:
    """Undo a version. Raises: ManagementError (409 where the row is another one now, or values are not known), SqlRejected."""
    table = history.table
    if version.operation == "truncate":
        raise ManagementError(
            409, "not_undoable", "A truncation keeps no rows: restore to a moment before it"
        )
    if version.omitted or (version.operation != "insert" and version.before is None):
        raise ManagementError(
            409, "values_unknown", "This version does not have all values of the row, so it cannot be undone"
        )
    try:
        async with context.database.transaction(
            timeout_s=context.settings.statement_timeout_s
        ) as transaction:
            await transaction.run(_UTC)
            match version.operation:
                case "insert":
                    await _compare(transaction, history, version, version.after or {})
                    await _change(
                        transaction,
                        concat(raw("delete from "), table.sql, raw(" as r where "), _key(history, version)),
                    )
                case "update":
                    before = version.before or {}
                    changed = {name: value for name, value in (version.after or {}).items() if name in before}
                    await _compare(transaction, history, version, changed)
                    await _change(transaction, _update(history, version, before))
                case _:
                    await _change(transaction, _insert(table, version.before or {}))
    except DatabaseError as error:
        if error.code == _UNIQUE:
            raise ManagementError(
                409, "exists", "There is a row with this key again; nothing was written"
            ) from None
        raise SqlRejected(error) from None


async def _compare(
    transaction: Transaction, history: HistoryOfTable, version: StoredVersion, expected: Values
) -> None:
    """Lock the row and compare columns with the values of a version. Raises: ManagementError (409)."""
    table = history.table
    reading = concat(
        raw("select pg_catalog.to_json(r)::pg_catalog.text from "), table.sql, raw(" as r where "), _key(history, version), raw(" for update")
    )  # fmt: skip
    [rows] = await transaction.run(statement_of(reading))
    if not rows:
        raise ManagementError(409, "conflict", "The row was deleted since this version; nothing was written")
    present = msgspec.json.decode(rows[0][0] or b"{}", type=Values)
    wanted = _as_json(table, expected)
    changed = sorted(
        name
        for name, value in wanted.items()
        if name not in present or msgspec.json.decode(present[name]) != msgspec.json.decode(value)
    )
    if changed:
        raise ManagementError(
            409,
            "conflict",
            f"{', '.join(changed)} changed since this version; nothing was written",
            hint="Undo the later versions first, or change the row by hand.",
        )


async def _change(transaction: Transaction, change: Sql) -> None:
    [rows] = await transaction.run(statement_of(concat(change, raw(" returning 1"))))
    if not rows:
        raise ManagementError(
            409, "not_stored", "A trigger or rule of the table dropped the change; nothing was written"
        )


def _update(history: HistoryOfTable, version: StoredVersion, before: Values) -> Sql:
    table = history.table
    changes = [ident(name) + raw(" = k.") + ident(name) for name in _stored(table, before)]
    if not changes:
        raise ManagementError(409, "not_undoable", "This version changed no stored column")
    return concat(
        raw("update "), table.sql, raw(" as r set "), join(", ", changes), raw(" from "), _record(table, before), raw(" where "), _key(history, version)
    )  # fmt: skip


def _insert(table: DescribedTable, before: Values) -> Sql:
    names = _stored(table, before)
    columns = join(", ", [ident(name) for name in names])
    values = join(", ", [raw("k.") + ident(name) for name in names])
    return concat(
        raw("insert into "), table.sql, raw(" ("), columns, raw(") overriding system value select "), values, raw(" from "), _record(table, before)
    )  # fmt: skip


def _stored(table: DescribedTable, values: Iterable[str]) -> list[str]:
    """Return the columns that can be written: those that are still there and not computed."""
    writable = {column.name for column in table.columns if column.generated is None}
    return [name for name in values if name in writable]


def _key(history: HistoryOfTable, version: StoredVersion) -> Sql:
    """Return the condition of the row as it is after the version."""
    row = version.after if version.after is not None else version.before
    values = {name: (row or {})[name] for name in history.stored.key}
    record = _record(history.table, values)
    return join(
        " and ",
        [
            concat(column_sql(name), raw(" = (select k."), ident(name), raw(" from "), record, raw(")"))
            for name in history.stored.key
        ],
    )


def _record(table: DescribedTable, values: Values) -> Sql:
    """Return a relation `k` of one row with these values, each of its column's type."""
    text = msgspec.json.encode(_as_json(table, values))
    return concat(
        raw("pg_catalog.json_populate_record(null::"),
        table.sql,
        raw(", "),
        param(text),
        raw("::pg_catalog.json) as k"),
    )


def _as_json(table: DescribedTable, values: Values) -> Values:
    """Return values as `to_json` writes them: history has bytea without its prefix."""
    binary = {column.name for column in table.columns if column.base_type == "bytea"}
    return {
        name: msgspec.Raw(b'"\\\\x' + bytes(value)[1:])
        if name in binary and bytes(value).startswith(b'"')
        else value
        for name, value in values.items()
    }
