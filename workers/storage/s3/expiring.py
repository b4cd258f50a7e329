"""Multipart uploads that nobody goes on with: their parts go, then their rows. How long one waits is told when it begins.

An upload that is being completed keeps its row locked, and is left for the next turn.
Source: reference page "storage", section 10; `storage.s3_protocol.upload_expiry`.
"""

import msgspec

from broker.blobs.store import BlobStore
from workers.database.pool import Pool
from workers.sql.files import read_statements

_SQL = read_statements("workers.storage.s3", "expiring.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_BATCH = 100


async def sweep_multipart_uploads(database: Pool, blobs: BlobStore) -> int:
    """Abort one batch of uploads whose time is over; tell how many. A part that came lately keeps its upload.

    Raises: BlobStoreDown, DatabaseError and its siblings; then the rows stay.
    """
    async with database.transaction(_SETTINGS) as transaction:
        rows = await transaction.rows(_SQL["expired"], _BATCH)
        found = [(row[0] or b"").decode() for row in rows]
        for id in found:
            await blobs.forget(id)
        if found:
            await transaction.rows(_SQL["abort"], msgspec.json.encode(found))
    return len(found)
