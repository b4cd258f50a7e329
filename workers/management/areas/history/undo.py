"""Undoing a version: what it changed gets the values of before, as a new change that role postgres makes and that has a version of its own.

    insert   the row is deleted, if it still is as it was inserted
    update   the columns that changed get their former values, if they still have the ones of this version
    delete   the row is inserted again, with all its former values

The row is locked, compared and changed in one transaction. Values go through `json_populate_record`, so each is read by its column's type.
"""

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.management.areas.history.reading import HistoryOfTable
from workers.management.areas.history.row_writes import (
    UTC,
    as_json,
    delete_row,
    insert_row,
    is_same,
    read_row,
    run_change,
    update_row,
)
from workers.management.interface.errors import ManagementError, SqlRejected
from workers.management.interface.operation import OperationContext
from workers.row_history.stored import StoredVersion, Values
from workers.sql.compose import Sql

_UNIQUE = "23505"


async def undo_version(context: OperationContext, history: HistoryOfTable, version: StoredVersion) -> None:
    """Undo a version. Raises: ManagementError (409 where the row is another one now, or values are not known), SqlRejected."""
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
            await transaction.run(UTC)
            match version.operation:
                case "insert":
                    await _compare(transaction, history, version, version.after or {})
                    await run_change(transaction, delete_row(history, _key_of(history, version)))
                case "update":
                    before = version.before or {}
                    changed = {name: value for name, value in (version.after or {}).items() if name in before}
                    await _compare(transaction, history, version, changed)
                    await run_change(transaction, _update(history, version, before))
                case _:
                    await run_change(transaction, insert_row(history, version.before or {}))
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
    present = await read_row(transaction, history, _key_of(history, version), locks=True)
    if present is None:
        raise ManagementError(409, "conflict", "The row was deleted since this version; nothing was written")
    wanted = as_json(history.table, expected)
    changed = sorted(
        name for name, value in wanted.items() if name not in present or not is_same(present[name], value)
    )
    if changed:
        raise ManagementError(
            409,
            "conflict",
            f"{', '.join(changed)} changed since this version; nothing was written",
            hint="Undo the later versions first, or change the row by hand.",
        )


def _update(history: HistoryOfTable, version: StoredVersion, before: Values) -> Sql:
    change = update_row(history, _key_of(history, version), before)
    if change is None:
        raise ManagementError(409, "not_undoable", "This version changed no stored column")
    return change


def _key_of(history: HistoryOfTable, version: StoredVersion) -> Values:
    """Return the key of the row as it is after the version."""
    row = (version.after if version.after is not None else version.before) or {}
    return {name: row[name] for name in history.stored.key}
