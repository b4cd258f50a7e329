"""Edits of rows, all in one transaction: every row is locked and compared with the version that its editor saw, then changed.

The version of a row of a table is `xmin`, the number of the transaction that wrote it: another one means that the row was written
meanwhile. For views, foreign and partitioned tables, and for clients that prefer it, `old` has the values that were seen.
"""

from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement
from workers.management.areas.rows.edit import (
    delete_row,
    delete_where,
    insert_row,
    lock_where,
    row_values,
    select_row,
    update_row,
)
from workers.management.areas.rows.filters import RowFilter, filters_sql
from workers.management.areas.rows.table import DescribedTable
from workers.management.interface.errors import ManagementError, SqlRejected, invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.sql.compose import number

MAX_EDITS = 1000
T = TypeVar("T")


class StoredRow(Struct, frozen=True):
    """A row as it is stored: its values as text, its key, and its version (null where rows have none)."""

    values: dict[str, str | None]
    key: dict[str, str | None]
    version: str | None = None


class RowUpdate(Struct, frozen=True, forbid_unknown_fields=True):
    """A change of the row with a key: new values, and columns that get their default.

    `version` or `old` (column -> value as text) say what was seen; a row that is another one now is not changed.
    """

    key: dict[str, Any]
    values: dict[str, Any] = {}
    defaults: list[str] = []
    version: str | None = None
    old: dict[str, str | None] | None = None


class RowDeletion(Struct, frozen=True, forbid_unknown_fields=True):
    """A row to delete, by its key, with what was seen of it as in an update."""

    key: dict[str, Any]
    version: str | None = None
    old: dict[str, str | None] | None = None


class RowConflict(ManagementError):
    """A row is not the one that its editor saw; `present` is the row now, null if it is gone. Nothing was changed."""

    def __init__(self, index: int, present: StoredRow | None) -> None:
        state = "was deleted" if present is None else "was changed"
        super().__init__(
            409,
            "conflict",
            f"Row {index} {state} meanwhile; nothing was written",
            hint="Compare with `present`, then send the change again with its version.",
        )
        self._fields = {"row": index, "present": present}

    def body(self) -> dict[str, object]:
        """Return the error with the index of the row and the row now."""
        return {**super().body(), **self._fields}


class RowRejected(SqlRejected):
    """The database rejected the change of a row; `row` is its index in the request."""

    def __init__(self, error: DatabaseError, index: int) -> None:
        super().__init__(error)
        self._row = index
        self._constraint = error.constraint

    def body(self) -> dict[str, object]:
        """Return the error with the index of the row."""
        constraint = {"constraint": self._constraint} if self._constraint else {}
        return {**super().body(), "row": self._row, **constraint}


async def insert_rows(
    context: OperationContext,
    table: DescribedTable,
    rows: list[dict[str, Any]],
    *,
    overrides_identity: bool = False,
) -> list[StoredRow]:
    """Insert rows and return them as stored. Raises: ManagementError, DatabaseError."""
    _check_number(len(rows))
    table.check_event("insert")
    statements = [insert_row(table, row, overrides_identity=overrides_identity) for row in rows]
    stored = []
    async with context.database.transaction(timeout_s=context.settings.statement_timeout_s) as transaction:
        for index, inserting in enumerate(statements):
            result = await _run(transaction, inserting, index)
            if not result:
                raise _not_stored(index)
            stored.append(_stored(table, result))
    return stored


async def update_rows(
    context: OperationContext, table: DescribedTable, updates: list[RowUpdate]
) -> tuple[list[StoredRow], list[StoredRow]]:
    """Change rows; return them as they were and as they are. Raises: RowConflict, ManagementError, DatabaseError."""
    _check_number(len(updates))
    table.check_key()
    table.check_event("update")
    statements = [update_row(table, update.key, update.values, update.defaults) for update in updates]
    before, after = [], []
    async with context.database.transaction(timeout_s=context.settings.statement_timeout_s) as transaction:
        for index, update in enumerate(updates):
            before.append(await _locked(transaction, table, update, index))
        for index, updating in enumerate(statements):
            result = await _run(transaction, updating, index)
            if not result:
                raise _not_stored(index)
            after.append(_stored(table, result))
    return before, after


async def delete_rows(
    context: OperationContext, table: DescribedTable, deletions: list[RowDeletion], expected: int
) -> list[StoredRow]:
    """Delete rows by key and return them. Raises: RowConflict, ManagementError, DatabaseError."""
    _check_number(len(deletions))
    table.check_key()
    table.check_event("delete")
    statements = [delete_row(table, deletion.key) for deletion in deletions]
    before, count = [], 0
    async with context.database.transaction(timeout_s=context.settings.statement_timeout_s) as transaction:
        for index, deletion in enumerate(deletions):
            before.append(await _locked(transaction, table, deletion, index))
        for index, deleting in enumerate(statements):
            count += len(await _run(transaction, deleting, index))
        check_expected(count, expected)
    return before


async def delete_filtered(
    context: OperationContext, table: DescribedTable, filters: list[RowFilter], expected: int
) -> tuple[int, list[StoredRow]]:
    """Delete the rows that filters leave; return their number, and the rows if they are at most `MAX_EDITS`.

    Raises: ManagementError (409 also if another row came to fit between the two statements), DatabaseError.
    """
    table.check_event("delete")
    condition = filters_sql(table, filters)
    reading = lock_where(table, condition, number(MAX_EDITS + 1))
    async with context.database.transaction(timeout_s=context.settings.statement_timeout_s) as transaction:
        [rows] = await transaction.run(reading)
        before = [_stored(table, [row]) for row in rows]
        [[(count,)]] = await transaction.run(delete_where(table, condition))
        deleted = msgspec.json.decode(count or b"0", type=int)
        check_expected(deleted, expected)
        if len(before) <= MAX_EDITS:
            check_expected(deleted, len(before))
    return deleted, before if len(before) <= MAX_EDITS else []


def check_expected(count: int, expected: int) -> None:
    """Refuse a deletion of another number of rows than its client expects. Raises: ManagementError (409)."""
    if count != expected:
        raise ManagementError(
            409,
            "unexpected_count",
            f"This would delete {count} rows, and `expected` is {expected}; nothing was deleted",
            hint="Look at the rows, then send their number as `expected`.",
        )


async def _locked(
    transaction: Transaction, table: DescribedTable, edit: RowUpdate | RowDeletion, index: int
) -> StoredRow:
    """Lock a row and compare it with what its editor saw. Raises: RowConflict."""
    rows = await _run(transaction, select_row(table, edit.key, locks=True), index)
    if not rows:
        raise RowConflict(index, None)
    present = _stored(table, rows)
    for name in edit.old or ():
        table.column(name)
    is_same = all(present.values[name] == value for name, value in (edit.old or {}).items())
    if not is_same or (edit.version is not None and edit.version != present.version):
        raise RowConflict(index, present)
    return present


async def _run(transaction: Transaction, statement: Statement, index: int) -> Rows:
    return await _naming_row(transaction.run(statement), index)


async def _naming_row(running: Awaitable[list[Rows]], index: int) -> Rows:
    try:
        [rows] = await running
    except DatabaseError as error:
        raise RowRejected(error, index) from None
    return rows


def _stored(table: DescribedTable, rows: Rows) -> StoredRow:
    values, version = row_values(table, rows[0])
    return StoredRow(values, {name: values[name] for name in table.key}, version)


def _not_stored(index: int) -> ManagementError:
    return ManagementError(
        409, "not_stored", f"A trigger or rule of the table dropped row {index}; nothing was written"
    )


def _check_number(count: int) -> None:
    if not 1 <= count <= MAX_EDITS:
        raise invalid_arguments(f"Send 1 to {MAX_EDITS} rows at a time")
