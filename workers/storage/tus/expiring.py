"""Resumable uploads whose time is over: their bytes go, then their rows. What was finished long ago keeps its object."""

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import blob
from broker.blobs.store import BlobStore
from workers.database.pool import Pool
from workers.storage.tus.rows import OWN, SQL

_BATCH = 100


class _Expired(Struct, frozen=True):
    bucket_id: str
    version: str
    is_named: bool
    """An object has these bytes."""


async def sweep_uploads(database: Pool, blobs: BlobStore) -> int:
    """Remove one batch of uploads that expired; tell how many. What has a writer waits for the next turn.

    Raises: BlobStoreDown, DatabaseError and its siblings; then the rows stay.
    """
    async with database.transaction(OWN) as transaction:
        found = await transaction.all(SQL["expired"], _Expired, _BATCH)
        for each in found:
            await blobs.forget(each.version)
        await blobs.delete(blob(each.bucket_id, each.version) for each in found if not each.is_named)
        if found:
            await transaction.rows(SQL["forget"], msgspec.json.encode([each.version for each in found]))
    return len(found)
