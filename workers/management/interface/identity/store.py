"""What is stored of administrators: each function is one transaction of a `.sql` file of this folder.

Values that come from a request are parameters. A text that is not a UUID names nothing, so it is answered as "not there".
"""

import uuid
from typing import TypeVar

import msgspec

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import Statement, TransactionSpec
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.personal_data import PersonalValue
from workers.sql.files import read_statements

SQL = {
    name: text
    for file in ("store.sql", "factors.sql", "grants.sql")
    for name, text in read_statements("workers.management.interface.identity", file).items()
}
T = TypeVar("T")
Value = str | bytes | int | float | bool | PersonalValue | None
"""A parameter; a float is sent as its shortest text, personal data sealed or as a digest."""


async def fetch(pool: OwnPool, name: str, kind: type[T], *values: Value) -> list[T]:
    """Run one statement and return its rows. Raises: DatabaseError, Disconnected, PoolTimeout."""
    [rows] = await pool.run(TransactionSpec((), [own_statement(pool, SQL[name], *values)]))
    return opened_rows(pool, rows, kind)


async def fetch_one(pool: OwnPool, name: str, kind: type[T], *values: Value) -> T | None:
    """Run one statement and return its first row, or None. Raises: as `fetch`."""
    rows = await fetch(pool, name, kind, *values)
    return rows[0] if rows else None


async def execute(pool: OwnPool, name: str, *values: Value) -> bool:
    """Run one statement and return whether it returned a row. Raises: as `fetch`."""
    [rows] = await pool.run(TransactionSpec((), [own_statement(pool, SQL[name], *values)]))
    return bool(rows)


def opened_rows(pool: OwnPool, rows: Rows, kind: type[T]) -> list[T]:
    """Return rows of one JSON value each as `kind`, with personal data opened."""
    values = [msgspec.json.decode(row[0] or b"null") for row in rows]
    return [msgspec.convert(pool.personal.opened(value), kind) for value in values]


def decode_rows(rows: Rows, kind: type[T]) -> list[T]:
    """Return rows of one JSON value each as `kind`."""
    return [msgspec.json.decode(row[0] or b"null", type=kind) for row in rows]


def as_uuid(text: str) -> str | None:
    """Return a UUID in its usual form, or None for any other text."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def own_statement(pool: OwnPool, text: str, *values: Value) -> Statement:
    """Return a statement on the tables of administrators, with personal data as it is stored."""
    return statement(text, *(_parameter(pool, value) for value in values))


def _parameter(pool: OwnPool, value: Value) -> str | bytes | int | bool | None:
    if isinstance(value, PersonalValue):
        return pool.personal.stored(value)
    return repr(value) if isinstance(value, float) else value
