"""Moves and copies whose commit is not answered: the row may be there, so its bytes must be."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.workers.storage.house import House
from workers.database.errors import Disconnected
from workers.database.interactive import Transaction
from workers.database.pool import Pool


class LosesAnswer:
    """A pool whose connection breaks in the moment a transaction has been committed."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    @asynccontextmanager
    async def transaction(self, settings: Sequence[tuple[str, str]] = ()) -> AsyncIterator[Transaction]:
        async with self._pool.transaction(settings) as transaction:
            yield transaction
        raise Disconnected("the server closed the connection")


@pytest.mark.parametrize("what", ["move", "copy"])
async def test_bytes_stay_where_nobody_knows_of_the_row(house: House, what: str) -> None:
    bucket, other = await house.bucket(), await house.bucket()
    await house.uploaded(f"/object/{bucket}/a", b"words")
    pool: Any = LosesAnswer(house.store.database)
    shaky = replace(house, store=replace(house.store, database=pool))
    told = {"bucketId": bucket, "sourceKey": "a", "destinationBucket": other, "destinationKey": "b"}

    answer = await shaky.send("POST", f"/object/{what}", told)

    assert answer.status == 503
    assert await house.got(f"/object/{other}/b") == b"words"
