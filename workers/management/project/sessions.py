"""One session of Postgres for SQL that a person wrote, and for the generator of types, which reads the catalogs in one session.

    reader       login `headwater_reader`, role `supabase_read_only_user`
    others       login `headwater_developer`, role `postgres`

The text may hold several statements. All but the last are run first; the last one's rows are returned. Statements that return no
rows and stand alone run outside a transaction, as `vacuum` and `create index concurrently` need it; all others in one transaction.
"""

import contextlib
import datetime
import decimal
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import msgspec

from schemas.database_logins import DEVELOPER, READER, login_passwords
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.urls import login_url
from workers.management.errors import ManagementError, invalid_arguments
from workers.management.operation import OperationContext
from workers.management.rights import Right
from workers.project.errors import ProjectRejected
from workers.project.history import make_history
from workers.project.project_connection import open_connection
from workers.project.sql_splitter import SplitError, split
from workers.project.types.read_catalog import read_database
from workers.project.types.typescript import typescript
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.project", "sessions.sql")
MAX_RESULT_BYTES = 16 * 1024 * 1024
MAX_SQL_BYTES = 4 * 1024 * 1024
_ROLES = {READER: "supabase_read_only_user", DEVELOPER: "postgres"}
_PAGE_ROWS = 100
_EXACT = 2**53 - 1
"""The largest whole number that JavaScript reads exactly."""


@contextlib.asynccontextmanager
async def open_session(context: OperationContext, right: Right) -> AsyncIterator[asyncpg.Connection]:
    """Yield a session of the role of a right. Raises: DatabaseError, Disconnected, from the errors of the driver."""
    login = READER if right is Right.READER else DEVELOPER
    url = context.configuration.db.url
    password = login_passwords(context.configuration)[login].reveal()
    settings = {"role": _ROLES[login], "statement_timeout": f"{context.settings.statement_timeout_s:g}s"}
    try:
        async with (
            context.database.sessions,
            open_connection(
                login_url(url.reveal() if url else "", login, password, settings=settings)
            ) as connection,
        ):
            yield connection
    except asyncpg.PostgresError as error:
        raise _database_error(error) from None
    except asyncpg.InterfaceError as error:
        raise invalid_arguments(f"The SQL cannot be run: {error}") from None
    except ProjectRejected as error:  # without a URL, or with one that cannot be read
        raise ManagementError(503, "unavailable", str(error)) from None
    except OSError as error:
        raise Disconnected(type(error).__name__) from None


async def run_sql(
    context: OperationContext, sql: str, parameters: Sequence[object], *, is_reading: bool
) -> list[dict[str, object]]:
    """Run SQL and return the rows of its last statement as JSON values by column.

    `is_reading`: as the reader, in a transaction that only reads. Raises: ManagementError (400, 413); DatabaseError, Disconnected.
    """
    *first, last = _statements(sql)
    if first and parameters:
        raise invalid_arguments("`parameters` belong to one statement, and `query` has several")
    right = Right.READER if is_reading else Right.DEVELOPER
    async with open_session(context, right) as connection:
        for name in ("json", "jsonb"):
            await connection.set_type_codec(
                name, encoder=str, decoder=msgspec.json.decode, schema="pg_catalog"
            )
        if not first:
            prepared = await connection.prepare(last)
            if not prepared.get_attributes() and not is_reading:
                await connection.execute(last, *parameters)
                return []
        async with connection.transaction(readonly=is_reading):
            for text in first:
                await connection.execute(text)
            return await _rows(connection, last, parameters, context.settings.max_rows)


async def typescript_types(context: OperationContext, schemas: Sequence[str]) -> str:
    """Return the TypeScript types of schemas. Raises: ManagementError (400) for one that does not exist."""
    async with open_session(context, Right.READER) as connection:
        try:
            return typescript(await read_database(connection, schemas))
        except ProjectRejected as error:
            raise invalid_arguments(str(error)) from None


async def apply_migration(context: OperationContext, version: str, name: str, sql: str, *, run: bool) -> None:
    """Run a migration as role `postgres` and record it in the project's history, in one transaction."""
    texts = _statements(sql)
    async with open_session(context, Right.DEVELOPER) as connection, connection.transaction():
        for text in texts if run else ():
            await connection.execute(text)
        await connection.execute("reset role")  # a migration may have set another one
        await make_history(connection)
        await connection.execute(_SQL["record_migration"], version, name, texts)


def _statements(sql: str) -> list[str]:
    if len(sql.encode(errors="replace")) > MAX_SQL_BYTES:
        raise ManagementError(413, "too_large", f"The SQL is longer than {MAX_SQL_BYTES} bytes")
    if "\0" in sql:
        raise invalid_arguments("The SQL has a NUL in it")
    try:
        texts = [statement.text for statement in split(sql)]
    except SplitError as error:
        raise invalid_arguments(
            f"The SQL cannot be split at character {error.offset}: {error.message}"
        ) from None
    if not texts:
        raise invalid_arguments("`query` has no statement")
    return texts


async def _rows(
    connection: asyncpg.Connection, sql: str, parameters: Sequence[object], max_rows: int
) -> list[dict[str, object]]:
    prepared = await connection.prepare(sql)
    if not prepared.get_attributes():
        await connection.execute(sql, *parameters)
        return []
    cursor = await prepared.cursor(*parameters)
    rows: list[dict[str, object]] = []
    size = 0
    while records := await cursor.fetch(_PAGE_ROWS):
        for record in records:
            rows.append({name: json_value(value) for name, value in record.items()})
            size += len(msgspec.json.encode(rows[-1]))
        if len(rows) > max_rows or size > MAX_RESULT_BYTES:
            raise ManagementError(
                413,
                "too_many_rows",
                f"The result has more than {max_rows} rows or {MAX_RESULT_BYTES} bytes",
                hint="Add a `limit`, or raise management.max_rows.",
            )
    return rows


def json_value(value: object) -> object:
    """Return a value of the driver as JSON shows it: numbers that JavaScript would round, times and others as text (pure)."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case decimal.Decimal():
            return str(value)
        case bytes():
            return "\\x" + value.hex()
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return f"{value.total_seconds():g} seconds"
        case asyncpg.Record():
            return {name: json_value(item) for name, item in value.items()}
        case dict():  # of json and jsonb
            return value
        case list() | tuple():
            return [json_value(item) for item in value]
    return str(value)


def _database_error(error: asyncpg.PostgresError) -> DatabaseError:
    fields: Mapping[str, Any] = error.as_dict()
    position = fields.get("position")
    return DatabaseError(
        str(fields.get("sqlstate") or "XX000"),
        str(fields.get("message") or error),
        fields.get("detail"),
        fields.get("hint"),
        position=int(position) if position else None,
        context=fields.get("context"),
    )
