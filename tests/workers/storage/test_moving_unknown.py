"""Moves and copies whose commit is not answered: the row may be there, so its bytes must be."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.workers.storage.storage_pool import StoragePool
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected
from workers.database.transactions.interactive import Transaction


class LosesAnswer:
    """A pool whose connection breaks, or whose server stops, in the moment a transaction has been committed."""

    def __init__(self, pool: ConnectionPool, error: Exception) -> None:
        self._pool, self._error = pool, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    @asynccontextmanager
    async def transaction(self, settings: Sequence[tuple[str, str]] = ()) -> AsyncIterator[Transaction]:
        async with self._pool.transaction(settings) as transaction:
            yield transaction
        raise self._error


@pytest.mark.parametrize("what", ["move", "copy"])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Disconnected("the server closed the connection"), 503),
        (DatabaseError("57P01", "terminating connection due to administrator command"), 500),
        (DatabaseError("57P02", "terminating connection because of crash of another server process"), 500),
        (DatabaseError("57014", "canceling statement due to user request"), 544),
    ],
    ids=["lost", "stopped", "crashed", "cancelled"],
)
async def test_bytes_stay_where_nobody_knows_of_the_row(
    storage_pool: StoragePool, what: str, error: Exception, status: int
) -> None:
    bucket, other = await storage_pool.bucket(), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"words")
    pool: Any = LosesAnswer(storage_pool.store.database, error)
    shaky = replace(storage_pool, store=replace(storage_pool.store, database=pool))
    told = {"bucketId": bucket, "sourceKey": "a", "destinationBucket": other, "destinationKey": "b"}

    answer = await shaky.send("POST", f"/object/{what}", told)

    assert answer.status == status
    assert await storage_pool.got(f"/object/{other}/b") == b"words"
