"""Statements that write the row of an object, and those that try its policies first.

`try_out` runs a statement with the caller's role behind a savepoint and rolls back to it: the policies and triggers of
the project decide, but leave no effect. The real write then runs as the service role.
"""

from collections.abc import Sequence

import msgspec

from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.storage.model.errors import (
    StorageErrorCode,
    already_exists,
)
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.objects.rows import SQL
from workers.storage.uploads.model import Metadata, Upload


def policy_probe(upload: Upload, key: str, metadata: Metadata | None = None) -> Statement:
    """Return the statement that tries the policies with the declared metadata, before any byte is stored."""
    declared = {**(metadata or {}), "mimetype": upload.attributes.mime_type}
    if upload.length is not None:
        declared["contentLength"] = upload.length
    if upload.is_form:
        declared["isForm"] = True  # the declared length is that of the whole form, not of the file
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
    """Write a row in a transaction of the service role. Raises: StorageError (409), DatabaseError."""
    _, rows = await transaction.run(
        lock_statement(upload.bucket, key), put_statement(upload, key, version, metadata)
    )
    return decode_written(rows)


def put_statement(
    upload: Upload, key: str, version: str, metadata: Metadata, rules: UploadRules | None = None
) -> Statement:
    """Return the statement that writes a row, if the bucket's rules are still `rules`."""
    name = "upsert" if upload.is_upsert else "insert"
    needed = None if rules is None else msgspec.json.encode(rules)
    values = (key, upload.bucket, *upload.owner, version, _json(metadata), upload.attributes.user_metadata)
    return statement(SQL[name], *values, needed)


def decode_written(rows: Rows) -> dict[str, object]:
    if not rows:
        raise already_exists(StorageErrorCode.KEY_ALREADY_EXISTS)
    return msgspec.json.decode(rows[0][0] or b"{}", type=dict[str, object])


def _json(value: Metadata) -> bytes:
    return msgspec.json.encode(value)
