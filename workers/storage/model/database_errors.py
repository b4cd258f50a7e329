"""Database errors as storage errors. Source: docs/reference/storage.md, section 3.3 (SQLSTATE mapping)."""

from workers.database.errors import NUL_CODE, DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.storage.model.errors import (
    StorageError,
    StorageErrorCode,
    access_denied,
    already_exists,
    invalid_request,
    quota_exceeded,
)

_TOO_MANY_CONNECTIONS = ("53300", "53400")
_RETRY = [("retry-after", "1")]
_NO_RESOURCES = "53"
"""Class of SQLSTATE: the server lacks disk, memory or connections; the request itself is valid."""
_READ_ONLY = "The database is read-only, so nothing was written; reads still work. Try again later"
_TIMED_OUT = "The connection to the database timed out"
_POLICY = "row-level security"
_VIOLATED = "new row violates row-level security policy"
_ALREADY = {
    "buckets": StorageErrorCode.BUCKET_ALREADY_EXISTS,
    "objects": StorageErrorCode.KEY_ALREADY_EXISTS,
}


def storage_error_of(error: DatabaseError | Disconnected | PoolTimeout) -> StorageError:
    """Return the storage error for an error of the database."""
    match error:
        case PoolBusy():
            headers = [("retry-after", str(error.retry_after_s))]
            return StorageError(
                StorageErrorCode.DATABASE_TIMEOUT, str(error), 503, status=503, headers=headers
            )
        case PoolTimeout():
            return StorageError(StorageErrorCode.DATABASE_TIMEOUT, _TIMED_OUT, 544)
        case Disconnected():
            return _unreachable(error)
    match error.code:
        case "42501":
            return access_denied(_VIOLATED if _POLICY in error.message else error.message)
        case "23505":
            return already_exists(_ALREADY.get(error.table or "", StorageErrorCode.RESOURCE_ALREADY_EXISTS))
        case "23503":
            return _referenced(error)
        case "55P03":
            return StorageError(StorageErrorCode.RESOURCE_LOCKED, "The resource is locked", 423)
        case "57014":
            return StorageError(StorageErrorCode.DATABASE_TIMEOUT, _TIMED_OUT, 544)
        case "HW413":  # raised by storage.refuse_beyond_quota
            return quota_exceeded(error.message)
        case "22P02":
            return StorageError(StorageErrorCode.INVALID_PARAMETER, error.message)
        case "22023" if error.message.startswith("role "):
            return access_denied(error.message)
        case code if code in (NUL_CODE, "22P05"):
            return invalid_request("a text holds a character that cannot be kept")
    return _unusable(error)


def _unreachable(error: Disconnected) -> StorageError:
    """The database cannot be reached, or has too many connections. HTTP says so, because a retry may succeed."""
    if error.code in _TOO_MANY_CONNECTIONS:
        message = "Too many connections issued to the database"
        return StorageError(
            StorageErrorCode.SLOW_DOWN, message, 429, error="too_many_connections", headers=_RETRY
        )
    return StorageError(
        StorageErrorCode.DATABASE_ERROR, "The database cannot be reached", 503, status=503, headers=_RETRY
    )


def _referenced(error: DatabaseError) -> StorageError:
    """A foreign key failed: the row is still referenced, or the row that it references does not exist."""
    if "is still referenced" in f"{error.details} {error.message}":
        return StorageError(StorageErrorCode.RESOURCE_REFERENCED, "The resource is still referenced", 409)
    return StorageError(StorageErrorCode.INVALID_REQUEST, "The related resource does not exist", 404)


def _unusable(error: DatabaseError) -> StorageError:
    """The schema is not as expected, or SQL of the project failed: the message names the trigger or policy."""
    match error.code:
        case code if code[:2] == _NO_RESOURCES:
            words = f"The database cannot do it now: {error.message}"
            return StorageError(StorageErrorCode.SLOW_DOWN, words, 503, status=503, headers=_RETRY)
        case "25006":
            return StorageError(
                StorageErrorCode.DATABASE_READ_ONLY, _READ_ONLY, 503, status=503, headers=_RETRY
            )
        case "25P02":
            return StorageError(
                StorageErrorCode.DATABASE_TRANSACTION_ABORTED, "The transaction was aborted", 500
            )
        case "42P17":
            return StorageError(StorageErrorCode.DATABASE_INVALID_OBJECT_DEFINITION, _named(error), 503)
        case "42703" | "42P01":
            return StorageError(StorageErrorCode.DATABASE_SCHEMA_MISMATCH, _named(error), 503)
    return StorageError(StorageErrorCode.DATABASE_ERROR, f"database error, code: {error.code}", 500)


def _named(error: DatabaseError) -> str:
    where = (error.context or "").partition("\n")[0]
    return f"{error.message} ({where})" if where else error.message
