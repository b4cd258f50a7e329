"""Statements that write the row of an object, and those that try its policies first.

`try_out` runs a statement with the caller's role behind a savepoint and rolls back to it: the policies and triggers of
the project decide, but leave no effect. The real write then runs as the service role.
"""

import contextlib
from collections.abc import Iterator, Sequence

import msgspec

from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction, decode_first, statement
from workers.database.transactions.model import Statement
from workers.storage.model.errors import (
    StorageError,
    StorageErrorCode,
    already_exists,
)
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.objects.rows import SQL, ObjectRow
from workers.storage.uploads.model import Metadata, Upload
from workers.storage.uploads.write_conditions import WriteCondition, precondition_failed, requires_absence

_TAKEN = "23505"
"""SQLSTATE of a duplicate key."""
_decode_row = msgspec.json.Decoder(dict[str, object]).decode


def policy_probe(upload: Upload, key: str, metadata: Metadata | None = None) -> Statement:
    """Return the statement that tries the policies with the declared metadata, before any byte is stored."""
    declared = {**(metadata or {}), "mimetype": upload.attributes.mime_type}
    if upload.length is not None:
        declared["contentLength"] = upload.length
    if upload.is_form:
        declared["isForm"] = True  # the declared length counts the whole form, not the file alone
    name = "probe_upsert" if upload.is_upsert else "probe_insert"
    return statement(
        SQL[name], key, upload.bucket, *upload.owner, _json(declared), upload.attributes.user_metadata
    )


async def try_out(transaction: Transaction, *probes: Statement) -> list[Rows]:
    """Run statements as the caller and roll them back, inside a transaction that continues. Raises: DatabaseError."""
    return (await transaction.run(*within_savepoint(*probes)))[1:-1]


def within_savepoint(*probes: Statement) -> Sequence[Statement]:
    return statement(SQL["savepoint"]), *probes, statement(SQL["roll_back"])


def lock_statement(bucket: str, key: str) -> Statement:
    """Return the statement that serializes writers of one object (an advisory lock)."""
    return statement(SQL["lock"], bucket, key)


async def write_row(
    transaction: Transaction, upload: Upload, key: str, version: str, metadata: Metadata
) -> dict[str, object]:
    """Write a row in a transaction of the service role. Raises: StorageError (409, 412), DatabaseError."""
    await check_condition(transaction, upload, key)
    _, rows = await transaction.run(
        lock_statement(upload.bucket, key), put_statement(upload, key, version, metadata)
    )
    return decode_written(rows, upload.condition)


async def check_condition(transaction: Transaction, upload: Upload, key: str) -> None:
    """Lock the name and the row of an upload with a condition, and check it. The locks last until the transaction ends.

    The transaction has the service role and isolation `read committed`: the row that is read is the latest one.
    Raises: StorageError (412), DatabaseError.
    """
    if upload.condition is None:
        return
    _, rows = await transaction.run(
        lock_statement(upload.bucket, key), statement(SQL["locked"], upload.bucket, key)
    )
    upload.condition.check(decode_first(rows, ObjectRow))


def put_statement(
    upload: Upload, key: str, version: str, metadata: Metadata, rules: UploadRules | None = None
) -> Statement:
    """Return the statement that writes a row, if the bucket's rules are still `rules`."""
    is_insert = not upload.is_upsert or requires_absence(upload.condition)
    name = "insert" if is_insert else "upsert"
    needed = None if rules is None else msgspec.json.encode(rules)
    values = (key, upload.bucket, *upload.owner, version, _json(metadata), upload.attributes.user_metadata)
    return statement(SQL[name], *values, needed)


def decode_written(rows: Rows, condition: WriteCondition | None = None) -> dict[str, object]:
    """Return the written row. Raises: StorageError (409, or 412 if the condition demands that no object exists)."""
    if not rows and requires_absence(condition):
        raise precondition_failed()
    if not rows:
        raise already_exists(StorageErrorCode.KEY_ALREADY_EXISTS)
    return _decode_row(rows[0][0] or b"{}")


@contextlib.contextmanager
def existing_name_as_412(upload: Upload) -> Iterator[None]:
    """Turn "the name exists" into 412 for an upload whose condition demands that no object exists."""
    try:
        yield
    except (StorageError, DatabaseError) as error:
        if not requires_absence(upload.condition) or not _is_taken(error):
            raise
        raise precondition_failed() from None


def _is_taken(error: StorageError | DatabaseError) -> bool:
    if isinstance(error, DatabaseError):
        return error.code == _TAKEN
    return error.code is StorageErrorCode.KEY_ALREADY_EXISTS


def _json(value: Metadata) -> bytes:
    return msgspec.json.encode(value)
