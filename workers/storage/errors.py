"""Every refusal of storage: its inner status, its stable code, the words that older clients read.

    ApiError
    └── StorageError        `statusCode` (a text), `error`, `message`, `code`
        └── UnknownArea     the one body whose `statusCode` is a number

HTTP says 400 for nearly all of them: the real status stands in the body, and official clients read it there. The few
that keep theirs stand in `_SPOKEN`. Source: reference page "storage", section 3.
"""

from enum import StrEnum

from schemas.caller import Refusal, Rejected
from schemas.errors import ApiError
from schemas.http import Headers


class Code(StrEnum):
    """What went wrong, for programs."""

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
"""Inner statuses that are the HTTP status too; every other one is said as 400, unless the refusal says otherwise."""


class StorageError(ApiError):
    """A refusal. `inner` is its real status; `status` what HTTP says; `error` the legacy word, `code` without one."""

    def __init__(
        self,
        code: Code,
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
    """There is nothing at all at the first segment of the path."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(Code.INVALID_REQUEST, _no_route(method, path), 404, status=404)

    def body(self) -> dict[str, object]:
        return {"message": self.message, "error": "Not Found", "statusCode": 404}


def unknown_route(method: str, path: str) -> StorageError:
    """The first segment of the path is known, the rest is not, or not for this method."""
    return StorageError(Code.INVALID_REQUEST, _no_route(method, path), 404, error="Not Found", status=404)


def _no_route(method: str, path: str) -> str:
    return f"Route {method}:{path} not found"


# --- Requests ----------------------------------------------------------------------------------------------------


def invalid_request(message: str, error: str = "Error") -> StorageError:
    """The request is not of the shape that its endpoint takes."""
    return StorageError(Code.INVALID_REQUEST, message, error=error)


def no_content() -> StorageError:
    """A form holds no file."""
    return invalid_request("No content provided", "InvalidRequest")


def invalid_bucket_name() -> StorageError:
    """A bucket cannot be named so."""
    return StorageError(Code.INVALID_BUCKET_NAME, "Bucket name invalid", error="Invalid Input")


def invalid_key(key: str) -> StorageError:
    """An object cannot be named so."""
    return StorageError(Code.INVALID_KEY, f"Invalid key: {key}")


def invalid_parameter(name: str) -> StorageError:
    """A parameter cannot be read."""
    return StorageError(Code.INVALID_PARAMETER, f"Invalid Parameter {name}")


def feature_not_enabled(feature: str) -> StorageError:
    """Something of the official server that is not offered here."""
    message = f"The feature {feature} is not enabled for this resource"
    return StorageError(Code.FEATURE_NOT_ENABLED, message, 409)


def too_large(message: str = "The object exceeded the maximum allowed size") -> StorageError:
    """More bytes than the limits allow."""
    return StorageError(Code.ENTITY_TOO_LARGE, message, 413, error="Payload too large")


def quota_exceeded(message: str = "The quota is exceeded") -> StorageError:
    """The bucket, or the whole storage, has no room for so many bytes more (docs/storage-additions.md)."""
    return StorageError(Code.QUOTA_EXCEEDED, message, 413, error="Payload too large")


def invalid_mime_type(mime_type: str) -> StorageError:
    """The bucket does not take objects of this type."""
    message = f"mime type {mime_type} is not supported"
    return StorageError(Code.INVALID_MIME_TYPE, message, 415, error="invalid_mime_type")


def malformed_mime_type() -> StorageError:
    """What an upload names as its type is not exactly one media type."""
    message = "The content type must be one media type, such as image/png, with well-formed parameters"
    return StorageError(Code.INVALID_MIME_TYPE, message, 400, error="invalid_mime_type")


def aborted() -> StorageError:
    """The body ended before its end."""
    return StorageError(Code.ABORTED, "Aborted", 500)


# --- Buckets and objects -----------------------------------------------------------------------------------------


def no_such_bucket() -> StorageError:
    """The bucket is not there, or not for this caller."""
    return StorageError(Code.NO_SUCH_BUCKET, "Bucket not found", 404, error="Bucket not found")


def no_such_key() -> StorageError:
    """The object is not there, or not for this caller."""
    return StorageError(Code.NO_SUCH_KEY, "Object not found", 404, error="not_found")


def already_exists(code: Code) -> StorageError:
    """The name is taken."""
    return StorageError(code, "The resource already exists", 409, error="Duplicate")


def not_empty() -> StorageError:
    """A bucket with objects in it is not deleted."""
    message = "The bucket you tried to delete is not empty"
    return StorageError(Code.RESOURCE_NOT_EMPTY, message, 409)


def too_many_objects() -> StorageError:
    """A bucket holds more than is emptied by one request."""
    message = "Unable to empty the bucket because it contains too many objects"
    return StorageError(Code.RESOURCE_NOT_EMPTY, message, 409)


# --- Callers and tokens ------------------------------------------------------------------------------------------


def access_denied(message: str = "Access denied") -> StorageError:
    """The caller may not do this."""
    return StorageError(Code.ACCESS_DENIED, message, 403, error="Unauthorized")


def invalid_role() -> StorageError:
    """Only the service role may do this; HTTP says 403 too."""
    message = "Access denied: Invalid role"
    return StorageError(Code.ACCESS_DENIED, message, 403, error="Unauthorized", status=403)


def refused_token(refused: Rejected) -> StorageError:
    """The access token does not hold."""
    return access_denied(token_words(refused))


def invalid_jwt(refused: Rejected) -> StorageError:
    """The token of a signed URL does not hold."""
    return StorageError(Code.INVALID_JWT, token_words(refused))


def invalid_signature(message: str = "Invalid signature") -> StorageError:
    """The token of a signed URL holds, but for something else."""
    return StorageError(Code.INVALID_SIGNATURE, message)


_CLAIM_WORDS = {
    "JWT expired": '"exp" claim timestamp check failed: jwt expired',
    "JWT not yet valid": '"nbf" claim timestamp check failed',
    "JWT issued at future": '"iat" claim timestamp check failed',
    "JWT not in audience": 'unexpected "aud" claim value',
}


def token_words(refused: Rejected) -> str:
    """Say why a token was refused in the words that official clients know."""
    match refused.kind:
        case Refusal.CLAIMS:
            return _CLAIM_WORDS.get(refused.message, refused.message)
        case Refusal.NO_SECRET:
            return refused.message
    if refused.message.startswith("No suitable key"):
        return "signature verification failed"
    if refused.message.startswith("Wrong or unsupported"):
        return '"alg" (Algorithm) Header Parameter value not allowed'
    return "Invalid Compact JWS"
