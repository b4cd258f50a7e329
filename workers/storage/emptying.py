"""Emptying a bucket: all that was in it when it was asked for goes, in batches, whatever becomes of the process that began.

A row stands for the work until it is done. Every worker's sweep goes on with rows that nobody has in hand, so a worker that
dies leaves nothing half emptied for longer than a turn of the sweep. What was written, changed or moved in after the
request stays. Source: reference page "storage", section 5.
"""

from msgspec import Struct

from schemas.http import Request
from workers.database.interactive import Transaction
from workers.database.pool import Pool
from workers.sql.files import read_statements
from workers.storage.callers import SERVICE, Settings, settings_for

SQL = read_statements("workers.storage", "emptying.sql")

BATCH = 500
"""Objects that go in one transaction."""
_OPERATION = "storage.bucket.empty"


class Emptying(Struct, frozen=True):
    """A bucket that is being emptied. `request_id` is that of the request, told in events."""

    id: int
    bucket_id: str
    request_id: str


async def begin(database: Pool, bucket: str, request_id: str) -> Emptying:
    """Write down that a bucket shall be emptied of what is in it now. Raises: DatabaseError and its siblings."""
    async with database.transaction(_settings(bucket, request_id)) as transaction:
        rows = await transaction.rows(SQL["begin"], bucket, request_id)
    return Emptying(int(rows[0][0] or 0), bucket, request_id)


async def empty_batch(database: Pool, emptying: Emptying) -> bool:
    """Delete one batch; tell whether all is gone. Who else is at it is waited for. Raises: as `begin`."""
    async with database.transaction(_settings(emptying.bucket_id, emptying.request_id)) as transaction:
        if not await transaction.rows(SQL["take"], emptying.id):
            return True  # another worker has finished it
        return await _delete_batch(transaction, emptying.id)


async def finish(database: Pool, emptying: Emptying) -> None:
    """Delete batches until all is gone. Raises: as `begin`; then the sweep goes on."""
    while not await empty_batch(database, emptying):
        pass


async def sweep_emptyings(database: Pool) -> int:
    """Go on with every bucket that nobody has in hand; tell how many there were. Raises: as `begin`."""
    async with database.transaction(_settings("", "")) as transaction:
        left = await transaction.all(SQL["left"], Emptying)
    for each in left:
        await finish(database, each)
    return len(left)


async def _delete_batch(transaction: Transaction, id: int) -> bool:
    [(count,)] = await transaction.rows(SQL["delete_batch"], id, BATCH)
    if int(count or 0) == BATCH:
        return False
    await transaction.rows(SQL["end"], id)
    return True


def _settings(bucket: str, request_id: str) -> Settings:
    """Give the settings of the request, also where it is long gone: triggers see the same."""
    return settings_for(SERVICE, Request(request_id, "POST", f"/bucket/{bucket}/empty"), _OPERATION)
