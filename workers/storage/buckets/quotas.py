"""Quotas: how many bytes a bucket, or all buckets together, may hold, and how many they do.

Triggers count bytes and reject a write beyond the quota (`schemas/migrations/storage/0021_quotas.sql`): objects are
written in many ways, and only the database can order concurrent uploads. This module reads and sets quotas. An upload
learns its remaining bytes with the rules of its bucket (`rows.py`), before its bytes arrive.

All functions raise DatabaseError, Disconnected, PoolTimeout.
"""

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import Statement, TransactionSpec
from workers.sql.files import read_statements
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest

SQL = read_statements("workers.storage.buckets", "quotas.sql")


async def read_usage(context: StorageContext, request: StorageRequest, bucket: str) -> bytes:
    """Return usage and quota of a bucket as a JSON object, from the counters, so it is fast for any number of objects."""
    return (await context.read(request.as_service(), statement(SQL["usage"], bucket)))[0][0][0] or b"{}"


def set_quota_statement(bucket: str, size: int | None) -> Statement:
    """Return the statement that sets a bucket's quota, as the service role; None removes it."""
    return statement(SQL["set"], bucket, size)


async def set_quota_in_all(database: ConnectionPool, size: int | None) -> None:
    """Set the quota of all buckets together, as the login role; None removes it."""
    await database.run(TransactionSpec((("search_path", "storage"),), [statement(SQL["set_in_all"], size)]))
