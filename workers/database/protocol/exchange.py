"""What is sent in one exchange with the server, and what comes back."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from workers.database.errors import DatabaseError, Disconnected, SessionEnded, database_error, read_fields
from workers.database.protocol.backend_reader import IDLE, BackendReader
from workers.database.protocol.long_value import LongValue
from workers.database.protocol.rows import Rows

_CANCELLED = "57014"


class ExchangeReply(NamedTuple):
    """The answer to one exchange."""

    results: list[Rows]
    """Rows of each completed statement."""
    error: DatabaseError | None
    tag: bytes
    """Tag of the last completed command."""
    columns: list[int]
    """Number of result columns of each described statement."""
    long: LongValue | None = None
    """The last value of the last row, which contains None for it. The exchange continues until the value has ended."""
    status: int = IDLE
    """Transaction status after the exchange."""


class PipelinedExchange(NamedTuple):
    """One of several exchanges that are sent together: arguments as for `exchange`, and the future of its reply."""

    messages: Sequence[bytes]
    result: int
    waiter: asyncio.Future[ExchangeReply]
    separator: bytes | None = None


def error_after_long_value(reply: ExchangeReply) -> DatabaseError | None:
    """Return the error that makes a long value invalid; None if the value is valid.

    `statement_timeout` keeps running while a row is sent, however slowly the client reads. The server then reports the
    timeout after the complete row. The row was computed in time, and a read-only transaction has nothing else to do, so
    that error is ignored, unless an explicit transaction was left open by it.
    """
    error = reply.error
    if error is None and (reply.status != IDLE or reply.tag == b"ROLLBACK"):
        return transaction_changed()
    if error is not None and error.code == _CANCELLED and reply.status == IDLE:
        return None
    return error


def end_of_session(
    reader: BackendReader, error: Exception | None
) -> tuple[Disconnected, DatabaseError | None]:
    """Return why a connection ended that was not closed here, and the server's last error if it sent one.

    The server answers in order and sends what it has answered before it ends a session. So without a result
    no statement of the exchange was completed.
    """
    if reader.failure is None:
        return Disconnected("the server closed the connection" if error is None else str(error)), None
    last = database_error(read_fields(reader.failure))
    if last.severity == "FATAL" and not reader.results and not reader.rows:
        return SessionEnded(last.message, last.code), None
    return Disconnected(last.message, last.code), last


def transaction_changed() -> DatabaseError:
    """Return the error for a transaction whose end was changed by its own SQL: its work may not have been committed."""
    return DatabaseError("2D000", "the transaction was begun or ended by one of its own statements")
