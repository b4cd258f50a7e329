"""Errors of the database, and their HTTP status.

    Exception
    ├── DatabaseError   the server rejected a statement (or would have): SQLSTATE and all fields it sent
    ├── Disconnected    no connection to the server could be opened, or it broke before the answer arrived
    │   ├── SessionEnded    nothing of the exchange was committed
    │   └── ServerSilent    the server answers nothing, and may still receive what was sent
    └── PoolTimeout     no connection became free in the time that the request may wait; nothing was done
        └── PoolBusy    none would become free in that time, so the request failed at once

Data pools see only these errors, never an exception of the driver or an ErrorResponse.
Source: PostgreSQL, "Error and Notice Message Fields"; docs/reference/rest.md, section 20.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.numbers import parse_whole_number

_MAX_POSITION = 2**31 - 1
"""Largest error position: the server counts the characters of a statement with 32 bits."""

NUL_CODE = "22021"
"""character_not_in_repertoire: SQLSTATE of text that Postgres cannot store."""


@dataclass(eq=False, repr=False)
class DatabaseError(Exception):
    """An error of the server: the fields of its ErrorResponse, None for fields it did not send."""

    code: str
    """SQLSTATE."""
    message: str
    details: str | None = None
    hint: str | None = None
    severity: str = "ERROR"
    position: int | None = None
    """Character of the statement's text, counted from 1."""
    schema: str | None = None
    table: str | None = None
    column: str | None = None
    constraint: str | None = None
    context: str | None = None
    """Call stack inside the server; None when the statement itself failed."""
    routine: str | None = None
    """Function of the server's source code that raised the error."""
    statement_index: int | None = None
    """Index of the failed statement; None if a setting or the end of the transaction failed."""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(eq=False)
class Disconnected(Exception):
    """No connection could be opened, or it was lost before the answer: whether the transaction was committed is unknown."""

    message: str
    code: str | None = None
    """SQLSTATE if the server itself rejected the connection."""

    def __str__(self) -> str:
        return self.message


class SessionEnded(Disconnected):
    """The server ended the session before it completed any statement of an exchange, so nothing of that was committed.

    Transactions that had not begun run on another connection (`transactions/repeat.py`): a session that was terminated while it
    was idle (`pg_terminate_backend`) fails no request.
    """


class ServerSilent(Disconnected):
    """The server answered neither this exchange nor a new connection, so the pool gave up its connections (silence_watch.py).

    What was sent may still arrive and be committed.
    """


class PoolTimeout(Exception):
    """Timed out acquiring connection from connection pool."""

    def __str__(self) -> str:
        return "Timed out acquiring connection from connection pool."


class PoolBusy(PoolTimeout):
    """The request failed before or while it waited for a connection, because none would be free in time.

    `reason` is one of `broker/requests/fair_queue.py`; the request may succeed after `retry_after_s` seconds.
    """

    def __init__(self, reason: str, retry_after_s: int) -> None:
        super().__init__()
        self.reason, self.retry_after_s = reason, retry_after_s

    def __str__(self) -> str:
        return _BUSY_TEXTS.get(self.reason, _BUSY_TEXTS["full"])


_BUSY_TEXTS = {
    "full": "Too many requests wait for a database connection.",
    "share": "Too many requests of this caller wait for a database connection.",
    "late": "No database connection would be free for this request in time: too many of this caller are before it.",
}


def read_fields(payload: bytes) -> dict[str, str]:
    """Read the body of an ErrorResponse or NoticeResponse: field type (one character) -> text."""
    parts = payload.split(b"\0")
    return {part[:1].decode("latin-1"): part[1:].decode("utf-8", "replace") for part in parts if part}


def database_error(fields: Mapping[str, str]) -> DatabaseError:
    """Return the error for the fields of an ErrorResponse."""
    position = fields.get("P", "")
    return DatabaseError(
        code=fields.get("C", "XX000"),
        message=fields.get("M", ""),
        details=fields.get("D"),
        hint=fields.get("H"),
        severity=fields.get("V") or fields.get("S", "ERROR"),
        position=parse_whole_number(position, most=_MAX_POSITION),
        schema=fields.get("s"),
        table=fields.get("t"),
        column=fields.get("c"),
        constraint=fields.get("n"),
        context=fields.get("W"),
        routine=fields.get("R"),
    )


def unstorable_text() -> DatabaseError:
    """Return the error for text with a NUL (or half a surrogate pair), which Postgres cannot store."""
    return DatabaseError(
        NUL_CODE,
        'invalid byte sequence for encoding "UTF8": 0x00',
        hint="Remove the NUL characters (\\u0000).",
    )


_STATUS_OF_STATE = {
    "23503": 409, "23505": 409,
    "25006": 405,
    "42501": 403, "42883": 404, "42P01": 404, "42P17": 500,
    "53400": 500,
    "57P01": 503,
    "P0001": 400,
    "21000": 500,
}  # fmt: skip

_STATUS_OF_CLASS = {
    "08": 503, "09": 500, "0L": 403, "0P": 403, "25": 500, "28": 403, "2D": 500, "38": 500, "39": 500, "3B": 500,
    "40": 500, "53": 503, "54": 500, "55": 500, "57": 500, "58": 500, "F0": 500, "HV": 500, "P0": 500, "XX": 500,
}  # fmt: skip


def reason_of(error: Exception) -> str:
    """Return what a log may tell of an error: its kind, SQLSTATE and constraint, without values of rows. Pure."""
    if not isinstance(error, DatabaseError):
        return type(error).__name__
    return " ".join(filter(None, (type(error).__name__, error.code, error.constraint)))


def status_of(sqlstate: str, message: str, is_anonymous: bool) -> int:
    """Return the HTTP status of a server error.

    `is_anonymous`: the transaction ran as the role of callers without a token, who can still sign in (401, not 403).
    SQLSTATE `PTnnn` is status nnn, which SQL chooses by `raise sqlstate 'PT402'`.
    Source: docs/reference/rest.md, section 20.
    """
    match sqlstate:
        case "42501" if is_anonymous:
            return 401
        case "21000" if message.endswith("requires a WHERE clause"):
            return 400
        case "22023" if message.startswith("role ") and message.endswith("does not exist"):
            return 401
        case "42883" if "xmlagg(" in message:
            return 406
    if sqlstate.startswith("PT"):
        return _chosen_status(sqlstate[2:])
    return _STATUS_OF_STATE.get(sqlstate) or _STATUS_OF_CLASS.get(sqlstate[:2], 400)


def _chosen_status(digits: str) -> int:
    """Return nnn of PTnnn; 500 if it is not a final HTTP status."""
    status = parse_whole_number(digits, least=200, most=599)
    return 500 if status is None else status
