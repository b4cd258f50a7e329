"""Exceptions of the database and its pool as errors of the interface.

Source: docs/reference/rest.md, section 20 ("Database errors", "Full control from SQL").
"""

import msgspec

from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout, status_of
from workers.rest.errors.base import RestError
from workers.rest.errors.execute import (
    BadRaise,
    ConnectionFailed,
    DatabaseRejection,
    PoolExhausted,
    RaisedResponse,
)

_MESSAGE_HINT = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
_DETAIL_HINT = (
    "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'."
)


class _Message(msgspec.Struct):
    code: str
    message: str
    details: str | None = None
    hint: str | None = None


class _Detail(msgspec.Struct):
    status: int
    headers: dict[str, str]
    status_text: str | None = None


def rest_error_of(error: DatabaseError | Disconnected | PoolTimeout, *, is_anonymous: bool) -> RestError:
    """Return the error of the interface for an exception of the database or the pool."""
    match error:
        case PoolBusy():
            return PoolExhausted(str(error), did_wait=False, retry_after_s=error.retry_after_s)
        case PoolTimeout():
            return PoolExhausted()
        case Disconnected():
            return ConnectionFailed(str(error))
        case DatabaseError(code="PGRST"):
            return _raised(error)
    status = status_of(error.code, error.message, is_anonymous)
    return DatabaseRejection(
        error.code, status, error.message, error.details, error.hint, challenges=status == 401
    )


def _raised(error: DatabaseError) -> RestError:
    """Read RAISE SQLSTATE 'PGRST': the message is the body, the detail says status and headers."""
    if error.details is None:
        return BadRaise("DETAIL is missing in the RAISE statement", _DETAIL_HINT)
    try:
        message = msgspec.json.decode(error.message, type=_Message)
    except (msgspec.DecodeError, RecursionError):
        return BadRaise(f"Invalid JSON value for MESSAGE: '{error.message}'", _MESSAGE_HINT)
    try:
        detail = msgspec.json.decode(error.details, type=_Detail)
    except (msgspec.DecodeError, RecursionError):
        return BadRaise(f"Invalid JSON value for DETAIL: '{error.details}'", _DETAIL_HINT)
    if (
        not 200 <= detail.status <= 599
    ):  # 1xx responses are not final, and clients reject more than three digits
        return BadRaise(f"Invalid HTTP status in DETAIL: {detail.status}", _DETAIL_HINT)
    headers = [(name.lower(), value) for name, value in detail.headers.items()]
    return RaisedResponse(msgspec.structs.asdict(message), detail.status, detail.status_text or "", headers)
