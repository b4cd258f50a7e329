"""What is stored of administrators: each function is one transaction of `store.sql` or `factors.sql`.

Values that come from a request are parameters. A text that is not a UUID names nothing, so it is answered as "not there".
"""

import uuid
from typing import TypeVar

import msgspec

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement, TransactionSpec
from workers.sql.files import read_statements

SQL = read_statements("workers.management.identity", "store.sql") | read_statements(
    "workers.management.identity", "factors.sql"
)
T = TypeVar("T")
Value = str | bytes | int | float | bool | None
"""A parameter; a float is sent as its shortest text."""


async def fetch(pool: ConnectionPool, name: str, kind: type[T], *values: Value) -> list[T]:
    """Run one statement and return its rows. Raises: DatabaseError, Disconnected, PoolTimeout."""
    [rows] = await pool.run(TransactionSpec((), [_statement(name, values)]))
    return decode_rows(rows, kind)


async def fetch_one(pool: ConnectionPool, name: str, kind: type[T], *values: Value) -> T | None:
    """Run one statement and return its first row, or None. Raises: as `fetch`."""
    rows = await fetch(pool, name, kind, *values)
    return rows[0] if rows else None


async def execute(pool: ConnectionPool, name: str, *values: Value) -> bool:
    """Run one statement and return whether it returned a row. Raises: as `fetch`."""
    [rows] = await pool.run(TransactionSpec((), [_statement(name, values)]))
    return bool(rows)


async def fetch_in(transaction: Transaction, name: str, kind: type[T], *values: Value) -> list[T]:
    """Run one statement in an open transaction and return its rows. Raises: as `fetch`."""
    [rows] = await transaction.run(_statement(name, values))
    return decode_rows(rows, kind)


def decode_rows(rows: Rows, kind: type[T]) -> list[T]:
    """Return rows of one JSON value each as `kind`."""
    return [msgspec.json.decode(row[0] or b"null", type=kind) for row in rows]


def as_uuid(text: str) -> str | None:
    """Return a UUID in its usual form, or None for any other text."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _statement(name: str, values: tuple[Value, ...]) -> Statement:
    texts = [repr(value) if isinstance(value, float) else value for value in values]
    return statement(SQL[name], *texts)
