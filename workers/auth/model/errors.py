"""Every error of auth, and the JSON shapes in which clients read them.

    ApiError
    ├── AuthError              a code, a message, a status; two shapes, by `ApiVersion`
    │   ├── WeakPassword       the password breaks the rules; the body lists which
    │   └── ProjectSqlError    SQL of the project raised an error: its message reaches the client
    └── OAuthError             the shape of RFC 6749: error, error_description

Codes are in `error_codes.py`; errors with a fixed text are in `rejections.py`. The worker calls `for_version` before it
responds. Sources: docs/reference/auth.md, sections 1.2, 5.7, 11.2 and 23; RFC 6749, section 5.2.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Self

from schemas.auth_api_version import VERSION_HEADER, ApiVersion
from schemas.errors import ApiError
from schemas.http import Headers
from schemas.numbers import parse_whole_number
from workers.auth.model.error_codes import ErrorCode
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout

UNIQUE_VIOLATION = "23505"
INVALID_TEXT = "22P02"
UNTRANSLATABLE_CHARACTER = "22P05"
"""SQLSTATEs that code of auth handles itself; U+0000 in JSON raises the last."""


class AuthError(ApiError):
    """An error with a code. `status` is the code's default unless set; `extra` are further members of the body.

    For errors that pass with time, `retry_after_s` says when to retry, `burst` how many requests are allowed at once.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        status: int | None = None,
        *,
        retry_after_s: int | None = None,
        burst: int | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status or code.status
        self.retry_after_s, self.burst = retry_after_s, burst
        self.extra = dict(extra or {})
        self.version = ApiVersion.FIRST
        self.request_id = ""

    def for_version(self, version: ApiVersion, request_id: str) -> Self:
        """Set the shape that the client reads; bodies of server errors (5xx) name the request."""
        self.version, self.request_id = version, request_id
        return self

    def body(self) -> dict[str, object]:
        if self.version is not ApiVersion.FIRST:
            return {"code": self.code.value, "message": self.message, **self.extra}
        shape: dict[str, object] = {"code": self.status, "error_code": self.code.value, "msg": self.message}
        if self.status >= 500 and self.request_id:
            shape["error_id"] = self.request_id
        return shape | self.extra

    def headers(self) -> Headers:
        fields = [("x-sb-error-code", self.code.value)]
        if self.version is not ApiVersion.FIRST:
            fields.append((VERSION_HEADER, self.version.value))
        if self.retry_after_s is None:
            return fields
        fields.append(("retry-after", str(self.retry_after_s)))
        if self.status == 429:
            fields += [("ratelimit-remaining", "0"), ("ratelimit-reset", str(self.retry_after_s))]
        if self.burst is not None:
            fields.append(("ratelimit-limit", str(self.burst)))
        return fields


class WeakPassword(AuthError):
    """The password breaks the rules; `reasons` are `length`, `characters`, `pwned`."""

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        self.reasons = list(reasons)
        super().__init__(ErrorCode.WEAK_PASSWORD, message, extra={"weak_password": {"reasons": self.reasons}})


class ProjectSqlError(AuthError):
    """A trigger or constraint of the project rejected a change: the client reads its message and SQLSTATE."""

    def __init__(
        self, sqlstate: str, message: str, status: int, details: str | None, hint: str | None
    ) -> None:
        optional = {"hint": hint, "detail": details}
        super().__init__(
            ErrorCode.UNEXPECTED_FAILURE,
            message,
            status,
            extra={name: text for name, text in optional.items() if text},
        )
        self.sqlstate = sqlstate

    def body(self) -> dict[str, object]:
        return super().body() | {"code": self.sqlstate, "message": self.message}


class OAuthError(ApiError):
    """An error of the OAuth endpoints, `id_token` and `web3`: an error name of RFC 6749 and a description."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error, self.description, self.status = error, description, status

    def for_version(self, version: ApiVersion, request_id: str) -> Self:
        """Return the error unchanged: this shape is the same for every client."""
        del version, request_id
        return self

    def body(self) -> dict[str, object]:
        return {"error": self.error, "error_description": self.description}

    def headers(self) -> Headers:
        return [("cache-control", "no-store")]


# --- From the database -------------------------------------------------------------------------------------------

UNEXPECTED = "Unexpected failure, please check server logs for more information"
_RETRY_AFTER_S = 1
_INSUFFICIENT_RESOURCES = "53"
_MISSING_RESOURCES = {
    "53100": "its disk is full",
    "53200": "it is out of memory",
    "53300": "it has too many connections",
}
"""SQLSTATEs of a server that lacks a resource: the request is valid, and may succeed later."""


def error_from_database(
    error: DatabaseError | Disconnected | PoolTimeout, message: str = UNEXPECTED
) -> AuthError:
    """Convert a database error into the error for the client; `message` is its text if the SQL error is not meant for clients.

    Errors that SQL of the project raises (P0001, PTnnn) and violated constraints (class 23) pass on with their own text.
    A constraint of auth whose violation has a meaning (an address is taken) is handled by the code that runs the statement.
    """
    if isinstance(error, PoolTimeout):
        retry_after_s = error.retry_after_s if isinstance(error, PoolBusy) else _RETRY_AFTER_S
        return AuthError(ErrorCode.UNEXPECTED_FAILURE, str(error), 503, retry_after_s=retry_after_s)
    if not isinstance(error, DatabaseError):
        return AuthError(
            ErrorCode.UNEXPECTED_FAILURE, "The database cannot be reached", 503, retry_after_s=_RETRY_AFTER_S
        )
    if error.code[:2] == _INSUFFICIENT_RESOURCES:
        words = (
            f"The database cannot do it now: {_MISSING_RESOURCES.get(error.code, 'a resource is used up')}"
        )
        return AuthError(ErrorCode.UNEXPECTED_FAILURE, words, 503, retry_after_s=_RETRY_AFTER_S)
    status = _status_of(error.code)
    if status is None:
        return AuthError(ErrorCode.UNEXPECTED_FAILURE, message)
    return ProjectSqlError(error.code, error.message, status, error.details, error.hint)


def _status_of(sqlstate: str) -> int | None:
    """Return the status of an SQL error that is meant for clients, else None. PTnnn selects status nnn, if it is valid."""
    if sqlstate == "P0001" or sqlstate.startswith("23"):
        return 500
    if not re.fullmatch(r"PT[0-9]{3}", sqlstate):
        return None
    chosen = parse_whole_number(sqlstate[2:], least=400, most=599)
    return 500 if chosen is None else chosen
