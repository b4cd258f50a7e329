"""Every refusal of the accounts, and the shapes in which callers read it.

    ApiError
    ├── AuthError            a code, a message, a status; two shapes, by `ApiVersion`
    │   ├── WeakPassword     the password breaks the rules, and which
    │   └── RaisedError      SQL of the project refused: its own words reach the caller
    └── OAuthError           the shape of RFC 6749: error, error_description

Codes stand in `error_codes.py`; refusals whose wording is fixed in `refusals.py`. The worker's rim calls `seen_by`
before it answers. Source: reference page "auth", sections 1.2, 5.7, 11.2 and 23; RFC 6749, 5.2.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Self

from schemas.errors import ApiError
from schemas.http import Headers
from schemas.numbers import parse_whole_number
from workers.auth.model.error_codes import Code
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout

VERSION_HEADER = "x-supabase-api-version"
_READABLE = f"{VERSION_HEADER}, x-sb-error-code, x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset"
"""Headers of a refusal that a page may read. Without the version clients in browsers do not look at the code."""


class ApiVersion(StrEnum):
    """The shape of error bodies that a caller reads; the value is what is echoed to it."""

    FIRST = ""
    Y2024 = "2024-01-01"


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Y2024 = date(2024, 1, 1)


def parse_api_version(header: str | None) -> ApiVersion:
    """Read `X-Supabase-Api-Version`, a date; what is no date counts as absent."""
    if header is None or not _DATE.fullmatch(header):
        return ApiVersion.FIRST
    try:
        asked = date.fromisoformat(header)
    except ValueError:
        return ApiVersion.FIRST
    return ApiVersion.Y2024 if asked >= _Y2024 else ApiVersion.FIRST


class AuthError(ApiError):
    """A refusal with a code. `status` is the code's usual one unless given; `extra` are further members of the body.

    Of one that will pass, `retry_after_s` says when, `burst` how many requests there may be at once.
    """

    def __init__(
        self,
        code: Code,
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

    def seen_by(self, version: ApiVersion, request_id: str) -> Self:
        """Take the shape that this caller reads; errors of ours (5xx) name the request."""
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
        own = [("x-sb-error-code", self.code.value), ("access-control-expose-headers", _READABLE)]
        if self.version is not ApiVersion.FIRST:
            own.append((VERSION_HEADER, self.version.value))
        if self.retry_after_s is None:
            return own
        own.append(("retry-after", str(self.retry_after_s)))
        if self.status == 429:
            own += [("ratelimit-remaining", "0"), ("ratelimit-reset", str(self.retry_after_s))]
        if self.burst is not None:
            own.append(("ratelimit-limit", str(self.burst)))
        return own


class WeakPassword(AuthError):
    """The password breaks the rules: `reasons` are `length`, `characters`, `pwned`."""

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        self.reasons = list(reasons)
        super().__init__(Code.WEAK_PASSWORD, message, extra={"weak_password": {"reasons": self.reasons}})


class RaisedError(AuthError):
    """A trigger or constraint of the project refused a change of ours: the caller reads its words and its SQLSTATE."""

    def __init__(
        self, sqlstate: str, message: str, status: int, details: str | None, hint: str | None
    ) -> None:
        told = {"hint": hint, "detail": details}
        super().__init__(
            Code.UNEXPECTED_FAILURE,
            message,
            status,
            extra={name: text for name, text in told.items() if text},
        )
        self.sqlstate = sqlstate

    def body(self) -> dict[str, object]:
        return super().body() | {"code": self.sqlstate, "message": self.message}


class OAuthError(ApiError):
    """A refusal of the OAuth endpoints, `id_token` and `web3`: a word of RFC 6749 and a sentence."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error, self.description, self.status = error, description, status

    def seen_by(self, version: ApiVersion, request_id: str) -> Self:
        """Stay as it is: this shape is the same for every caller."""
        del version, request_id
        return self

    def body(self) -> dict[str, object]:
        return {"error": self.error, "error_description": self.description}

    def headers(self) -> Headers:
        return [("cache-control", "no-store")]


# --- From the database -------------------------------------------------------------------------------------------

UNEXPECTED = "Unexpected failure, please check server logs for more information"
_RETRY_AFTER_S = 1
_NO_RESOURCES = "53"
_WORDS_OF_RESOURCES = {
    "53100": "its disk is full",
    "53200": "it is out of memory",
    "53300": "it has too many connections",
}
"""SQLSTATEs of a server that lacks something: nothing is wrong with the request, and it may succeed later."""


def refusal_of(error: DatabaseError | Disconnected | PoolTimeout, message: str = UNEXPECTED) -> AuthError:
    """Turn what the database raised into the answer for the caller; `message` is told where SQL has no words for it.

    Errors that SQL of the project raises (P0001, PTnnn) and violated constraints (class 23) pass on with their own words.
    A constraint of ours whose violation has a meaning (an address that is taken) is the business of who runs the statement.
    """
    if isinstance(error, PoolTimeout):
        retry_after_s = error.retry_after_s if isinstance(error, PoolBusy) else _RETRY_AFTER_S
        return AuthError(Code.UNEXPECTED_FAILURE, str(error), 503, retry_after_s=retry_after_s)
    if not isinstance(error, DatabaseError):
        return AuthError(
            Code.UNEXPECTED_FAILURE, "The database cannot be reached", 503, retry_after_s=_RETRY_AFTER_S
        )
    if error.code[:2] == _NO_RESOURCES:
        words = (
            f"The database cannot do it now: {_WORDS_OF_RESOURCES.get(error.code, 'a resource is used up')}"
        )
        return AuthError(Code.UNEXPECTED_FAILURE, words, 503, retry_after_s=_RETRY_AFTER_S)
    status = _status_of(error.code)
    if status is None:
        return AuthError(Code.UNEXPECTED_FAILURE, message)
    return RaisedError(error.code, error.message, status, error.details, error.hint)


def _status_of(sqlstate: str) -> int | None:
    """Give the status of an error that is meant for callers, None for others. PTnnn chooses its own, if it is one."""
    if sqlstate == "P0001" or sqlstate.startswith("23"):
        return 500
    if not re.fullmatch(r"PT[0-9]{3}", sqlstate):
        return None
    chosen = parse_whole_number(sqlstate[2:], least=400, most=599)
    return 500 if chosen is None else chosen


# --- In a redirect -----------------------------------------------------------------------------------------------

_OAUTH_WORDS = {
    400: "invalid_request",
    401: "unauthorized_client",
    403: "access_denied",
    500: "server_error",
    503: "temporarily_unavailable",
}
_DENIED = (Code.SIGNUP_DISABLED, Code.USER_BANNED, Code.PROVIDER_EMAIL_NEEDS_VERIFICATION)


def redirect_fields(error: AuthError | OAuthError) -> dict[str, str]:
    """Give the fields that tell a refusal in the query and fragment of a redirect."""
    if isinstance(error, OAuthError):
        return {"error": error.error, "error_description": error.description}
    word = "access_denied" if error.code in _DENIED else _OAUTH_WORDS.get(error.status, "server_error")
    return {"error": word, "error_code": error.code.value, "error_description": error.message}
