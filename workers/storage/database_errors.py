"""What the database refused, as a refusal of storage. Source: reference page "storage", section 3.3 (SQLSTATE mapping)."""

from workers.database.errors import NUL_CODE, DatabaseError, Disconnected, PoolTimeout
from workers.storage.errors import (
    Code,
    StorageError,
    access_denied,
    already_exists,
    invalid_request,
    quota_exceeded,
)

_TOO_MANY_CONNECTIONS = ("53300", "53400")
_RETRY = [("retry-after", "1")]
_NO_RESOURCES = "53"
"""Class of the SQLSTATEs of a server that lacks disk, memory or connections: nothing is wrong with the request."""
_TIMED_OUT = "The connection to the database timed out"
_POLICY = "row-level security"
_VIOLATED = "new row violates row-level security policy"
_ALREADY = {
    "buckets": Code.BUCKET_ALREADY_EXISTS,
    "objects": Code.KEY_ALREADY_EXISTS,
}


def refusal_of(error: DatabaseError | Disconnected | PoolTimeout) -> StorageError:
    """Turn what the database raised into the answer for the caller."""
    match error:
        case PoolTimeout():
            return StorageError(Code.DATABASE_TIMEOUT, _TIMED_OUT, 544)
        case Disconnected():
            return _unreachable(error)
    match error.code:
        case "42501":
            return access_denied(_VIOLATED if _POLICY in error.message else error.message)
        case "23505":
            return already_exists(_ALREADY.get(error.table or "", Code.RESOURCE_ALREADY_EXISTS))
        case "23503":
            return _referenced(error)
        case "55P03":
            return StorageError(Code.RESOURCE_LOCKED, "The resource is locked", 423)
        case "57014":
            return StorageError(Code.DATABASE_TIMEOUT, _TIMED_OUT, 544)
        case "HW413":  # raised by storage.refuse_beyond_quota
            return quota_exceeded(error.message)
        case "22P02":
            return StorageError(Code.INVALID_PARAMETER, error.message)
        case "22023" if error.message.startswith("role "):
            return access_denied(error.message)
        case code if code in (NUL_CODE, "22P05"):
            return invalid_request("a text holds a character that cannot be kept")
    return _unusable(error)


def _unreachable(error: Disconnected) -> StorageError:
    """There is no database: too many use it, or it is away. Then HTTP says so, for a later attempt may succeed."""
    if error.code in _TOO_MANY_CONNECTIONS:
        message = "Too many connections issued to the database"
        return StorageError(Code.SLOW_DOWN, message, 429, error="too_many_connections", headers=_RETRY)
    return StorageError(
        Code.DATABASE_ERROR, "The database cannot be reached", 503, status=503, headers=_RETRY
    )


def _referenced(error: DatabaseError) -> StorageError:
    """A foreign key: either something still refers to the row, or what the row refers to is not there."""
    if "is still referenced" in f"{error.details} {error.message}":
        return StorageError(Code.RESOURCE_REFERENCED, "The resource is still referenced", 409)
    return StorageError(Code.INVALID_REQUEST, "The related resource does not exist", 404)


def _unusable(error: DatabaseError) -> StorageError:
    """The schema is not as it should be, or SQL of the project failed: triggers and policies are named."""
    match error.code:
        case code if code[:2] == _NO_RESOURCES:
            words = f"The database cannot do it now: {error.message}"
            return StorageError(Code.SLOW_DOWN, words, 503, status=503, headers=_RETRY)
        case "25006":
            return StorageError(Code.DATABASE_READ_ONLY, "The database only takes reads now", 503)
        case "25P02":
            return StorageError(Code.DATABASE_TRANSACTION_ABORTED, "The transaction was aborted", 500)
        case "42P17":
            return StorageError(Code.DATABASE_INVALID_OBJECT_DEFINITION, _named(error), 503)
        case "42703" | "42P01":
            return StorageError(Code.DATABASE_SCHEMA_MISMATCH, _named(error), 503)
    return StorageError(Code.DATABASE_ERROR, f"database error, code: {error.code}", 500)


def _named(error: DatabaseError) -> str:
    where = (error.context or "").partition("\n")[0]
    return f"{error.message} ({where})" if where else error.message
