"""Runs SQL that a person wrote, in a session of its own that ends with it, so that nothing of it stays for others.

The text is sent as a simple query, which may have several statements (PostgreSQL, "Simple Query"), or with parameters in the
extended protocol. libpq returns row by row, so that the limits of bytes and rows hold before all is in memory.
A session of its own beside those of `sql.run` (workers/management/areas/sql), because the answers differ: `/pg/query` sends one simple query,
of which all statements are one transaction however they are separated, and returns the fields of errors as the server sent them.
Both share the login (`ManagementDatabase.session_url`) and the limit of sessions (`ManagementDatabase.place`).
The login is a member of role `postgres` alone; `reset role` returns to `postgres`, with which the session starts.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import psycopg
from psycopg import pq

from workers.database.errors import Disconnected
from workers.database.protocol.rows import Row

_CONNECT_S = 10
_CANCEL_S = 5.0
_SETTINGS = {
    "role": "postgres",
    "search_path": '"$user", public, extensions',
    "client_connection_check_interval": "500",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
}
_COPY = frozenset({pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH})


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Most bytes and rows of all results of a query, and the longest time in seconds; `statement_s` is that of a statement, which the
    server ends with an error of its own, 0 for none.
    """

    bytes: int
    rows: int
    seconds: float
    statement_s: float = 0.0


@dataclass(slots=True)
class ResultRows:
    """Rows of one statement; `columns` are name and type (oid) of each."""

    columns: list[tuple[str, int]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


class QueryRejected(Exception):
    """The database rejected a statement: the fields of its error by their codes (PostgreSQL, "Error and Notice Message Fields")."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields.get("M", ""))
        self.fields = fields


class ResultTooLarge(Exception):
    """The results exceed a limit: `size` of them had arrived, `most` are allowed, of `unit` (bytes or rows)."""

    def __init__(self, size: int, most: int, unit: str) -> None:
        super().__init__(f"{size} {unit}")
        self.size, self.most, self.unit = size, most, unit


class CopyRejected(Exception):
    """The text has COPY from or to the client, which the interface cannot carry."""


async def run_query(
    url: str, text: str, parameters: Sequence[bytes | None] | None, limits: QueryLimits
) -> ResultRows:
    """Run SQL and return the rows of the last statement that returned any.

    Raises: QueryRejected, ResultTooLarge, CopyRejected, Disconnected, TimeoutError after `limits.seconds`.
    """
    async with asyncio.timeout(limits.seconds), _session(url, limits.statement_s) as connection:
        try:
            return await _results(connection.pgconn, text, parameters, limits)
        except BaseException:
            await asyncio.shield(_cancel(connection))
            raise


@asynccontextmanager
async def _session(
    url: str, statement_s: float
) -> AsyncIterator["psycopg.AsyncConnection[tuple[object, ...]]"]:
    limit = {"statement_timeout": f"{statement_s * 1000:.0f}"} if statement_s else {}
    options = " ".join(f"-c {name}={_escaped(value)}" for name, value in (_SETTINGS | limit).items())
    try:
        connection = await psycopg.AsyncConnection.connect(
            url,
            autocommit=True,
            connect_timeout=_CONNECT_S,
            application_name="headwater schema metadata",
            options=options,
        )
    except psycopg.Error as error:
        raise Disconnected(str(error).partition("\n")[0], error.sqlstate) from None
    try:
        yield connection
    finally:
        await connection.close()


async def _cancel(connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
    """Stop what still runs. The session ends next, whether the server heard it or not."""
    with suppress(psycopg.Error):
        await connection.cancel_safe(timeout=_CANCEL_S)


async def _results(
    connection: pq.abc.PGconn, text: str, parameters: Sequence[bytes | None] | None, limits: QueryLimits
) -> ResultRows:
    if parameters is None:
        connection.send_query(text.encode())
    else:
        connection.send_query_params(text.encode(), parameters)
    connection.set_single_row_mode()
    current, last, size, count = ResultRows(), ResultRows(), 0, 0
    while (result := await _next(connection)) is not None:
        match result.status:
            case pq.ExecStatus.SINGLE_TUPLE:
                if not current.columns:
                    current.columns = _columns(result)
                row = tuple(result.get_value(0, column) for column in range(result.nfields))
                size += sum(len(value) for value in row if value is not None) + 4 * len(row)
                count += 1
                if size > limits.bytes:
                    raise ResultTooLarge(size, limits.bytes, "bytes")
                if count > limits.rows:
                    raise ResultTooLarge(count, limits.rows, "rows")
                current.rows.append(row)
            case pq.ExecStatus.FATAL_ERROR:
                raise QueryRejected(_fields(result))
            case status if status in _COPY:
                raise CopyRejected
            case _:  # the end of a statement's rows
                if current.rows:
                    last = current
                current = ResultRows()
    return last


async def _next(connection: pq.abc.PGconn) -> pq.abc.PGresult | None:
    while connection.flush():
        await _wait(connection, is_writing=True)
    while connection.is_busy():
        await _wait(connection)
        try:
            connection.consume_input()
        except psycopg.Error as error:
            raise Disconnected(str(error).partition("\n")[0]) from None
    return connection.get_result()


async def _wait(connection: pq.abc.PGconn, *, is_writing: bool = False) -> None:
    """Wait until the socket can be read, or also written."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    descriptor = connection.socket
    loop.add_reader(descriptor, ready.set)
    if is_writing:
        loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
        if is_writing:
            loop.remove_writer(descriptor)
    if is_writing:
        connection.consume_input()


def _columns(result: pq.abc.PGresult) -> list[tuple[str, int]]:
    return [
        ((result.fname(column) or b"").decode(errors="replace"), result.ftype(column))
        for column in range(result.nfields)
    ]


_FIELDS = {
    "S": pq.DiagnosticField.SEVERITY,
    "V": pq.DiagnosticField.SEVERITY_NONLOCALIZED,
    "C": pq.DiagnosticField.SQLSTATE,
    "M": pq.DiagnosticField.MESSAGE_PRIMARY,
    "D": pq.DiagnosticField.MESSAGE_DETAIL,
    "H": pq.DiagnosticField.MESSAGE_HINT,
    "P": pq.DiagnosticField.STATEMENT_POSITION,
    "p": pq.DiagnosticField.INTERNAL_POSITION,
    "q": pq.DiagnosticField.INTERNAL_QUERY,
    "W": pq.DiagnosticField.CONTEXT,
    "s": pq.DiagnosticField.SCHEMA_NAME,
    "t": pq.DiagnosticField.TABLE_NAME,
    "c": pq.DiagnosticField.COLUMN_NAME,
    "d": pq.DiagnosticField.DATATYPE_NAME,
    "n": pq.DiagnosticField.CONSTRAINT_NAME,
    "F": pq.DiagnosticField.SOURCE_FILE,
    "L": pq.DiagnosticField.SOURCE_LINE,
    "R": pq.DiagnosticField.SOURCE_FUNCTION,
}


def _fields(result: pq.abc.PGresult) -> dict[str, str]:
    """Return the fields of an error; a connection that broke has a message alone."""
    fields = {
        letter: value.decode(errors="replace")
        for letter, field in _FIELDS.items()
        if (value := result.error_field(field)) is not None
    }
    return fields or {"M": result.error_message.decode(errors="replace").strip()}


def _escaped(value: str) -> str:
    """Escape a value for the option `options` (libpq, "Connection Parameters")."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
