"""Removal of resumable (TUS) and multipart (S3) uploads that were not finished in time: first their bytes, then their rows.

The client learns when an upload expires at its start: `storage.tus_expiry`, `storage.s3_protocol.upload_expiry`. An upload
that is written or completed at this moment keeps its row locked; the sweep skips it until the next run. A finished upload
keeps its object; only its row is deleted.
Source: docs/reference/storage.md, sections 9 and 10.
"""

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import blob
from broker.blobs.store import BlobStore
from workers.database.connection_pool.pool import ConnectionPool
from workers.sql.files import read_statements
from workers.storage.tus.rows import LOGIN_ROLE_SETTINGS
from workers.storage.tus.rows import SQL as TUS_SQL

_SQL = read_statements("workers.storage.sweeps", "expired_uploads.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_BATCH = 100


class _ExpiredUpload(Struct, frozen=True):
    bucket_id: str
    version: str
    is_named: bool
    """The row of an object has this version, so its blob is kept."""


async def sweep_resumable_uploads(database: ConnectionPool, blobs: BlobStore) -> int:
    """Remove one batch of expired resumable uploads and return their number. Uploads with a writer are skipped.

    Raises: BlobStoreDown, DatabaseError and its siblings; then the rows stay.
    """
    async with database.transaction(LOGIN_ROLE_SETTINGS) as transaction:
        expired = await transaction.all(TUS_SQL["expired"], _ExpiredUpload, _BATCH)
        for upload in expired:
            await blobs.forget(upload.version)
        await blobs.delete(
            blob(upload.bucket_id, upload.version) for upload in expired if not upload.is_named
        )
        if expired:
            versions = [upload.version for upload in expired]
            await transaction.rows(TUS_SQL["forget"], msgspec.json.encode(versions))
    return len(expired)


async def sweep_multipart_uploads(database: ConnectionPool, blobs: BlobStore) -> int:
    """Abort one batch of expired multipart uploads and return their number. A recent part prolongs its upload.

    Raises: BlobStoreDown, DatabaseError and its siblings; then the rows stay.
    """
    async with database.transaction(_SETTINGS) as transaction:
        rows = await transaction.rows(_SQL["expired"], _BATCH)
        ids = [(row[0] or b"").decode() for row in rows]
        for id in ids:
            await blobs.forget(id)
        if ids:
            await transaction.rows(_SQL["abort"], msgspec.json.encode(ids))
    return len(ids)
