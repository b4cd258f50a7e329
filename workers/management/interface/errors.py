"""Errors of the management interface: a stable code, a message that says what to do, and the HTTP status."""

from schemas.errors import ApiError
from schemas.http import Headers
from workers.database.errors import DatabaseError


class ManagementError(ApiError):
    """A request of an administrator that cannot be answered."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str = "", headers: Headers | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.hint, self._headers = status, code, hint, headers or []

    def headers(self) -> Headers:
        """Return the headers, and that nothing of this interface is cached."""
        return [("cache-control", "no-store"), *self._headers]

    def body(self) -> dict[str, object]:
        """Return code, message and, where there is one, a hint."""
        hint = {"hint": self.hint} if self.hint else {}
        return {"code": self.code, "message": str(self), **hint}


class SqlRejected(ManagementError):
    """The database rejected SQL of an operation: its SQLSTATE and fields, as a person who writes SQL needs them."""

    def __init__(self, error: DatabaseError) -> None:
        status = 403 if error.code == "42501" else 409 if error.code.startswith(("23", "40")) else 400
        super().__init__(status, error.code, error.message, hint=error.hint or "")
        self._fields = {"details": error.details, "position": error.position, "context": error.context}

    def body(self) -> dict[str, object]:
        """Return the fields that the server sent."""
        return {
            **super().body(),
            **{name: value for name, value in self._fields.items() if value is not None},
        }


def not_signed_in() -> ManagementError:
    """Return the error of a request without a valid session or token."""
    return ManagementError(
        401,
        "not_signed_in",
        "Sign in, or send a token of an administrator as `Authorization: Bearer ...`",
        hint="`headwater admin link` prints a link that signs in; `headwater admin token` makes a token.",
        headers=[("www-authenticate", 'Bearer realm="management"')],
    )


def invalid_arguments(message: str) -> ManagementError:
    """Return the error of arguments that do not have the form of the operation."""
    return ManagementError(400, "invalid_arguments", message)


def not_found(what: str) -> ManagementError:
    """Return the error of something that is not there."""
    return ManagementError(404, "not_found", f"There is no {what}")
