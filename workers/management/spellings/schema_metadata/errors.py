"""Errors of the schema metadata interface: a status and `{"error": text}`."""

from collections.abc import Mapping

from schemas.errors import ApiError


class MetadataError(ApiError):
    """A request that cannot be answered. `fields` are further members of the body."""

    def __init__(self, status: int, message: str, fields: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.status, self._fields = status, dict(fields or {})

    def headers(self) -> list[tuple[str, str]]:
        """Return the header that keeps answers out of caches, and the challenge of a 401."""
        challenge = [("www-authenticate", "Bearer")] if self.status == 401 else []
        return [("cache-control", "no-store"), *challenge]

    def body(self) -> dict[str, object]:
        """Return the text, and the further members."""
        return {"error": str(self), **self._fields}


def bad_request(message: str) -> MetadataError:
    """Return the error of a request whose query or body does not have the form of the endpoint."""
    return MetadataError(400, message)


def not_there(what: str) -> MetadataError:
    """Return the error of an object that does not exist: `what` is as in "a table with ID 1"."""
    return MetadataError(404, f"Cannot find {what}")
