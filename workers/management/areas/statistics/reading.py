"""Runs the statements of the statistics, as role `postgres`, which sees the sessions and statements of all roles (pg_monitor).

The role that reads everything does not: its session runs what readers write, and statements of others may contain secrets.
"""

from typing import TypeVar

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "statistics.sql")
SESSION_SETTINGS = statement(
    "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), pg_catalog.set_config('lock_timeout', '5s', true)"
)
"""The first statement: names mean those of Postgres, and a size of a table that is being changed is not waited for."""
_MOST_NAME = 63
T = TypeVar("T")


async def read_statistics(
    context: OperationContext, name: str, kind: type[T], *values: str | int | bool | None
) -> list[T]:
    """Run a statement of statistics.sql and return its rows. Raises: DatabaseError, Disconnected, PoolTimeout."""
    return decode_rows(await read_text(context, SQL[name], *values), kind)


async def read_text(context: OperationContext, text: str, *values: str | int | bool | None) -> Rows:
    """Run a statement that reads. Raises: DatabaseError, Disconnected, PoolTimeout."""
    [_, rows] = await context.database.read_as_developer(
        SESSION_SETTINGS, statement(text, *values), timeout_s=context.settings.statement_timeout_s
    )
    return rows


def check_name(name: str | None, field: str) -> None:
    """Check the name of a role or schema. Raises: ManagementError (400)."""
    if name is not None and (not 1 <= len(name.encode(errors="replace")) <= _MOST_NAME or "\0" in name):
        raise invalid_arguments(f"`{field}` must be a name of 1 to {_MOST_NAME} bytes")
