"""Errors of the step execute: no connection (0xx), an error of the database itself, and results that the request does not allow. Source: docs/reference/rest.md, section 20."""

import msgspec

from schemas.http import Headers
from schemas.row_tags import tag_of_rows
from workers.rest.errors.base import RestError


class ConnectionFailed(RestError):
    """The database cannot be reached."""

    code, status = "PGRST000", 503

    def __init__(self, details: str | None = None, retry_after_s: int = 1) -> None:
        super().__init__("Database connection error.", details)
        self.retry_after_s = retry_after_s

    def headers(self) -> Headers:
        return [*super().headers(), ("retry-after", str(self.retry_after_s))]


class PoolExhausted(RestError):
    """No connection became free in time (504), or none would become free in time, so the request did not wait (503). Unbegun."""

    code, status = "PGRST003", 504

    def __init__(
        self,
        message: str = "Timed out acquiring connection from connection pool.",
        *,
        did_wait: bool = True,
        retry_after_s: int = 1,
    ) -> None:
        super().__init__(message)
        self.status = 504 if did_wait else 503
        self.retry_after_s = retry_after_s

    def headers(self) -> Headers:
        return [*super().headers(), ("retry-after", str(self.retry_after_s))]


class AnswerNotStored(RestError):
    """The rows of a long answer could not be stored while they came: the space for them, or the disk, is full."""

    code, status = "HW503", 503

    def __init__(self, details: str, *, is_kept: bool) -> None:
        super().__init__("No space for a long answer.", details, _outcome(is_kept=is_kept))
        self._is_kept = is_kept

    def headers(self) -> Headers:
        return super().headers() if self._is_kept else [*super().headers(), ("retry-after", "1")]


class AnswerTooLong(RestError):
    """The rows of an answer are longer than `api.max_answer`."""

    code, status = "HW500", 500

    def __init__(self, details: str, *, is_kept: bool) -> None:
        super().__init__("The answer is too long.", details, _outcome(is_kept=is_kept))


def _outcome(*, is_kept: bool) -> str:
    if is_kept:
        return "The statement was carried out; do not repeat it. Ask for Prefer: return=minimal, or read the rows in pages."
    return "Read the rows in pages, with limit and offset or by cursor."


class UpsertKeyMismatch(RestError):
    """PUT whose payload has another key than its URL."""

    code, status = "PGRST115", 400

    def __init__(self) -> None:
        super().__init__("Payload values do not match URL in primary key column(s)")


class NotSingular(RestError):
    """One object was demanded and there are none, or several."""

    code, status = "PGRST116", 406

    def __init__(self, rows: int) -> None:
        super().__init__(
            "Cannot coerce the result to a single JSON object", f"The result contains {rows} rows"
        )


class TooManyAffected(RestError):
    """More rows than `max-affected` would change."""

    code, status = "PGRST124", 400

    def __init__(self, rows: int) -> None:
        super().__init__(
            "Query result exceeds max-affected preference constraint", f"The query affects {rows} rows"
        )


class PlanHidden(RestError):
    """An execution plan is wanted of rows of which some may be hidden from the caller: its figures would tell of them."""

    code, status = "HW406", 406

    def __init__(self) -> None:
        super().__init__(
            "The execution plan is not available: row security or a view may hide rows from this role",
            hint="Ask as a role that bypasses row security",
        )


class PreconditionFailed(RestError):
    """If-Match or If-None-Match does not hold for the rows that are there, or they changed meanwhile.

    `current`: the JSON array of the rows as the caller sees them, which the response hands over with their tag, so that a client
    has both versions; None where they are not known. `changed`: how many rows the write would change, where the tag is of fewer.
    """

    code, status = "HW412", 412
    most_current = 64 * 1024
    """Bytes of rows that an error may carry."""

    def __init__(self, current: bytes | None = None, *, changed: int | None = None) -> None:
        self._current = None if current is None or len(current) > self.most_current else current
        hint = (
            "Read them again, and repeat the change with the new ETag"
            if self._current is None
            else "Compare them with `current`, and repeat the change with the new ETag"
        )
        details = "If-Match or If-None-Match does not hold"
        if changed is not None:
            details = f"The write would change {changed} rows, and the tag is of fewer: limits do not hold for writes"
            hint = "Choose the rows by filters, and read them whole"
        super().__init__("The rows are not what the request expects", details, hint)

    def body(self) -> dict[str, object]:
        current = {} if self._current is None else {"current": msgspec.Raw(self._current)}
        return {**super().body(), **current}

    def headers(self) -> Headers:
        tags = [] if self._current is None else [("etag", f'"{tag_of_rows(self._current)}"')]
        return [*super().headers(), *tags]


class DatabaseRejection(RestError):
    """An error of the database: its SQLSTATE is the code."""

    def __init__(
        self,
        code: str,
        status: int,
        message: str,
        details: str | None,
        hint: str | None,
        *,
        challenges: bool = False,
    ) -> None:
        super().__init__(message, details, hint)
        self.code, self.status, self.challenges = code, status, challenges

    def headers(self) -> Headers:
        challenge: Headers = [("www-authenticate", "Bearer")] if self.challenges else []
        retry: Headers = [("retry-after", "1")] if self.status == 503 else []
        return [*super().headers(), *challenge, *retry]

    def reason(self) -> str:
        return self.message if self.code.startswith("PT") else ""


class RaisedResponse(RestError):
    """RAISE SQLSTATE 'PGRST': status, headers and body are what the function says."""

    def __init__(self, body: dict[str, object], status: int, reason: str, headers: Headers) -> None:
        super().__init__(str(body.get("message")), body.get("details"))
        self.code = str(body.get("code"))
        self.status, self._reason, self._headers = status, reason, headers
        self.hint = body.get("hint")  # type: ignore[assignment]  # what the function sent, text or not

    def headers(self) -> Headers:
        return [*super().headers(), *self._headers]

    def reason(self) -> str:
        return self._reason


class BadRaise(RestError):
    """RAISE SQLSTATE 'PGRST' with a malformed message or detail."""

    code, status = "PGRST121", 500

    def __init__(self, details: str, hint: str) -> None:
        super().__init__("Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error", details, hint)
