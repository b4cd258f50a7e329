"""Operations on rows: list, read, insert, update, delete. Files of rows: operations/row_files.py."""

from typing import Any

from msgspec import Struct

from workers.management.areas.rows.changes import (
    RowDeletion,
    RowUpdate,
    StoredRow,
    delete_filtered,
    delete_rows,
    insert_rows,
    update_rows,
)
from workers.management.areas.rows.edit import row_values, select_row
from workers.management.areas.rows.filters import RowFilter
from workers.management.areas.rows.listing import PageRequest, TablePage, list_page
from workers.management.areas.rows.table import describe_table
from workers.management.interface.errors import invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right


class RowByKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A row by its key: column -> value."""

    table: str
    key: dict[str, Any]
    schema: str = "public"


class RowsToInsert(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to insert: column -> value. A column that is missing gets its default.

    `overrides_identity`: store values of columns that are `generated always as identity`, as to put a deleted row back.
    """

    table: str
    rows: list[dict[str, Any]]
    schema: str = "public"
    overrides_identity: bool = False


class RowUpdates(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of rows, all of which are carried out, or none."""

    table: str
    updates: list[RowUpdate]
    schema: str = "public"


class RowDeletions(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to delete, by key or by filters. `expected` is their number: if it is another one, nothing is deleted."""

    table: str
    expected: int
    rows: list[RowDeletion] = []
    filters: list[RowFilter] = []
    schema: str = "public"


class InsertedRows(Struct, frozen=True):
    """The rows as they are stored, in the order of the request."""

    rows: list[StoredRow]


class UpdatedRows(Struct, frozen=True):
    """The rows as they were and as they are; an update back to `before` undoes it."""

    before: list[StoredRow]
    after: list[StoredRow]


class DeletedRows(Struct, frozen=True):
    """The number of rows, and the rows as they were; more than 1000 are not returned."""

    count: int
    before: list[StoredRow]


async def list_rows(context: OperationContext, arguments: PageRequest) -> TablePage:
    """Return a page of a table or view: by key at any depth in the same time, filtered, sorted, as an administrator or a caller."""
    return await list_page(context, arguments)


async def read(context: OperationContext, arguments: RowByKey) -> StoredRow:
    """Return one row with its whole values, for a cell that a page shows shortened."""
    table = (await describe_table(context, arguments.schema, arguments.table)).readable()
    table.check_key()
    [rows] = await context.database.read(
        select_row(table, arguments.key), timeout_s=context.settings.statement_timeout_s
    )
    if not rows:
        raise not_found("row with this key")
    values, version = row_values(table, rows[0])
    return StoredRow(values, {name: values[name] for name in table.key}, version)


async def insert(context: OperationContext, arguments: RowsToInsert) -> InsertedRows:
    """Insert rows in one transaction."""
    table = await describe_table(context, arguments.schema, arguments.table)
    stored = await insert_rows(
        context, table, arguments.rows, overrides_identity=arguments.overrides_identity
    )
    context.after = stored
    return InsertedRows(stored)


async def update(context: OperationContext, arguments: RowUpdates) -> UpdatedRows:
    """Change rows in one transaction. A row that was changed since it was seen is answered 409 with the row as it is now."""
    table = await describe_table(context, arguments.schema, arguments.table)
    before, after = await update_rows(context, table, arguments.updates)
    context.before, context.after = before, after
    return UpdatedRows(before, after)


async def delete(context: OperationContext, arguments: RowDeletions) -> DeletedRows:
    """Delete rows in one transaction, if there are as many as expected."""
    if bool(arguments.rows) == bool(arguments.filters):
        raise invalid_arguments("Send `rows` or `filters`")
    table = await describe_table(context, arguments.schema, arguments.table)
    if arguments.rows:
        before = await delete_rows(context, table, arguments.rows, arguments.expected)
        count = len(before)
    else:
        count, before = await delete_filtered(context, table, arguments.filters, arguments.expected)
    context.before = before
    return DeletedRows(count, before)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    writer = Right.DEVELOPER
    return [
        Operation(
            "rows.list", "List rows of a table or view", PageRequest, TablePage, Right.READER, list_rows
        ),
        Operation("rows.read", "Read one row by its key", RowByKey, StoredRow, Right.READER, read),
        Operation("rows.insert", "Insert rows", RowsToInsert, InsertedRows, writer, insert, changes=True),
        Operation("rows.update", "Change rows by key", RowUpdates, UpdatedRows, writer, update, changes=True),
        Operation("rows.delete", "Delete rows", RowDeletions, DeletedRows, writer, delete, changes=True),
    ]
