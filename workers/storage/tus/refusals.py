"""Refusals of resumable uploads: a status that HTTP says as it is, and a line of text."""

from schemas.http import Headers


class Refused(Exception):
    """A refusal of TUS's own; those that all of storage shares are StorageErrors."""

    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or []


def bad_request(message: str) -> Refused:
    """A header is missing, or cannot be read."""
    return Refused(400, message)


def unauthorized() -> Refused:
    """There is neither a key nor a token."""
    return Refused(401, "No API key found in request")


def no_such_upload() -> Refused:
    """The upload is not there: it never was, it was terminated, or it expired some time ago."""
    return Refused(404, "Upload not found")


def expired() -> Refused:
    """The time of the upload is over."""
    return Refused(410, "The upload has expired")


def offset_conflict() -> Refused:
    """The upload does not end where the client goes on. Only HEAD tells where it does."""
    return Refused(409, "Upload-Offset conflict")


def too_long() -> Refused:
    """More bytes than the limits allow, or than the upload was said to have."""
    return Refused(413, "Maximum size exceeded")


def lost() -> Refused:
    """Another writer has the upload now."""
    return Refused(423, "The resource is locked")


def not_let_go() -> Refused:
    """Another writer did not let go of the upload in time."""
    return Refused(503, "acquiring lock timeout", [("retry-after", "1")])
