"""A session for replication: libpq by the `pq` layer of psycopg, without blocking.

asyncpg cannot stream the log, and psycopg offers this only at this layer.
Source: PostgreSQL, "Streaming Replication Protocol".
"""

import asyncio

from psycopg import pq
from psycopg.errors import Error

_CONNECT_S = 10.0
_UPLOAD_PART = 256 * 1024

SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "search_path": "pg_catalog, pg_temp",
    "statement_timeout": "0",
}
"""Settings with which texts of values have the form that `values.py` reads."""


class StreamLost(Exception):
    """The stream of the log cannot be opened or has ended: the server's message, and its SQLSTATE if it sent one."""

    def __init__(self, reason: str, sqlstate: str = "") -> None:
        super().__init__(reason)
        self.sqlstate = sqlstate


async def connect(url: str, *, kind: str = "database", name: str = "headwater changes") -> pq.abc.PGconn:
    """Connect for replication of the URL's database, or with the kind `true` of the whole cluster (physical).

    Errors contain no part of the URL. Raises: StreamLost.
    """
    options = " ".join(f"-c {name}={_escaped(value)}" for name, value in SESSION.items())
    more = {
        "replication": kind,
        "client_encoding": "UTF8",
        "application_name": name,
        "options": options,
        "tcp_user_timeout": "20000",
        "keepalives_idle": "15",
    }
    parameters = {
        option.keyword: option.val for option in pq.Conninfo.parse(url.encode()) if option.val is not None
    }
    parameters |= {name.encode(): value.encode() for name, value in more.items()}
    conninfo = b" ".join(
        b"%b='%b'" % (name, value.replace(b"\\", b"\\\\").replace(b"'", b"\\'"))
        for name, value in parameters.items()
    )
    connection = pq.PGconn.connect_start(conninfo)
    try:
        async with asyncio.timeout(_CONNECT_S):
            while True:
                match connection.connect_poll():
                    case pq.PollingStatus.READING:
                        await readable(connection)
                    case pq.PollingStatus.WRITING:
                        await _writable(connection)
                    case pq.PollingStatus.OK:
                        break
                    case _:
                        raise StreamLost(_words(connection))
    except TimeoutError:
        connection.finish()
        raise StreamLost("the server does not answer") from None
    except BaseException:
        connection.finish()
        raise
    connection.nonblocking = 1
    return connection


async def stream(connection: pq.abc.PGconn, command: str) -> None:
    """Run a command that starts COPY_BOTH. Raises: StreamLost."""
    await _run(connection, command, pq.ExecStatus.COPY_BOTH)


async def execute(connection: pq.abc.PGconn, command: str) -> None:
    """Run a command that returns no rows. Raises: StreamLost."""
    await _run(connection, command, pq.ExecStatus.COMMAND_OK)
    await next_result(connection)  # the end of the results, after which the next command may be sent


async def upload(connection: pq.abc.PGconn, command: str, content: bytes) -> None:
    """Run a command that takes a COPY, and send it a content. Raises: StreamLost."""
    await _run(connection, command, pq.ExecStatus.COPY_IN)
    try:
        for begin_at in range(0, len(content), _UPLOAD_PART):
            while connection.put_copy_data(content[begin_at : begin_at + _UPLOAD_PART]) == 0:
                await _writable(connection)
                connection.flush()
        while connection.put_copy_end() == 0:
            await _writable(connection)
        while connection.flush():
            await _writable(connection)
    except Error as error:
        raise lost(error) from None
    result = await next_result(connection)
    if result is None or result.status != pq.ExecStatus.COMMAND_OK:
        raise StreamLost("the server sent no result") if result is None else error_of_result(result)
    await next_result(connection)


async def value(connection: pq.abc.PGconn, command: str, column: int) -> str:
    """Run a command and return a column of its first row. Raises: StreamLost."""
    result = await _run(connection, command, pq.ExecStatus.TUPLES_OK)
    await next_result(connection)
    return (result.get_value(0, column) or b"").decode()


async def row(connection: pq.abc.PGconn, command: str) -> list[str | None]:
    """Run a command and return its first row as texts. Raises: StreamLost."""
    result = await _run(connection, command, pq.ExecStatus.TUPLES_OK)
    await next_result(connection)
    return row_of(result)


def row_of(result: pq.abc.PGresult) -> list[str | None]:
    """Return the first row of a result as texts; empty without one."""
    values = [result.get_value(0, column) for column in range(result.nfields if result.ntuples else 0)]
    return [None if value is None else value.decode() for value in values]


async def begin(connection: pq.abc.PGconn, command: str) -> pq.abc.PGresult:
    """Run a command of several results and return the first, a row; `next_result` returns the others. Raises: StreamLost."""
    return await _run(connection, command, pq.ExecStatus.TUPLES_OK)


async def _run(connection: pq.abc.PGconn, command: str, expected: pq.ExecStatus) -> pq.abc.PGresult:
    connection.send_query(command.encode())
    while connection.flush():
        await _writable(connection)
    result = await next_result(connection)
    if result is None:
        raise StreamLost("the server sent no result")
    if result.status != expected:
        raise error_of_result(result)
    return result


async def next_result(connection: pq.abc.PGconn) -> pq.abc.PGresult | None:
    """Return the next result of a command; None after the last. Raises: StreamLost."""
    while connection.is_busy():
        await readable(connection)
        try:
            connection.consume_input()
        except Error as error:
            raise lost(error) from None
    return connection.get_result()


def error_of_result(result: pq.abc.PGresult) -> StreamLost:
    """Return the error of a result, with the server's message and SQLSTATE."""
    primary = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"the server gave no reason"
    code = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    return StreamLost(primary.decode(errors="replace"), code.decode(errors="replace"))


def lost(error: Error) -> StreamLost:
    """Return the error of a lost connection."""
    return StreamLost(str(error).strip().partition("\n")[0] or "the connection ended")


async def readable(connection: pq.abc.PGconn, ready: "asyncio.Future[None] | None" = None) -> None:
    """Wait until there is something to read, or another component completes `ready`. Raises: StreamLost."""
    loop = asyncio.get_running_loop()
    descriptor, ready = _descriptor(connection), ready or loop.create_future()
    loop.add_reader(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def identifier(name: str) -> str:
    """Quote a name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def lsn_text(lsn: int) -> str:
    """Return a position of the log as Postgres prints it: `16/B374D848`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """Parse the form that `lsn_text` returns."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


async def _writable(connection: pq.abc.PGconn) -> None:
    loop = asyncio.get_running_loop()
    descriptor, ready = _descriptor(connection), loop.create_future()
    loop.add_writer(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(descriptor)


def _descriptor(connection: pq.abc.PGconn) -> int:
    """Return the socket of a connection. Raises: StreamLost if libpq has closed it."""
    try:
        return connection.socket
    except Error as error:
        raise lost(error) from None


def _words(connection: pq.abc.PGconn) -> str:
    return connection.get_error_message().strip().partition("\n")[0] or "the server cannot be reached"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
