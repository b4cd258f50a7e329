"""The last step of a resumable upload: its bytes become an object, as those of an upload of one go do.

The row of the object and the end of the upload are one transaction, so an upload is finished once. Where the edge did not
live to ask for it, the next look at the upload finishes it: a client that hears that all is there must find its object.
Source: reference page "storage", sections 9 and 11.
"""

import contextlib
from uuid import UUID

from broker.blobs.blob_names import blob
from broker.blobs.errors import BlobError, BlobStoreDown
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction, first, statement
from workers.database.session import Statement
from workers.storage.asked import Asked
from workers.storage.buckets import SQL as BUCKETS
from workers.storage.buckets import BucketRules
from workers.storage.callers import SERVICE
from workers.storage.context import Store, switch
from workers.storage.database_errors import refusal_of
from workers.storage.errors import StorageError, no_such_bucket
from workers.storage.tus import rows
from workers.storage.tus.refusals import Refused, lost, no_such_upload, too_long
from workers.storage.tus.rows import Row
from workers.storage.tus.writers import settings_of, upload_of, writer_of
from workers.storage.uploads import Upload, metadata_of, most_of, probe_of, try_out, write_row

_RECOVERY_LEASE_S = 300.0
"""Seconds in which the bytes of the longest upload are read and hashed once more."""


async def commit(store: Store, asked: Asked, upload: Upload, version: str, writer: UUID, md5: str) -> None:
    """Write the row of an object whose bytes lie at their place. It is finished once it has begun.

    Raises: StorageError, Refused, DatabaseError; then the upload is still under way, and nobody holds it. What was refused
    leaves no bytes at its place.
    """
    await store.errands.finish(_commit(store, asked, upload, version, writer, md5))


async def recover(store: Store, asked: Asked, row: Row) -> None:
    """Finish an upload that has all its bytes and no object. Raises: as `commit`; BlobStoreDown."""
    who = writer_of(store, asked, row.bucket_id, row.key)
    await store.errands.finish(_recover(store, asked, row, upload_of(row, who.identity, row.upload_length)))


async def _commit(store: Store, asked: Asked, upload: Upload, version: str, writer: UUID, md5: str) -> None:
    try:
        async with store.database.transaction(settings_of(asked, upload)) as transaction:
            await _write(store, transaction, upload, version, writer, md5)
    except BaseException:
        store.errands.begin(rows.let_go(store, version, writer))
        raise
    store.errands.begin(_forget(store, version))


async def _write(
    store: Store, transaction: Transaction, upload: Upload, version: str, writer: UUID, md5: str
) -> None:
    _, locked, _ = await transaction.run(
        _own_role(), statement(rows.SQL["find_locked"], version), switch(upload.identity)
    )
    row = first(locked, Row)
    if row is None:
        raise no_such_upload()
    if row.is_complete:
        return
    if row.writer != str(writer):
        raise lost()
    try:
        await _replace(store, transaction, upload, row, md5)
    except (StorageError, Refused):
        await _drop(store, row)
        raise
    except DatabaseError as error:
        if refusal_of(error).inner < 500:  # else nobody knows whether the row was written
            await _drop(store, row)
        raise


async def _replace(store: Store, transaction: Transaction, upload: Upload, row: Row, md5: str) -> None:
    """Try the policies with all that is known now, write the object's row, and end the upload."""
    await try_out(transaction, probe_of(upload, upload.key))
    _, found = await transaction.run(switch(SERVICE), statement(BUCKETS["rules"], upload.bucket))
    rules = first(found, BucketRules)
    if rules is None:
        raise no_such_bucket()
    size = row.upload_length or 0
    if size > most_of(store, rules, upload):
        raise too_long()
    await write_row(transaction, upload, upload.key, row.version, metadata_of(upload.about, md5, size))
    await transaction.run(_own_role(), statement(rows.SQL["complete"], row.version))


async def _recover(store: Store, asked: Asked, row: Row, upload: Upload) -> None:
    row, writer = await rows.hold(store, row.version, _RECOVERY_LEASE_S)
    if writer is None:  # another look was faster
        return
    try:
        staged = await store.blobs.complete(row.version, blob(row.bucket_id, row.version))
        await store.blobs.promote(staged)
    except BaseException:
        store.errands.begin(rows.let_go(store, row.version, writer))
        raise
    await commit(store, asked, upload, row.version, writer, staged.md5)


async def _drop(store: Store, row: Row) -> None:
    """Leave no bytes at the object's place. The row is locked meanwhile: nobody else can put his there."""
    with contextlib.suppress(BlobStoreDown):  # then the sweep finds them
        await store.blobs.delete([blob(row.bucket_id, row.version)])


def _own_role() -> Statement:
    return statement(rows.SQL["own_role"])


async def _forget(store: Store, version: str) -> None:
    with contextlib.suppress(BlobError):  # then the sweep does, when the upload expires
        await store.blobs.forget(version)
