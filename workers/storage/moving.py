"""Moves and copies of objects: what is read and changed as the caller, what is written then.

A move within a bucket is a change of a row; bytes have no name but their version. Into another bucket, and for a copy, the
blob store makes a second blob of the same bytes, for no version belongs to two rows. Where nobody knows whether the row was written
(the connection broke while it was), that blob stays: the sweep removes it if it has no row.
Source: reference page "storage", sections 6.7, 6.9, 11.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

import msgspec

from broker.blobs.blob_names import Place, blob
from broker.blobs.errors import BlobMissing
from workers.database.errors import DatabaseError, PoolTimeout
from workers.database.interactive import first, statement
from workers.database.session import Statement
from workers.storage.asked import Asked
from workers.storage.buckets import rules_of
from workers.storage.callers import SERVICE
from workers.storage.context import Store, switch
from workers.storage.errors import StorageError, no_such_key, too_large
from workers.storage.media_types import refuse_mime_type
from workers.storage.objects import SQL, ObjectRow, blob_missing
from workers.storage.rules import limit_of
from workers.storage.uploads import Upload, probe_of, try_out, write_row

NOT_WRITTEN = (StorageError, DatabaseError, PoolTimeout)
"""Failures after which there is no row, if `is_certain` says so. Of others, a lost connection above all, nobody knows."""
_STOPPED = "57"
"""Class of SQLSTATE: the server stopped the work or itself, which may be in the moment after the commit."""


def is_certain(error: Exception) -> bool:
    """Tell whether a failure says that nothing was written."""
    return not isinstance(error, DatabaseError) or not error.code.startswith(_STOPPED)


@dataclass(frozen=True, slots=True)
class Way:
    """From where to where; keys are read and NFC."""

    bucket: str
    key: str
    to_bucket: str
    to_key: str

    @property
    def is_still(self) -> bool:
        """Tell whether nothing moves."""
        return (self.bucket, self.key) == (self.to_bucket, self.to_key)


async def move(store: Store, asked: Asked, way: Way) -> None:
    """Move an object; it keeps its id, and belongs to the caller. Raises: StorageError, DatabaseError and its siblings."""
    row = await visible_object(store, asked, way.bucket, way.key)
    if way.is_still:
        return
    if way.bucket == way.to_bucket:
        await store.errands.finish(_rewrite(store, asked, way, row, row.version or ""))
        return
    await refuse_unfit(store, asked, way.to_bucket, row.mime_type, row.size)
    await store.probe(asked.as_caller(), _update(asked, way, row.version or ""))
    await store.errands.finish(_move_over(store, asked, way, row))


async def _move_over(store: Store, asked: Asked, way: Way, row: ObjectRow) -> None:
    version = str(uuid4())
    place = await copy_blob(store, row, way.to_bucket, version)
    try:
        await _rewrite(store, asked, way, row, version)
    except NOT_WRITTEN as error:
        if is_certain(error):
            await store.blobs.delete([place])
        raise


async def _rewrite(store: Store, asked: Asked, way: Way, row: ObjectRow, version: str) -> None:
    update = _update(asked, way, version)
    async with store.database.transaction(asked.as_caller()) as transaction:
        [may] = await try_out(transaction, update)
        if not may:
            raise no_such_key()
        names = (f"{way.bucket}/{way.key}", f"{way.to_bucket}/{way.to_key}")
        _, _, found = await transaction.run(
            switch(SERVICE),
            statement(SQL["lock_two"], *names),
            statement(SQL["is_still"], way.bucket, way.key),
        )
        if not found or (found[0][0] or b"").decode() != (row.version or ""):
            raise no_such_key()  # it was written anew, or went, while its bytes were copied
        await transaction.run(update)


def _update(asked: Asked, way: Way, version: str) -> Statement:
    who = asked.caller
    values = (way.bucket, way.key, way.to_bucket, way.to_key, version or None, who.owner, who.subject)
    return statement(SQL["move"], *values)


async def copy(
    store: Store, asked: Asked, row: ObjectRow, upload: Upload, metadata: Mapping[str, object]
) -> dict[str, object]:
    """Copy an object that the caller reads to where `upload` says; give the new row. Raises: as `move`."""
    await refuse_unfit(store, asked, upload.bucket, upload.about.mime_type, row.size)
    probe = probe_of(upload, upload.key, metadata)
    await store.probe(asked.as_caller(), probe)
    return await store.errands.finish(_copy(store, asked, row, upload, metadata, probe))


async def _copy(
    store: Store,
    asked: Asked,
    row: ObjectRow,
    upload: Upload,
    metadata: Mapping[str, object],
    probe: Statement,
) -> dict[str, object]:
    version = str(uuid4())
    place = await copy_blob(store, row, upload.bucket, version)
    try:
        async with store.database.transaction(asked.as_caller()) as transaction:
            await try_out(transaction, probe)
            await transaction.run(switch(SERVICE))
            return await write_row(transaction, upload, upload.key, version, metadata)
    except NOT_WRITTEN as error:
        if is_certain(error):
            await store.blobs.delete([place])
        raise


async def copy_blob(store: Store, row: ObjectRow, bucket: str, version: str) -> Place:
    """Have the bytes of an object lie at a version of their own. Raises: StorageError (404), BlobStoreDown."""
    source, place = row.blob, blob(bucket, version)
    try:
        await store.blobs.copy(blob(source.bucket, source.version), place)
    except BlobMissing:
        raise blob_missing() from None
    return place


async def refuse_unfit(store: Store, asked: Asked, bucket: str, mime_type: str, size: int) -> None:
    """Raises: StorageError for an object that a bucket would not take as an upload."""
    rules, own = await rules_of(store, asked, bucket), store.settings
    refuse_mime_type(mime_type, rules.allowed_mime_types)
    if size > limit_of(rules.file_size_limit, standard=own.largest, largest=own.largest):
        raise too_large()


async def visible_object(store: Store, asked: Asked, bucket: str, key: str) -> ObjectRow:
    """Give an object that the caller's policies show, also in a public bucket. Raises: StorageError (404)."""
    rows = await store.run(asked.as_caller(), statement(SQL["visible"], bucket, key))
    found = first(rows[0], ObjectRow)
    if found is None:
        raise no_such_key()
    return found


async def whole_row(store: Store, asked: Asked, bucket: str, key: str) -> dict[str, object]:
    """Give all columns of an object that the caller sees. Raises: StorageError (404)."""
    rows = (await store.run(asked.as_caller(), statement(SQL["whole"], bucket, key)))[0]
    if not rows or rows[0][0] is None:
        raise no_such_key()
    return msgspec.json.decode(rows[0][0], type=dict[str, object])


async def rename_folder(
    store: Store, asked: Asked, bucket: str, folder: str, to: str, most_bytes: int
) -> int:
    """Give every object below a folder another folder, as the caller, all or none; tell how many there were.

    Both end with a slash. Raises: StorageError, DatabaseError and its siblings.
    """
    values = (bucket, folder, to, most_bytes)
    async with store.database.transaction(asked.as_caller()) as transaction:
        [(count, is_too_long)] = await transaction.rows(SQL["rename_folder"], *values)
        if is_too_long == b"t":
            raise too_large(f"A name would be longer than {most_bytes} bytes")
        return int(count or 0)
