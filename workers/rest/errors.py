"""Every refusal of the REST interface: code, status, wording, and when it happens.

    RestError
    |- 0xx the database cannot be reached        (status 503, 504)
    |- 1xx the request is wrong                  (parse)
    |- 2xx the schema cache does not have it     (plan)
    |- 3xx the token is refused                  (worker)
    `- DatabaseRefusal, RaisedError: an error of the database itself, or one raised with full control

Codes are written `PGRSTnnn` here; `dialect.py` spells them as the caller does. Source: reference page "rest", section 20.
"""

from collections.abc import Sequence

from schemas.caller import Refusal, Rejected
from schemas.errors import ApiError
from schemas.http import Headers
from workers.idempotency.errors import IdempotencyError


class RestError(ApiError):
    """A refusal with the four members of the interface: code, message, details, hint."""

    code = "PGRSTX00"
    status = 500

    def __init__(self, message: str, details: object = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.details, self.hint = message, details, hint

    def body(self) -> dict[str, object]:
        return {"code": self.code, "message": self.message, "details": self.details, "hint": self.hint}

    def headers(self) -> Headers:
        return [("proxy-status", f"PostgREST; error={self.code}")]


# --- 0xx: no database ----------------------------------------------------------------------------------------


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


# --- 1xx: the request ----------------------------------------------------------------------------------------


class BadQuery(RestError):
    """A parameter of the query string does not parse."""

    code, status = "PGRST100", 400


class MethodNotForFunctions(RestError):
    """A function was called with another method than GET, HEAD or POST."""

    code, status = "PGRST101", 405

    def __init__(self, method: str) -> None:
        super().__init__(f"Cannot use the {method} method on RPC")


class BadBody(RestError):
    """The body is empty, malformed or of a type that is not accepted."""

    code, status = "PGRST102", 400


class RangeNotSatisfiable(RestError):
    """The rows asked for cannot exist."""

    code, status = "PGRST103", 416

    def __init__(self, details: str, total: int | None = None) -> None:
        super().__init__("Requested range not satisfiable", details)
        self.total = total

    def headers(self) -> Headers:
        own: Headers = [] if self.total is None else [("content-range", f"*/{self.total}")]
        return [*super().headers(), *own]


class BadUpsertFilters(RestError):
    """PUT without exactly the primary key as `eq` filters."""

    code, status = "PGRST105", 405

    def __init__(self) -> None:
        super().__init__("Filters must include all and only primary key columns with 'eq' operators")


class SchemaNotExposed(RestError):
    """The profile header names a schema that is not exposed."""

    code, status = "PGRST106", 406

    def __init__(self, schema: str, exposed: Sequence[str]) -> None:
        hint = f"Only the following schemas are exposed: {', '.join(exposed)}"
        super().__init__(f"Invalid schema: {schema}", None, hint)


class NotAcceptable(RestError):
    """None of the types in `Accept` can be produced."""

    code, status = "PGRST107", 406

    def __init__(self, types: Sequence[str]) -> None:
        super().__init__(f"None of these media types are available: {', '.join(types)}")


class NotEmbedded(RestError):
    """A filter, order or limit names a resource that `select` does not embed."""

    code, status = "PGRST108", 400

    def __init__(self, name: str, details: str | None = None, hint: str | None = None) -> None:
        super().__init__(
            f"'{name}' is not an embedded resource in this request",
            details,
            hint or f"Verify that '{name}' is included in the 'select' query parameter.",
        )


class BadResponseHeaders(RestError):
    """The setting `response.headers` is malformed."""

    code, status = "PGRST111", 500

    def __init__(self) -> None:
        super().__init__(
            "response.headers guc must be a JSON array composed of objects with a single key and a string value"
        )


class BadResponseStatus(RestError):
    """The setting `response.status` is malformed."""

    code, status = "PGRST112", 500

    def __init__(self) -> None:
        super().__init__("response.status guc must be a valid status code")


class LimitOnUpsert(RestError):
    """PUT with limit or offset."""

    code, status = "PGRST114", 400

    def __init__(self) -> None:
        super().__init__("limit/offset querystring parameters are not allowed for PUT")


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


class UnsupportedMethod(RestError):
    """A method that no resource has."""

    code, status = "PGRST117", 405

    def __init__(self, method: str) -> None:
        super().__init__(f"Unsupported HTTP method: {method}")


class RelatedOrderNotToOne(RestError):
    """The parent cannot be ordered by an embed of many rows."""

    code, status = "PGRST118", 400

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(
            f"A related order on '{target}' is not possible",
            f"'{origin}' and '{target}' do not form a many-to-one or one-to-one relationship",
        )


class BadRaise(RestError):
    """RAISE SQLSTATE 'PGRST' with a malformed message or detail."""

    code, status = "PGRST121", 500

    def __init__(self, details: str, hint: str) -> None:
        super().__init__("Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error", details, hint)


class BadPreferences(RestError):
    """Unknown preferences with handling=strict."""

    code, status = "PGRST122", 400

    def __init__(self, invalid: Sequence[str]) -> None:
        super().__init__(
            "Invalid preferences given with handling=strict", f"Invalid preferences: {', '.join(invalid)}"
        )


class AggregatesDisabled(RestError):
    """An aggregate while the option is off."""

    code, status = "PGRST123", 400

    def __init__(self) -> None:
        super().__init__("Use of aggregate functions is not allowed")


class TooManyAffected(RestError):
    """More rows than `max-affected` would change."""

    code, status = "PGRST124", 400

    def __init__(self, rows: int) -> None:
        super().__init__(
            "Query result exceeds max-affected preference constraint", f"The query affects {rows} rows"
        )


class BadPath(RestError):
    """A path deeper than a relation or function."""

    code, status = "PGRST125", 404

    def __init__(self) -> None:
        super().__init__("Invalid path specified in request URL")


class RootDisabled(RestError):
    """The root while the option is off."""

    code, status = "PGRST126", 404

    def __init__(self) -> None:
        super().__init__("Root endpoint metadata is disabled")


class NotImplementedHere(RestError):
    """A combination that has no meaning yet."""

    code, status = "PGRST127", 400

    def __init__(self, what: str) -> None:
        super().__init__("Feature not implemented", what)


class MaxAffectedNeedsSet(RestError):
    """`max-affected` on a function with one result."""

    code, status = "PGRST128", 400

    def __init__(self) -> None:
        super().__init__(
            "Function must return SETOF or TABLE when max-affected preference is used with handling=strict"
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
    """If-Match or If-None-Match does not hold for the rows that are there, or they changed meanwhile."""

    code, status = "HW412", 412

    def __init__(self) -> None:
        super().__init__(
            "The rows are not what the request expects",
            "If-Match or If-None-Match does not hold",
            "Read them again, and repeat the change with the new ETag",
        )


class KeyRejected(RestError):
    """A write with an Idempotency-Key that is not carried out."""

    def __init__(self, error: IdempotencyError) -> None:
        super().__init__(str(error), None, error.hint)
        self.code, self.status = error.code, error.status
        self._headers = error.headers()

    def headers(self) -> Headers:
        return [*super().headers(), *self._headers]


# --- 2xx: the schema cache -----------------------------------------------------------------------------------


class NoRelationship(RestError):
    """No foreign key joins the two relations."""

    code, status = "PGRST200", 400

    def __init__(
        self, origin: str, target: str, hint_used: str | None, schema: str, suggestion: str | None
    ) -> None:
        using = f" using the hint '{hint_used}'" if hint_used else ""
        super().__init__(
            f"Could not find a relationship between '{origin}' and '{target}' in the schema cache",
            f"Searched for a foreign key relationship between '{origin}' and '{target}'{using} in the schema '{schema}', "
            "but no matches were found.",
            suggestion,
        )


class AmbiguousRelationship(RestError):
    """Several foreign keys join the two relations."""

    code, status = "PGRST201", 300

    def __init__(
        self, origin: str, target: str, found: list[dict[str, str]], suggestions: Sequence[str]
    ) -> None:
        listed = ", ".join(f"'{name}'" for name in suggestions)
        super().__init__(
            f"Could not embed because more than one relationship was found for '{origin}' and '{target}'",
            found,
            f"Try changing '{target}' to one of the following: {listed}. Find the desired relationship in the 'details' key.",
        )


class NoFunction(RestError):
    """No function has this name and these parameters."""

    code, status = "PGRST202", 404


class AmbiguousFunction(RestError):
    """Several overloads fit."""

    code, status = "PGRST203", 300

    def __init__(self, candidates: Sequence[str]) -> None:
        super().__init__(
            f"Could not choose the best candidate function between: {', '.join(candidates)}",
            None,
            "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
        )


class NoColumn(RestError):
    """The payload or `columns` names a column that the table lacks."""

    code, status = "PGRST204", 400

    def __init__(self, column: str, relation: str) -> None:
        super().__init__(f"Could not find the '{column}' column of '{relation}' in the schema cache")


class NoRelation(RestError):
    """No relation has this name."""

    code, status = "PGRST205", 404

    def __init__(self, schema: str, relation: str, near: str | None) -> None:
        hint = f"Perhaps you meant the table '{schema}.{near}'" if near else None
        super().__init__(f"Could not find the table '{schema}.{relation}' in the schema cache", None, hint)


# --- 3xx: the token ------------------------------------------------------------------------------------------


class NoJwtSecret(RestError):
    """A token was sent and the platform has no key to verify it."""

    code, status = "PGRST300", 500


class BadToken(RestError):
    """The token cannot be decoded or its signature is wrong."""

    code, status = "PGRST301", 401

    def headers(self) -> Headers:
        challenge = f'Bearer error="invalid_token", error_description="{self.message}"'
        return [*super().headers(), ("www-authenticate", challenge)]


class TokenRequired(RestError):
    """No token, and no role for anonymous callers."""

    code, status = "PGRST302", 401

    def __init__(self) -> None:
        super().__init__("Anonymous access is disabled")

    def headers(self) -> Headers:
        return [*super().headers(), ("www-authenticate", "Bearer")]


class BadClaims(BadToken):
    """The token is well signed, but its claims do not hold."""

    code, status = "PGRST303", 401


_OF_TOKENS: dict[Refusal, type[RestError]] = {
    Refusal.NO_SECRET: NoJwtSecret,
    Refusal.UNDECODABLE: BadToken,
    Refusal.CLAIMS: BadClaims,
}


def refused_token(rejected: Rejected | None) -> RestError:
    """Give the refusal of a token that the edge refused; of None, that a token is required."""
    if rejected is None:
        return TokenRequired()
    return _OF_TOKENS[rejected.kind](rejected.message, rejected.details)


# --- the database's own --------------------------------------------------------------------------------------


class DatabaseRefusal(RestError):
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
        own: Headers = [("www-authenticate", "Bearer")] if self.challenges else []
        retry: Headers = [("retry-after", "1")] if self.status == 503 else []
        return [*super().headers(), *own, *retry]

    def reason(self) -> str:
        return self.message if self.code.startswith("PT") else ""


class RaisedError(RestError):
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
