"""Errors of the step parse: the request itself is wrong (1xx). `RangeNotSatisfiable` is raised by respond as well. Source: docs/reference/rest.md, section 20."""

from collections.abc import Sequence

from schemas.http import Headers
from workers.idempotency.errors import IdempotencyError
from workers.rest.errors.base import RestError


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


class SchemaNotExposed(RestError):
    """The profile header names a schema that is not exposed."""

    code, status = "PGRST106", 406

    def __init__(self, schema: str, exposed: Sequence[str]) -> None:
        hint = f"Only the following schemas are exposed: {', '.join(exposed)}"
        super().__init__(f"Invalid schema: {schema}", None, hint)


class LimitOnUpsert(RestError):
    """PUT with limit or offset."""

    code, status = "PGRST114", 400

    def __init__(self) -> None:
        super().__init__("limit/offset querystring parameters are not allowed for PUT")


class UnsupportedMethod(RestError):
    """A method that no resource has."""

    code, status = "PGRST117", 405

    def __init__(self, method: str) -> None:
        super().__init__(f"Unsupported HTTP method: {method}")


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


class RangeNotSatisfiable(RestError):
    """The rows asked for cannot exist."""

    code, status = "PGRST103", 416

    def __init__(self, details: str, total: int | None = None) -> None:
        super().__init__("Requested range not satisfiable", details)
        self.total = total

    def headers(self) -> Headers:
        content_range: Headers = [] if self.total is None else [("content-range", f"*/{self.total}")]
        return [*super().headers(), *content_range]


class KeyRejected(RestError):
    """A write with an Idempotency-Key that is not carried out."""

    def __init__(self, error: IdempotencyError) -> None:
        super().__init__(str(error), None, error.hint)
        self.code, self.status = error.code, error.status
        self._headers = error.headers()

    def headers(self) -> Headers:
        return [*super().headers(), *self._headers]
