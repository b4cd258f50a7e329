"""Small uploads, whose bytes are part of the message: policies, row and bytes in one transaction.

    begin    try the policies as the caller and roll that back; as the service role write the row, if the bucket's rules
             are the known ones
    store    write the blob durably to its final path
    commit

If the caller is the service role, nothing is tried: the write itself has the same role. An upload whose rules are unknown or
have changed, or that has a quota, a condition, an existing name or a policy against it, is rolled back before a byte is
stored. It runs in two steps then (`commit.py`), which find the reason and report it.

A crash before the commit leaves no row, and at most a blob that no row names: the sweep removes it. The row is visible
only after the commit, so a row always has its blob.
Source: docs/reference/storage.md, sections 6.1 and 11.
"""

import hashlib

from broker.blobs.blob_names import blob
from broker.blobs.errors import BlobStoreDown
from workers.database.errors import DatabaseError
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.errors import StorageError
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.commit import (
    WAITED,
    is_within,
    new_version,
    put_statements,
    settings_of,
    tried_first,
)
from workers.storage.uploads.model import Upload, metadata_of, name_of
from workers.storage.uploads.rows import decode_written


class _RowNotWritten(Exception):
    """The name exists, or the bucket has other rules."""


async def store_small(
    context: StorageContext, request: StorageRequest, upload: Upload, data: bytes
) -> dict[str, object] | None:
    """Store bytes and write the row of an object, and return its columns; None if it must be done in two steps.

    It is shielded from cancellation. Raises: DatabaseError, Disconnected, PoolTimeout; then no row was written, or it is
    unknown whether it was.
    """
    key, rules = name_of(context, upload), context.upload_rules.get(upload.bucket)
    if isinstance(key, StorageError) or rules is None or upload.condition is not None:
        return None
    if not context.blobs.writes_short or not is_within(context, rules, upload, len(data)):
        return None
    return await context.tasks.run(_store(context, request, upload, key, rules, data))


async def _store(
    context: StorageContext,
    request: StorageRequest,
    upload: Upload,
    key: str,
    rules: UploadRules,
    data: bytes,
) -> dict[str, object] | None:
    version = new_version(context.clock())
    place = blob(upload.bucket, version)
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    metadata = metadata_of(upload.attributes, md5, len(data))
    statements = [*tried_first(upload, key), *put_statements(upload, key, version, metadata, rules)]
    is_stored = False
    try:
        async with context.database.transaction(settings_of(request, upload)) as transaction:
            *_, rows = await transaction.run(*statements)
            if not rows:
                raise _RowNotWritten
            await context.blobs.put_short(place, data)
            is_stored = True
    except (_RowNotWritten, BlobStoreDown):
        context.upload_rules.pop(upload.bucket)
        return None
    except DatabaseError as error:
        context.upload_rules.pop(upload.bucket)
        if is_stored and storage_error_of(error).inner < 500:  # a deferred constraint rejected the row
            await context.blobs.delete([place])
        if is_stored or error.code in WAITED:
            raise
        return None
    return decode_written(rows)
