"""Small uploads, whose bytes are part of the message: row and bytes together or neither.

    a caller who may write here         another caller
    store    the blob, durably          begin    the statements below
    begin    the statements below       store    the blob, durably
    commit, in the same message         commit

The statements try the policies as the caller and roll that back; then they write the row as the service role, if the bucket's
rules are the known ones. If the caller is the service role, nothing is tried: the write itself has the same role.

Bytes first is one exchange with Postgres instead of two, and no connection and no lock of the name waits for the disk. A client without
the right to write must not fill the disk that way, so it is only for callers whose last small upload to the bucket was accepted,
and for the service role. If the statements fail after all, the blob is removed.

An upload whose rules are unknown or have changed, or that has a quota, a condition, an existing name or a policy against it,
runs in two steps then (`commit.py`), which find the reason and report it.

A crash before the commit leaves no row, and at most a blob that no row names: the sweep removes it. The row is visible
only after the commit, so a row always has its blob.
Source: docs/reference/storage.md, sections 6.1 and 11.
"""

import hashlib
from dataclasses import dataclass

from broker.blobs.blob_names import BlobPath, blob
from broker.blobs.errors import BlobStoreDown
from workers.database.errors import DatabaseError, PoolTimeout
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.errors import StorageError
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.commit import (
    WAITED,
    is_within,
    new_version,
    put_quickly,
    put_statements,
    settings_of,
    tried_first,
)
from workers.storage.uploads.model import Metadata, Upload, metadata_of, name_of
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
    version = new_version(context.clock())
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    metadata = metadata_of(upload.attributes, md5, len(data))
    small = _SmallUpload(
        context, request, upload, key, version, blob(upload.bucket, version), metadata, rules, data
    )
    return await context.tasks.run(small.store())


@dataclass(frozen=True, slots=True)
class _SmallUpload:
    """An upload whose row and bytes are known. `rules` are those of the bucket when they were read last."""

    context: StorageContext
    request: StorageRequest
    upload: Upload
    key: str
    version: str
    place: BlobPath
    metadata: Metadata
    rules: UploadRules
    data: bytes

    async def store(self) -> dict[str, object] | None:
        """Store row and bytes in the order that the caller is due; return the columns of the row. Raises: as `store_small`."""
        identity, context = self.upload.identity, self.context
        writer = (identity.role, identity.subject, self.upload.bucket)
        row = None
        try:
            if identity.is_service or writer in context.accepted_writers:
                row = await self._store_bytes_first()
            else:
                row = await self._store_row_first()
        finally:
            if row is None:
                context.accepted_writers.pop(writer)
                context.upload_rules.pop(self.upload.bucket)
            else:
                context.accepted_writers.put(writer, True)
        return row

    async def _store_bytes_first(self) -> dict[str, object] | None:
        """Store the bytes, then write the row in one exchange."""
        blobs, row = self.context.blobs, None
        try:
            await blobs.put_short(self.place, self.data)
        except BlobStoreDown:
            return None
        try:
            row = await put_quickly(
                self.context, self.request, self.upload, self.key, self.version, self.metadata, self.rules
            )
        except PoolTimeout:
            await blobs.delete([self.place])
            raise
        except DatabaseError as error:
            is_at_commit = error.statement_index is None  # a deferred constraint, which no trial would find
            if is_at_commit and not _is_refusal(
                error
            ):  # it may be committed: the sweep decides about the bytes
                raise
            if is_at_commit or error.code in WAITED:
                await blobs.delete([self.place])
                raise
        if row is None:
            await blobs.delete([self.place])
        return row

    async def _store_row_first(self) -> dict[str, object] | None:
        """Write the row, and store the bytes before the commit."""
        statements = [
            *tried_first(self.upload, self.key),
            *put_statements(self.upload, self.key, self.version, self.metadata, self.rules),
        ]
        is_stored = False
        try:
            async with self.context.database.transaction(
                settings_of(self.request, self.upload)
            ) as transaction:
                *_, rows = await transaction.run(*statements)
                if not rows:
                    raise _RowNotWritten
                await self.context.blobs.put_short(self.place, self.data)
                is_stored = True
        except (_RowNotWritten, BlobStoreDown):
            return None
        except DatabaseError as error:
            if is_stored and _is_refusal(error):  # a deferred constraint rejected the row
                await self.context.blobs.delete([self.place])
            if is_stored or error.code in WAITED:
                raise
            return None
        return decode_written(rows)


def _is_refusal(error: DatabaseError) -> bool:
    """Return whether an error at the commit means that nothing was committed."""
    return storage_error_of(error).inner < 500
