"""Errors of the OAuth endpoints, in the form that clients of OAuth read (RFC 6749, 5.2; RFC 7591, 3.2.2)."""

from schemas.errors import ApiError
from schemas.http import Headers


class OAuthRejected(ApiError):
    """A request of an OAuth client that cannot be granted. `code` is one of the registered error codes."""

    def __init__(self, code: str, message: str, status: int = 400, *, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.code, self.status, self._headers = code, status, headers or []

    def headers(self) -> Headers:
        """Return the headers, and that nothing is cached."""
        return [("cache-control", "no-store"), *self._headers]

    def body(self) -> dict[str, object]:
        """Return code and description."""
        return {"error": self.code, "error_description": str(self)}
