"""Statements of operations whose rows are one JSON value each, decoded as structs.

Tables of extensions may have been replaced by the project's own: rows of another form, or missing tables, are answered with an
error that says so, and are not defects of the platform.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Value, encoded, statement
from workers.database.transactions.model import Statement
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.management.interface.page_cursor import extension_missing
from workers.sql import compose

_NOT_THERE = frozenset({"42P01", "3F000", "42883"})
"""SQLSTATE of a table, a schema and a function that do not exist (PostgreSQL, appendix A)."""
T = TypeVar("T")


async def read_rows(context: OperationContext, kind: type[T], text: str, *values: Value) -> list[T]:
    """Run a statement as a role that only reads. Raises: ManagementError, DatabaseError, Disconnected, PoolTimeout."""
    [rows] = await context.database.read(
        statement(text, *values), timeout_s=context.settings.statement_timeout_s
    )
    with rows_of_form():
        return decode_rows(rows, kind)


async def write_rows(context: OperationContext, kind: type[T], text: str, *values: Value) -> list[T]:
    """Run a statement as role `postgres`. Raises: as `read_rows`."""
    [rows] = await context.database.write(
        statement(text, *values), timeout_s=context.settings.statement_timeout_s
    )
    with rows_of_form():
        return decode_rows(rows, kind)


async def write_row(context: OperationContext, kind: type[T], text: str, *values: Value) -> T:
    """Run a statement of one row as role `postgres`. Raises: as `read_rows`; ManagementError (409) without a row."""
    rows = await write_rows(context, kind, text, *values)
    if not rows:
        raise _unexpected_form("a function returned no row")
    return rows[0]


def composed(sql: compose.Sql, *values: Value) -> Statement:
    """Return a statement whose identifiers were composed; `values` are those of `$1`, `$2`... in its constant text."""
    text, params = compose.render(sql)
    assert not params  # values are given apart
    return Statement(text, [encoded(value) for value in values])


async def run_all(context: OperationContext, statements: Sequence[Statement]) -> None:
    """Run statements in one transaction as role `postgres`. Raises: DatabaseError, Disconnected, PoolTimeout."""
    await context.database.write(*statements, timeout_s=context.settings.statement_timeout_s)


@contextmanager
def rows_of_form() -> Iterator[None]:
    """Turn rows of an unexpected form into an error. Raises: ManagementError (409)."""
    try:
        yield
    except msgspec.DecodeError as error:
        raise _unexpected_form(str(error)) from None


def _unexpected_form(reason: str) -> ManagementError:
    return ManagementError(
        409,
        "unexpected_form",
        f"A table or function of this database does not have the form of its extension: {reason}",
        hint="It was replaced by the project: drop it and create the extension.",
    )


@contextmanager
def needs_extension(extension: str, purpose: str) -> Iterator[None]:
    """Turn a missing table, schema or function into an error that names the extension. Raises: ManagementError (409)."""
    try:
        yield
    except DatabaseError as error:
        if error.code in _NOT_THERE:
            raise extension_missing(extension, purpose) from None
        raise
