"""Completion of a resumable upload: its bytes become an object.

The object's row and the completion of the upload are one transaction, so an upload is completed once. If the gateway
stops before it reports the last byte, the next request for the upload completes it: a client that receives the full
offset must find its object. Source: docs/reference/storage.md, sections 9 and 11.
"""

import contextlib
from uuid import UUID

from broker.blobs.blob_names import blob
from broker.blobs.errors import BlobError, BlobStoreDown
from schemas.resumable_uploads import RECOVERY_LEASE_S
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction, decode_first, statement
from workers.database.transactions.model import Statement
from workers.storage.buckets.rows import SQL as BUCKETS
from workers.storage.buckets.rows import BucketRules
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.errors import StorageError, no_such_bucket
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus import rows
from workers.storage.tus.errors import TusError, lease_lost, no_such_upload, too_long
from workers.storage.tus.rows import ResumableUpload
from workers.storage.tus.writers import settings_of, upload_of, writer_of
from workers.storage.uploads.model import Upload, metadata_of, size_limit_of
from workers.storage.uploads.rows import policy_probe, try_out, write_row


async def commit(
    context: StorageContext, request: StorageRequest, upload: Upload, version: str, writer: UUID, md5: str
) -> None:
    """Write the row of an object whose blob is in place. Cancellation does not interrupt it.

    Raises: StorageError, TusError, DatabaseError; then the upload is not complete, and its lease is released. If the
    write was rejected, the blob is removed.
    """
    await context.tasks.run(_commit(context, request, upload, version, writer, md5))


async def recover(context: StorageContext, request: StorageRequest, row: ResumableUpload) -> None:
    """Complete an upload that has all bytes but no object. Raises: as `commit`; BlobStoreDown."""
    who = writer_of(context, request, row.bucket_id, row.key)
    await context.tasks.run(_recover(context, request, row, upload_of(row, who.identity, row.upload_length)))


async def _commit(
    context: StorageContext, request: StorageRequest, upload: Upload, version: str, writer: UUID, md5: str
) -> None:
    try:
        async with context.database.transaction(settings_of(request, upload), writes=True) as transaction:
            await _write(context, transaction, upload, version, writer, md5)
    except BaseException:
        context.tasks.start(rows.release_lease(context, version, writer))
        raise
    context.tasks.start(_forget(context, version))


async def _write(
    context: StorageContext, transaction: Transaction, upload: Upload, version: str, writer: UUID, md5: str
) -> None:
    _, locked, _ = await transaction.run(
        _own_role(), statement(rows.SQL["find_locked"], version), switch_role(upload.identity)
    )
    row = decode_first(locked, ResumableUpload)
    if row is None:
        raise no_such_upload()
    if row.is_complete:
        return
    if row.writer != str(writer):
        raise lease_lost()
    try:
        await _replace(context, transaction, upload, row, md5)
    except (StorageError, TusError):
        await _drop(context, row)
        raise
    except DatabaseError as error:
        if (
            storage_error_of(error).inner < 500
        ):  # after other errors the row may have been written, so its blob stays
            await _drop(context, row)
        raise


async def _replace(
    context: StorageContext, transaction: Transaction, upload: Upload, row: ResumableUpload, md5: str
) -> None:
    """Check the policies with the final metadata, write the object's row, and complete the upload."""
    await try_out(transaction, policy_probe(upload, upload.key))
    _, rules_rows = await transaction.run(switch_role(SERVICE), statement(BUCKETS["rules"], upload.bucket))
    rules = decode_first(rules_rows, BucketRules)
    if rules is None:
        raise no_such_bucket()
    size = row.upload_length or 0
    if size > size_limit_of(context, rules, upload):
        raise too_long()
    await write_row(transaction, upload, upload.key, row.version, metadata_of(upload.attributes, md5, size))
    await transaction.run(_own_role(), statement(rows.SQL["complete"], row.version))


async def _recover(
    context: StorageContext, request: StorageRequest, row: ResumableUpload, upload: Upload
) -> None:
    row, writer = await rows.acquire_lease(context, row.version, RECOVERY_LEASE_S)
    if writer is None:  # another request has completed it
        return
    try:
        staged = await context.blobs.complete(row.version, blob(row.bucket_id, row.version))
        await context.blobs.promote(staged)
    except BaseException:
        context.tasks.start(rows.release_lease(context, row.version, writer))
        raise
    await commit(context, request, upload, row.version, writer, staged.md5)


async def _drop(context: StorageContext, row: ResumableUpload) -> None:
    """Remove the blob from its final place. The upload's row is locked, so no other writer can put one there meanwhile."""
    with contextlib.suppress(BlobStoreDown):  # then the sweep removes them
        await context.blobs.delete([blob(row.bucket_id, row.version)])


def _own_role() -> Statement:
    return statement(rows.SQL["own_role"])


async def _forget(context: StorageContext, version: str) -> None:
    with contextlib.suppress(BlobError):  # then the sweep does, when the upload expires
        await context.blobs.forget(version)
