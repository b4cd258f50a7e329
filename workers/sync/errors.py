"""What a request for a shape can be answered with instead of one.

    ApiError
    ├── InvalidParameters    400, the texts by parameter; those of a subset nested
    ├── ShapeForbidden       403, a column or the table may not be read
    ├── ShapeUnknown         404, to DELETE
    ├── DeleteNotAllowed     405
    ├── ShapeMethodNotAllowed     405
    ├── TokenRejected        401
    ├── TooManyShapes        429
    ├── ShapeNotReady        503, the same request may succeed later
    └── MustRefetch          409, the client drops its rows and starts with the successor

Source: docs/sync.md.
"""

from schemas.errors import ApiError, Unavailable
from schemas.http import Headers, Response

NO_STORE = ("cache-control", "private, no-store")
VARY = ("vary", "authorization, apikey")
_JSON = ("content-type", "application/json; charset=utf-8")


class SyncError(ApiError):
    """The root of the errors of shapes. None of them may be stored by a cache."""

    def headers(self) -> Headers:
        return [NO_STORE, VARY]


class InvalidParameters(SyncError):
    """Parameters are missing or malformed, or do not fit the table. `is_of_subset`: they are those of a subset."""

    status = 400

    def __init__(self, parameter: str, text: str, *, is_of_subset: bool = False) -> None:
        super().__init__("Invalid request")
        self.parameter, self.text, self.is_of_subset = parameter, text, is_of_subset

    def body(self) -> dict[str, object]:
        errors: dict[str, object] = (
            {"subset": {self.parameter: self.text}} if self.is_of_subset else {self.parameter: [self.text]}
        )
        return {"message": str(self), "errors": errors}


class ShapeForbidden(SyncError):
    """The role may not read the table, its key, or a column that the request names."""

    status = 403

    def __init__(self, parameter: str, text: str) -> None:
        super().__init__("Forbidden")
        self.parameter, self.text = parameter, text

    def body(self) -> dict[str, object]:
        return {"message": str(self), "errors": {self.parameter: [self.text]}}


class ShapeUnknown(SyncError):
    """No existing shape found."""

    status = 404

    def __init__(self) -> None:
        super().__init__("No existing shape found")


class DeleteNotAllowed(SyncError):
    """DELETE is switched off (`sync.allow_delete`)."""

    status = 405

    def __init__(self) -> None:
        super().__init__("DELETE not allowed")


class ShapeMethodNotAllowed(SyncError):
    """A shape is read by GET, HEAD and POST."""

    status = 405

    def __init__(self, method: str) -> None:
        super().__init__(f"{method} not allowed")

    def headers(self) -> Headers:
        return [*super().headers(), ("allow", "GET, HEAD, POST, DELETE, OPTIONS")]


class TokenRejected(SyncError):
    """The access token is not valid, or there is none and one is needed."""

    status = 401

    def headers(self) -> Headers:
        return [*super().headers(), ("www-authenticate", "Bearer")]


class TooManyShapes(SyncError):
    """A caller has made more shapes than `sync.max_shapes_per_caller` in the last hour."""

    status = 429

    def __init__(self) -> None:
        super().__init__("Too many shapes of this caller; ask for fewer different ones, or later")

    def headers(self) -> Headers:
        return [*super().headers(), ("retry-after", "30")]


class ShapeNotReady(Unavailable):
    """The shape cannot be built or read now. `code` as clients know it, may be empty."""

    def __init__(self, message: str, code: str = "", retry_after_s: int = 2) -> None:
        super().__init__(message, retry_after_s)
        self.code = code

    def headers(self) -> Headers:
        return [NO_STORE, VARY, *super().headers()]

    def body(self) -> dict[str, object]:
        body: dict[str, object] = {"message": str(self)}
        return {**body, "code": self.code, "error": str(self)} if self.code else body


class MustRefetch(SyncError):
    """The handle is not one of this definition and this caller, or its shape has ended. `successor`: the handle to start with."""

    status = 409

    def __init__(self, successor: str = "") -> None:
        super().__init__("must refetch")
        self.successor = successor

    def response(self) -> Response:
        """Build the response; its body is a log of one message."""
        headers = [_JSON, *self.headers()]
        if self.successor:
            headers.append(("electric-handle", self.successor))
        return Response(409, headers, b'[{"headers":{"control":"must-refetch"}}]')
