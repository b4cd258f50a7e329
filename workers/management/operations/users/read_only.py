"""SQL of this area: it runs as the role that may read everything and write nothing, and finds only names that it qualifies.

An empty `search_path` leaves `pg_catalog` alone: no function or operator of a tenant is taken in place of one that is meant.
"""

from typing import TypeVar

from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.compose import ParameterSlot, Sql, param, render

T = TypeVar("T")


async def read_rows(
    context: OperationContext, kind: type[T], statement: Statement, *, timeout_s: float | None = None
) -> list[T]:
    """Return the rows of a statement, one JSON value each. Raises: DatabaseError, Disconnected, PoolTimeout."""
    return decode_rows(await read_plain(context, statement, timeout_s=timeout_s), kind)


async def read_plain(
    context: OperationContext, statement: Statement, *, timeout_s: float | None = None
) -> Rows:
    """Return the rows of a statement as they are. Raises: as `read_rows`."""
    _, rows = await context.database.read(
        Statement("set local search_path = ''"),
        statement,
        timeout_s=timeout_s or context.settings.statement_timeout_s,
    )
    return rows


def statement_of(sql: Sql) -> Statement:
    """Return a composed statement whose parameters are all constants."""
    text, params = render(sql)
    return Statement(text, [value for value in params if not isinstance(value, ParameterSlot)])


def text_param(value: str, name: str) -> Sql:
    """Return a parameter. Raises: ManagementError (400) for a text that Postgres cannot hold."""
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise ManagementError(400, "invalid_arguments", f"`{name}` must be Unicode text without NUL")
    return param(encoded)
