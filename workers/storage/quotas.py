"""Quotas: how many bytes a bucket, or all of them together, may hold, and how many they do.

Triggers count, and refuse what would pass a quota, whoever writes (`schemas/migrations/storage/0021_quotas.sql`): objects
are written in many ways, and only there uploads at the same time can be told from one another. Here a quota is read and
set; how many bytes there is room for is told to an upload with the rules of its bucket (buckets.py), before they come.

Raises, all of them: DatabaseError, Disconnected, PoolTimeout.
"""

from workers.database.interactive import statement
from workers.database.pool import Pool
from workers.database.session import Statement, Work
from workers.sql.files import read_statements
from workers.storage.asked import Asked
from workers.storage.context import Store

SQL = read_statements("workers.storage", "quotas.sql")


async def usage(store: Store, asked: Asked, bucket: str) -> bytes:
    """Give what a bucket holds, and its quota, as the JSON of an object: from the counts, however full it is."""
    return (await store.run(asked.as_service(), statement(SQL["usage"], bucket)))[0][0][0] or b"{}"


def setting(bucket: str, size: int | None) -> Statement:
    """Give the statement that sets a bucket's quota, as the service role; None lifts it."""
    return statement(SQL["set"], bucket, size)


async def set_quota_in_all(database: Pool, size: int | None) -> None:
    """Set the quota of all buckets together, as the login role; None lifts it."""
    await database.run(Work((("search_path", "storage"),), [statement(SQL["set_in_all"], size)]))
