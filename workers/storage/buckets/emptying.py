"""Empty a bucket: delete, in batches, everything that was in it when the request came.

A row records the work until it is done. It is written together with the first batch, so that a bucket whose emptying was
refused is not emptied later. If a worker stops, the sweep of any other worker continues with rows that are
not locked, so a bucket is never half emptied for longer than the interval of the sweep. Objects that were written,
changed or moved in after the request stay. Source: docs/reference/storage.md, section 5.
"""

from msgspec import Struct

from schemas.http import Request
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements
from workers.storage.requests.identity import SERVICE, SessionSettings, settings_for

SQL = read_statements("workers.storage.buckets", "emptying.sql")

BATCH = 500
"""Objects deleted in one transaction."""
_OPERATION = "storage.bucket.empty"


class BucketEmptying(Struct, frozen=True):
    """A bucket that is being emptied. `request_id` is written to the events."""

    id: int
    bucket_id: str
    request_id: str


async def start_emptying(database: ConnectionPool, bucket: str, request_id: str) -> BucketEmptying | None:
    """Insert the row that records the work, and delete the first batch; return None if the bucket is done with it.

    Raises: DatabaseError and its siblings; then nothing was begun.
    """
    async with database.transaction(_settings(bucket, request_id)) as transaction:
        rows = await transaction.rows(SQL["begin"], bucket, request_id)
        emptying = BucketEmptying(int(rows[0][0] or 0), bucket, request_id)
        is_done = await _delete_batch(transaction, emptying.id)
    return None if is_done else emptying


async def empty_batch(database: ConnectionPool, emptying: BucketEmptying) -> bool:
    """Delete one batch; return whether the bucket is done. Waits for another worker's lock.

    Raises: as `start_emptying`.
    """
    async with database.transaction(_settings(emptying.bucket_id, emptying.request_id)) as transaction:
        if not await transaction.rows(SQL["take"], emptying.id):
            return True  # another worker has finished it
        return await _delete_batch(transaction, emptying.id)


async def finish_emptying(database: ConnectionPool, emptying: BucketEmptying) -> None:
    """Delete batches until the bucket is done. Raises: as `start_emptying`; then the sweep continues."""
    while not await empty_batch(database, emptying):
        pass


async def sweep_emptyings(database: ConnectionPool) -> int:
    """Continue every unfinished bucket that is not locked; return their number.

    Raises: as `start_emptying`; DatabaseError only after all others were continued: what forbids one must not keep them waiting.
    """
    async with database.transaction(_settings("", "")) as transaction:
        unfinished = await transaction.all(SQL["left"], BucketEmptying)
    failure: DatabaseError | None = None
    for emptying in unfinished:
        try:
            await finish_emptying(database, emptying)
        except DatabaseError as error:  # a trigger or a foreign key of the project forbids it
            failure = error
    if failure is not None:
        raise failure
    return len(unfinished)


async def _delete_batch(transaction: Transaction, id: int) -> bool:
    [(count,)] = await transaction.rows(SQL["delete_batch"], id, BATCH)
    if int(count or 0) == BATCH:
        return False
    await transaction.rows(SQL["end"], id)
    return True


def _settings(bucket: str, request_id: str) -> SessionSettings:
    """Return the settings of the original request, even after it ended, so that triggers see the same."""
    return settings_for(SERVICE, Request(request_id, "POST", f"/bucket/{bucket}/empty"), _OPERATION)
