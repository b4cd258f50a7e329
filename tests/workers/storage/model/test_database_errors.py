"""What the database refused, as it is told."""

import pytest

from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.storage.model.database_errors import storage_error_of

VIOLATED = "new row violates row-level security policy"


@pytest.mark.parametrize(
    ("error", "status", "inner", "code", "message"),
    [
        (DatabaseError("42501", f'{VIOLATED} for table "objects"'), 400, "403", "AccessDenied", VIOLATED),
        (DatabaseError("42501", f'{VIOLATED} (USING expression) for table "o"'), 400, "403", "AccessDenied", VIOLATED),
        (DatabaseError("42501", "permission denied for table x"), 400, "403", "AccessDenied", "permission denied for table x"),
        (DatabaseError("23505", "dup", table="buckets"), 400, "409", "BucketAlreadyExists", "The resource already exists"),
        (DatabaseError("23505", "dup", table="objects"), 400, "409", "KeyAlreadyExists", "The resource already exists"),
        (DatabaseError("23505", "dup", table="other"), 400, "409", "ResourceAlreadyExists", "The resource already exists"),
        (DatabaseError("23503", "x", 'Key is not present in table "buckets"'), 400, "404", "InvalidRequest", "The related resource does not exist"),
        (DatabaseError("23503", "x", "Key is still referenced from table y"), 400, "409", "ResourceReferenced", "The resource is still referenced"),
        (DatabaseError("55P03", "x"), 400, "423", "ResourceLocked", "The resource is locked"),
        (DatabaseError("57014", "x"), 544, "544", "DatabaseTimeout", "The connection to the database timed out"),
        (DatabaseError("25006", "x"), 503, "503", "DatabaseReadOnly", "The database is read-only, so nothing was written; reads still work. Try again later"),
        (DatabaseError("25P02", "x"), 500, "500", "DatabaseTransactionAborted", "The transaction was aborted"),
        (DatabaseError("42P17", "infinite recursion"), 400, "503", "DatabaseInvalidObjectDefinition", "infinite recursion"),
        (DatabaseError("42P01", "no t", context="PL/pgSQL function f() line 3\nx"), 400, "503", "DatabaseSchemaMismatch", "no t (PL/pgSQL function f() line 3)"),
        (DatabaseError("42703", "no c"), 400, "503", "DatabaseSchemaMismatch", "no c"),
        (DatabaseError("22P02", "invalid input syntax for type uuid"), 400, "400", "InvalidParameter", "invalid input syntax for type uuid"),
        (DatabaseError("22023", 'role "x" does not exist'), 400, "403", "AccessDenied", 'role "x" does not exist'),
        (DatabaseError("22023", "other"), 500, "500", "DatabaseError", "database error, code: 22023"),
        (DatabaseError("P0001", "a secret of the project"), 500, "500", "DatabaseError", "database error, code: P0001"),
        (PoolTimeout(), 544, "544", "DatabaseTimeout", "The connection to the database timed out"),
        (Disconnected("gone"), 503, "503", "DatabaseError", "The database cannot be reached"),
        (Disconnected("full", "53300"), 429, "429", "SlowDown", "Too many connections issued to the database"),
    ],
)  # fmt: skip
def test_every_refusal_has_its_status_code_and_words(
    error: DatabaseError | Disconnected | PoolTimeout, status: int, inner: str, code: str, message: str
) -> None:
    refused = storage_error_of(error)

    body = refused.body()
    assert (refused.status, body["statusCode"], body["code"], body["message"]) == (
        status,
        inner,
        code,
        message,
    )
