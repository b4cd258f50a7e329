"""Refusals of the S3 endpoint: S3's own codes, with the real status. Their XML is written by `xml.py`.

    ApiError
    └── S3Error         a code and a status of S3's list

What other parts of storage refuse (`StorageError`) is told by its inner status; a few codes have another name in S3.
Source: reference page "storage", sections 3.2, 3.3 and 10.
"""

from schemas.errors import ApiError
from workers.storage.errors import Code, StorageError

_RENAMED = {
    Code.RESOURCE_NOT_EMPTY: "BucketNotEmpty",
    Code.DATABASE_TIMEOUT: "ServiceUnavailable",
}


class S3Error(ApiError):
    """A refusal with the code that S3 clients know."""

    def __init__(self, code: str, message: str, status: int = 400, **details: str) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.details = code, message, status, details


def named(error: StorageError) -> S3Error:
    """Give a refusal of storage as S3 tells it."""
    return S3Error(_RENAMED.get(error.code, error.code.value), error.message, error.inner)


def missing_signature() -> S3Error:
    """The request carries no signature that is taken here."""
    return S3Error("AccessDenied", "Missing signature", 403)


def mismatch() -> S3Error:
    """The signature is of another request, or of another secret."""
    message = "The request signature we calculated does not match the signature you provided. Check your key and signing method."
    return S3Error("SignatureDoesNotMatch", message, 403)


def unknown_access_key() -> S3Error:
    """Nobody has this access key."""
    message = "The AWS Access Key Id you provided does not exist in our records."
    return S3Error("InvalidAccessKeyId", message, 403)


def too_skewed() -> S3Error:
    """The clocks differ by more than is taken: a request of old, or a wrong clock."""
    message = "The difference between the request time and the current time is too large."
    return S3Error("RequestTimeTooSkewed", message, 403)


def expired() -> S3Error:
    """A presigned URL is not valid any more."""
    return S3Error("ExpiredToken", "The provided token has expired.")


def invalid_argument(message: str) -> S3Error:
    """A parameter is not of the shape that its operation takes."""
    return S3Error("InvalidArgument", message)


def malformed_xml() -> S3Error:
    """The body is no XML, or not of the shape that its operation takes."""
    message = "The XML you provided was not well-formed or did not validate against our published schema"
    return S3Error("MalformedXML", message)


def precondition_failed() -> S3Error:
    """A condition of the request does not hold."""
    message = "At least one of the pre-conditions you specified did not hold"
    return S3Error("PreconditionFailed", message, 412)


def no_such_upload() -> S3Error:
    """The multipart upload is not there, or not for this caller."""
    return S3Error("NoSuchUpload", "Upload not found", 404)


def invalid_part() -> S3Error:
    """A part that was listed is not there, or has another ETag."""
    message = "One or more of the specified parts could not be found, or their entity tags did not match."
    return S3Error("InvalidPart", message)


def not_supported() -> S3Error:
    """S3 has it, this endpoint has not."""
    message = "A header or query you provided implies functionality that is not implemented"
    return S3Error("NotImplemented", message, 404)
