"""Errors as responses, in the caller's spelling. Source: docs/reference/rest.md, section 20."""

import msgspec

from schemas.http import Headers, Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.rest.dialect import Dialect, spelled_code
from workers.rest.errors.base import RestError
from workers.rest.errors.database import rest_error_of

Failure = RestError | DatabaseError | Disconnected | PoolTimeout
FAILURES = (RestError, DatabaseError, Disconnected, PoolTimeout)


def error_response(
    failure: Failure, dialect: Dialect, *, is_anonymous: bool, is_minimal: bool, operation: int | None = None
) -> Response:
    """Return the response to an error; `operation` is the number of the failed operation of a batch."""
    error = failure if isinstance(failure, RestError) else rest_error_of(failure, is_anonymous=is_anonymous)
    body = error.body()
    body["code"] = code = spelled_code(error.code, dialect)
    if is_minimal:
        body = {"code": code, "message": body["message"]}
    if operation is not None:
        body["operation"] = operation
    headers: Headers = [
        (name, value.replace(error.code, code, 1) if name == "proxy-status" else value)
        for name, value in error.headers()
    ]
    if not any(name == "content-type" for name, _ in headers):
        headers.insert(0, ("content-type", "application/json; charset=utf-8"))
    return Response(error.status, headers, msgspec.json.encode(body), error.reason())
