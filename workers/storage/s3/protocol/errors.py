"""Errors of the S3 endpoint: S3's own codes, with the real HTTP status. `xml.py` writes them.

    ApiError
    └── S3Error         a code and a status of S3's list

A `StorageError` of other parts of storage is answered with its inner status; a few codes have another name in S3.
Source: docs/reference/storage.md, sections 3.2, 3.3 and 10.
"""

from schemas.errors import ApiError
from workers.storage.model.errors import StorageError, StorageErrorCode

_RENAMED = {
    StorageErrorCode.RESOURCE_NOT_EMPTY: "BucketNotEmpty",
    StorageErrorCode.DATABASE_TIMEOUT: "ServiceUnavailable",
}


class S3Error(ApiError):
    """An error with a code that S3 clients know."""

    def __init__(self, code: str, message: str, status: int = 400, **details: str) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.details = code, message, status, details


def s3_error_of(error: StorageError) -> S3Error:
    """Return the S3 error for a storage error."""
    return S3Error(_RENAMED.get(error.code, error.code.value), error.message, error.inner)


def missing_signature() -> S3Error:
    """The request lacks a supported signature."""
    return S3Error("AccessDenied", "Missing signature", 403)


def mismatch() -> S3Error:
    """The signature belongs to another request, or to another secret."""
    message = "The request signature we calculated does not match the signature you provided. Check your key and signing method."
    return S3Error("SignatureDoesNotMatch", message, 403)


def unknown_access_key() -> S3Error:
    """The access key does not exist."""
    message = "The AWS Access Key Id you provided does not exist in our records."
    return S3Error("InvalidAccessKeyId", message, 403)


def too_skewed() -> S3Error:
    """The clocks differ too much: an old request, or a wrong clock."""
    message = "The difference between the request time and the current time is too large."
    return S3Error("RequestTimeTooSkewed", message, 403)


def expired() -> S3Error:
    """A presigned URL has expired."""
    return S3Error("ExpiredToken", "The provided token has expired.")


def invalid_argument(message: str) -> S3Error:
    """A parameter does not have the form that its operation needs."""
    return S3Error("InvalidArgument", message)


def malformed_xml() -> S3Error:
    """The body is not XML, or not of the form that its operation needs."""
    message = "The XML you provided was not well-formed or did not validate against our published schema"
    return S3Error("MalformedXML", message)


def precondition_failed() -> S3Error:
    """A condition of the request is not met."""
    message = "At least one of the pre-conditions you specified did not hold"
    return S3Error("PreconditionFailed", message, 412)


def no_such_upload() -> S3Error:
    """The multipart upload does not exist, or the caller may not see it."""
    return S3Error("NoSuchUpload", "Upload not found", 404)


def invalid_part() -> S3Error:
    """A listed part does not exist, or has another ETag."""
    message = "One or more of the specified parts could not be found, or their entity tags did not match."
    return S3Error("InvalidPart", message)


def not_supported() -> S3Error:
    """S3 has this operation, this endpoint does not."""
    message = "A header or query you provided implies functionality that is not implemented"
    return S3Error("NotImplemented", message, 404)
