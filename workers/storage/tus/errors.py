"""Errors of resumable uploads: the real HTTP status and a line of text."""

from schemas.http import Headers


class TusError(Exception):
    """An error of the TUS protocol; the errors that all of storage shares are StorageErrors."""

    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or []


def bad_request(message: str) -> TusError:
    """A header is missing, or cannot be parsed."""
    return TusError(400, message)


def unauthorized() -> TusError:
    """The request has neither a key nor a token."""
    return TusError(401, "No API key found in request")


def no_such_upload() -> TusError:
    """The upload does not exist: it never did, it was terminated, or it expired some time ago."""
    return TusError(404, "Upload not found")


def expired() -> TusError:
    """The upload has expired."""
    return TusError(410, "The upload has expired")


def offset_conflict() -> TusError:
    """The upload does not end at the client's offset. HEAD returns the right one."""
    return TusError(409, "Upload-Offset conflict")


def beyond_length() -> TusError:
    """The bytes of a PATCH go beyond the length that the client declared: its view of the upload is not the server's."""
    return TusError(409, "The bytes go beyond Upload-Length; HEAD returns the offset and the length")


def too_long() -> TusError:
    """The bytes exceed the size limit."""
    return TusError(413, "Maximum size exceeded")


def lease_lost() -> TusError:
    """Another writer has the lease."""
    return TusError(423, "The resource is locked")


def lease_timeout() -> TusError:
    """Another writer did not release the lease in time."""
    return TusError(503, "acquiring lock timeout", [("retry-after", "1")])
