"""Every error of storage: its inner status, its stable code, the legacy words that older clients read.

    ApiError
    └── StorageError        `statusCode` (a text), `error`, `message`, `code`
        └── UnknownArea     the only body whose `statusCode` is a number

Nearly all are sent with HTTP status 400, and the real status is in the body, where official clients read it. The few
that keep their status are in `_SPOKEN`. Source: docs/reference/storage.md, section 3.
"""

from enum import StrEnum

from schemas.caller import RejectedCaller, TokenFault
from schemas.errors import ApiError
from schemas.http import Headers


class StorageErrorCode(StrEnum):
    """The stable code of an error, for programs."""

    INVALID_REQUEST = "InvalidRequest"
    INVALID_BUCKET_NAME = "InvalidBucketName"
    INVALID_KEY = "InvalidKey"
    NO_SUCH_BUCKET = "NoSuchBucket"
    NO_SUCH_KEY = "NoSuchKey"
    BUCKET_ALREADY_EXISTS = "BucketAlreadyExists"
    KEY_ALREADY_EXISTS = "KeyAlreadyExists"
    RESOURCE_ALREADY_EXISTS = "ResourceAlreadyExists"
    RESOURCE_NOT_EMPTY = "ResourceNotEmpty"
    RESOURCE_REFERENCED = "ResourceReferenced"
    RESOURCE_LOCKED = "ResourceLocked"
    ENTITY_TOO_LARGE = "EntityTooLarge"
    QUOTA_EXCEEDED = "QuotaExceeded"
    INVALID_MIME_TYPE = "InvalidMimeType"
    PRECONDITION_FAILED = "PreconditionFailed"
    INVALID_PARAMETER = "InvalidParameter"
    ACCESS_DENIED = "AccessDenied"
    INVALID_JWT = "InvalidJWT"
    INVALID_SIGNATURE = "InvalidSignature"
    DATABASE_TIMEOUT = "DatabaseTimeout"
    DATABASE_READ_ONLY = "DatabaseReadOnly"
    DATABASE_SCHEMA_MISMATCH = "DatabaseSchemaMismatch"
    DATABASE_INVALID_OBJECT_DEFINITION = "DatabaseInvalidObjectDefinition"
    DATABASE_TRANSACTION_ABORTED = "DatabaseTransactionAborted"
    DATABASE_ERROR = "DatabaseError"
    FEATURE_NOT_ENABLED = "FeatureNotEnabled"
    SLOW_DOWN = "SlowDown"
    REQUEST_TIMEOUT = "RequestTimeout"
    ABORTED = "Aborted"
    INTERNAL_ERROR = "InternalError"


_SPOKEN = frozenset({429, 500, 544})
"""Inner statuses that are also the HTTP status; every other error is sent as 400, unless it sets `status`."""


class StorageError(ApiError):
    """A storage error. `inner` is its real status; `status` the HTTP status; `error` the legacy word, by default the
    code.
    """

    def __init__(
        self,
        code: StorageErrorCode,
        message: str,
        inner: int = 400,
        *,
        error: str = "",
        status: int | None = None,
        headers: Headers | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.inner = code, message, inner
        self.error = error or code.value
        self.status = status or (inner if inner in _SPOKEN else 400)
        self._headers = headers or []

    def headers(self) -> Headers:
        return self._headers

    def body(self) -> dict[str, object]:
        return {
            "statusCode": str(self.inner),
            "error": self.error,
            "message": self.message,
            "code": self.code.value,
        }


class UnknownArea(StorageError):
    """The first segment of the path is unknown."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(StorageErrorCode.INVALID_REQUEST, _no_route(method, path), 404, status=404)

    def body(self) -> dict[str, object]:
        return {"message": self.message, "error": "Not Found", "statusCode": 404}


def unknown_route(method: str, path: str) -> StorageError:
    """The first segment of the path is known, but not the rest, or not for this method."""
    return StorageError(
        StorageErrorCode.INVALID_REQUEST, _no_route(method, path), 404, error="Not Found", status=404
    )


def _no_route(method: str, path: str) -> str:
    return f"Route {method}:{path} not found"


# --- Requests ----------------------------------------------------------------------------------------------------


def invalid_request(message: str, error: str = "Error") -> StorageError:
    """The request does not have the form that its endpoint needs."""
    return StorageError(StorageErrorCode.INVALID_REQUEST, message, error=error)


def no_content() -> StorageError:
    """A form without a file."""
    return invalid_request("No content provided", "InvalidRequest")


def invalid_bucket_name() -> StorageError:
    """The bucket name is not allowed."""
    return StorageError(StorageErrorCode.INVALID_BUCKET_NAME, "Bucket name invalid", error="Invalid Input")


def invalid_key(key: str) -> StorageError:
    """The object name is not allowed."""
    return StorageError(StorageErrorCode.INVALID_KEY, f"Invalid key: {key}")


def invalid_parameter(name: str) -> StorageError:
    """A parameter cannot be parsed."""
    return StorageError(StorageErrorCode.INVALID_PARAMETER, f"Invalid Parameter {name}")


def feature_not_enabled(feature: str) -> StorageError:
    """A feature of the official server that does not exist here."""
    message = f"The feature {feature} is not enabled for this resource"
    return StorageError(StorageErrorCode.FEATURE_NOT_ENABLED, message, 409)


def too_large(message: str = "The object exceeded the maximum allowed size") -> StorageError:
    """The upload exceeds a size limit."""
    return StorageError(StorageErrorCode.ENTITY_TOO_LARGE, message, 413, error="Payload too large")


def quota_exceeded(message: str = "The quota is exceeded") -> StorageError:
    """The quota of the bucket, or of all buckets, would be exceeded (docs/storage-additions.md)."""
    return StorageError(StorageErrorCode.QUOTA_EXCEEDED, message, 413, error="Payload too large")


def invalid_mime_type(mime_type: str) -> StorageError:
    """The bucket does not allow objects of this type."""
    message = f"mime type {mime_type} is not supported"
    return StorageError(StorageErrorCode.INVALID_MIME_TYPE, message, 415, error="invalid_mime_type")


def malformed_mime_type() -> StorageError:
    """The content type of an upload is not exactly one media type."""
    message = "The content type must be one media type, such as image/png, with well-formed parameters"
    return StorageError(StorageErrorCode.INVALID_MIME_TYPE, message, 400, error="invalid_mime_type")


def aborted() -> StorageError:
    """The body ended too early."""
    return StorageError(StorageErrorCode.ABORTED, "Aborted", 500)


# --- Buckets and objects -----------------------------------------------------------------------------------------


def no_such_bucket() -> StorageError:
    """The bucket does not exist, or the caller may not see it."""
    return StorageError(StorageErrorCode.NO_SUCH_BUCKET, "Bucket not found", 404, error="Bucket not found")


def no_such_key() -> StorageError:
    """The object does not exist, or the caller may not see it."""
    return StorageError(StorageErrorCode.NO_SUCH_KEY, "Object not found", 404, error="not_found")


def already_exists(code: StorageErrorCode) -> StorageError:
    """The name exists."""
    return StorageError(code, "The resource already exists", 409, error="Duplicate")


def not_empty() -> StorageError:
    """A bucket that holds objects cannot be deleted."""
    message = "The bucket you tried to delete is not empty"
    return StorageError(StorageErrorCode.RESOURCE_NOT_EMPTY, message, 409)


def too_many_objects() -> StorageError:
    """The bucket holds more objects than one request may delete."""
    message = "Unable to empty the bucket because it contains too many objects"
    return StorageError(StorageErrorCode.RESOURCE_NOT_EMPTY, message, 409)


# --- Callers and tokens ------------------------------------------------------------------------------------------


def access_denied(message: str = "Access denied") -> StorageError:
    """The caller may not do this."""
    return StorageError(StorageErrorCode.ACCESS_DENIED, message, 403, error="Unauthorized")


def invalid_role() -> StorageError:
    """Only the service role may do this; the HTTP status is 403, too."""
    message = "Access denied: Invalid role"
    return StorageError(StorageErrorCode.ACCESS_DENIED, message, 403, error="Unauthorized", status=403)


def token_rejected(refused: RejectedCaller) -> StorageError:
    """The access token is not valid."""
    return access_denied(token_words(refused))


def invalid_jwt(refused: RejectedCaller) -> StorageError:
    """The token of a signed URL is not valid."""
    return StorageError(StorageErrorCode.INVALID_JWT, token_words(refused))


def invalid_signature(message: str = "Invalid signature") -> StorageError:
    """The token of a signed URL is valid, but for something else."""
    return StorageError(StorageErrorCode.INVALID_SIGNATURE, message)


_CLAIM_WORDS = {
    "JWT expired": '"exp" claim timestamp check failed: jwt expired',
    "JWT not yet valid": '"nbf" claim timestamp check failed',
    "JWT issued at future": '"iat" claim timestamp check failed',
    "JWT not in audience": 'unexpected "aud" claim value',
}


def token_words(refused: RejectedCaller) -> str:
    """Return why a token was rejected, in the words that official clients know."""
    match refused.kind:
        case TokenFault.CLAIMS:
            return _CLAIM_WORDS.get(refused.message, refused.message)
        case TokenFault.NO_SECRET:
            return refused.message
    if refused.message.startswith("No suitable key"):
        return "signature verification failed"
    if refused.message.startswith("Wrong or unsupported"):
        return '"alg" (Algorithm) Header Parameter value not allowed'
    return "Invalid Compact JWS"
