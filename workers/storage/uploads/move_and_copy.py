"""Move and copy objects: read and check with the caller's rights, then write.

Within a bucket, a move only updates the row: blobs are named by their version. A move to another bucket, and a copy,
duplicate the blob, because a version belongs to exactly one row. If it is unknown whether the row was written (the
connection broke at the commit), the new blob stays, and the sweep removes it unless a row names it. Source:
docs/reference/storage.md, sections 6.7, 6.9 and 11.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from broker.blobs.blob_names import BlobPath, blob
from broker.blobs.errors import BlobMissing
from workers.database.errors import DatabaseError, PoolTimeout
from workers.database.transactions.interactive import decode_first, statement
from workers.database.transactions.model import Statement
from workers.storage.buckets.rows import find_rules
from workers.storage.model.errors import StorageError, no_such_key, too_large
from workers.storage.model.media_types import check_mime_type
from workers.storage.model.names_and_sizes import limit_of
from workers.storage.objects.rows import SQL, ObjectRow, blob_missing
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.model import Upload
from workers.storage.uploads.rows import policy_probe, try_out, write_row

NOT_WRITTEN = (StorageError, DatabaseError, PoolTimeout)
"""Errors after which the row was not written, if `is_surely_unwritten` confirms it. After others, such as a lost connection, it
is unknown.
"""
_STOPPED = "57"
"""Class of SQLSTATE: the server cancelled the statement or shut down, possibly just after the commit."""


def is_surely_unwritten(error: Exception) -> bool:
    """Return whether an error proves that nothing was written."""
    return not isinstance(error, DatabaseError) or not error.code.startswith(_STOPPED)


@dataclass(frozen=True, slots=True)
class ObjectMove:
    """Source and destination; keys are checked and in NFC."""

    bucket: str
    key: str
    to_bucket: str
    to_key: str

    @property
    def is_noop(self) -> bool:
        """Whether source and destination are the same; a move then does nothing."""
        return (self.bucket, self.key) == (self.to_bucket, self.to_key)


async def move(context: StorageContext, request: StorageRequest, way: ObjectMove) -> None:
    """Move an object; it keeps its id, and its owner becomes the caller.

    Raises: StorageError, DatabaseError and its siblings.
    """
    row = await visible_object(context, request, way.bucket, way.key)
    if way.is_noop:
        return
    if way.bucket == way.to_bucket:
        await context.tasks.run(_rewrite(context, request, way, row, row.version or ""))
        return
    await check_fits_bucket(context, request, way.to_bucket, row.mime_type, row.size)
    await context.probe(request.as_caller(), _update(request, way, row.version or ""))
    await context.tasks.run(_move_over(context, request, way, row))


async def _move_over(
    context: StorageContext, request: StorageRequest, way: ObjectMove, row: ObjectRow
) -> None:
    version = str(uuid4())
    place = await copy_blob(context, row, way.to_bucket, version)
    try:
        await _rewrite(context, request, way, row, version)
    except NOT_WRITTEN as error:
        if is_surely_unwritten(error):
            await context.blobs.delete([place])
        raise


async def _rewrite(
    context: StorageContext, request: StorageRequest, way: ObjectMove, row: ObjectRow, version: str
) -> None:
    update = _update(request, way, version)
    async with context.database.transaction(request.as_caller()) as transaction:
        [may] = await try_out(transaction, update)
        if not may:
            raise no_such_key()
        names = (f"{way.bucket}/{way.key}", f"{way.to_bucket}/{way.to_key}")
        _, _, current = await transaction.run(
            switch_role(SERVICE),
            statement(SQL["lock_two"], *names),
            statement(SQL["is_still"], way.bucket, way.key),
        )
        if not current or (current[0][0] or b"").decode() != (row.version or ""):
            raise no_such_key()  # it was replaced or deleted while its bytes were copied
        await transaction.run(update)


def _update(request: StorageRequest, way: ObjectMove, version: str) -> Statement:
    who = request.caller
    values = (way.bucket, way.key, way.to_bucket, way.to_key, version or None, who.owner, who.subject)
    return statement(SQL["move"], *values)


async def copy(
    context: StorageContext,
    request: StorageRequest,
    row: ObjectRow,
    upload: Upload,
    metadata: Mapping[str, object],
) -> dict[str, object]:
    """Copy an object that the caller may read to `upload`; return the new row. Raises: as `move`."""
    await check_fits_bucket(context, request, upload.bucket, upload.attributes.mime_type, row.size)
    probe = policy_probe(upload, upload.key, metadata)
    await context.probe(request.as_caller(), probe)
    return await context.tasks.run(_copy(context, request, row, upload, metadata, probe))


async def _copy(
    context: StorageContext,
    request: StorageRequest,
    row: ObjectRow,
    upload: Upload,
    metadata: Mapping[str, object],
    probe: Statement,
) -> dict[str, object]:
    version = str(uuid4())
    place = await copy_blob(context, row, upload.bucket, version)
    try:
        async with context.database.transaction(request.as_caller()) as transaction:
            await try_out(transaction, probe)
            await transaction.run(switch_role(SERVICE))
            return await write_row(transaction, upload, upload.key, version, metadata)
    except NOT_WRITTEN as error:
        if is_surely_unwritten(error):
            await context.blobs.delete([place])
        raise


async def copy_blob(context: StorageContext, row: ObjectRow, bucket: str, version: str) -> BlobPath:
    """Copy the blob of an object to a new version. Raises: StorageError (404), BlobStoreDown."""
    source, place = row.blob, blob(bucket, version)
    try:
        await context.blobs.copy(blob(source.bucket, source.version), place)
    except BlobMissing:
        raise blob_missing() from None
    return place


async def check_fits_bucket(
    context: StorageContext, request: StorageRequest, bucket: str, mime_type: str, size: int
) -> None:
    """Raises: StorageError if the bucket would reject the object as an upload.

    Without the bucket it returns: the caller's probe comes next and fails, by a policy or else by the foreign key.
    """
    rules, settings = await find_rules(context, request, bucket), context.settings
    if rules is None:
        return
    check_mime_type(mime_type, rules.allowed_mime_types)
    if size > limit_of(rules.file_size_limit, standard=settings.largest, largest=settings.largest):
        raise too_large()


async def visible_object(
    context: StorageContext, request: StorageRequest, bucket: str, key: str
) -> ObjectRow:
    """Return an object that the caller's policies allow, even in a public bucket. Raises: StorageError (404)."""
    rows = await context.read(request.as_caller(), statement(SQL["visible"], bucket, key))
    row = decode_first(rows[0], ObjectRow)
    if row is None:
        raise no_such_key()
    return row


async def rename_folder(
    context: StorageContext, request: StorageRequest, bucket: str, folder: str, to: str, most_bytes: int
) -> int:
    """Move every object of a folder to another one, with the caller's rights, all or none; return their number.

    Both names end with a slash. Raises: StorageError, DatabaseError and its siblings.
    """
    values = (bucket, folder, to, most_bytes)
    async with context.database.transaction(request.as_caller()) as transaction:
        [(count, is_too_long)] = await transaction.rows(SQL["rename_folder"], *values)
        if is_too_long == b"t":
            raise too_large(f"A name would be longer than {most_bytes} bytes")
        return int(count or 0)
