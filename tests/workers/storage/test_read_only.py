"""A database that only takes reads (SQLSTATE 25006): a standby, or a server whose disk is full."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from schemas.http import Response
from schemas.settings.tree import Settings
from tests.workers.auth.auth_pool import at_role
from tests.workers.storage.storage_pool import StoragePool, told
from tests.workers.storage.tus_requests import Uploads
from workers.database.connection_pool.pool import ConnectionPool
from workers.storage.pool import LOGIN

WORDS = "The database is read-only, so nothing was written; reads still work. Try again later"


@pytest.fixture
async def read_only(storage_pool: StoragePool, database: str) -> AsyncIterator[StoragePool]:
    """The same worker with connections whose transactions are read-only."""
    setting = f"alter role {LOGIN} set default_transaction_read_only"
    await storage_pool.admin.execute(f"{setting} = on")
    try:
        url = at_role(database, LOGIN, Settings().db.password.reveal())
        pool = await ConnectionPool.open(url, 1)
    finally:
        await storage_pool.admin.execute(f"{setting} to default")
    yield replace(storage_pool, store=replace(storage_pool.store, database=pool))
    await asyncio.wait_for(pool.close(), 60)


def _said(response: Response) -> tuple[int, str | None, str]:
    return response.status, told(response, "retry-after"), json.loads(response.body)["message"]


async def test_writes_are_503_with_a_time_to_retry_and_reads_are_answered(
    storage_pool: StoragePool, read_only: StoragePool
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    copy = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}

    refused = [
        await read_only.put(f"/object/{bucket}/b"),
        await read_only.put(f"/object/{bucket}/a", method="PUT"),
        await read_only.put(f"/object/{bucket}/a", method="PUT", if_match="*"),
        await read_only.send("POST", "/object/copy", copy),
        await read_only.send("POST", "/object/move", copy),
        await read_only.send("DELETE", f"/object/{bucket}/a"),
        await read_only.send("DELETE", f"/object/{bucket}/a", if_match="*"),
        await read_only.send("POST", "/bucket", {"name": "never"}),
    ]

    assert [_said(response) for response in refused] == [(503, "1", WORDS)] * len(refused)
    assert await read_only.got(f"/object/{bucket}/a") == b"hello world"
    assert [row["name"] for row in await read_only.ok("POST", f"/object/list/{bucket}", {"prefix": ""})] == [
        "a"
    ]
    assert (await read_only.ok("GET", f"/object/info/{bucket}/a"))["size"] == 11
    assert await read_only.ok("POST", f"/object/sign/{bucket}/a", {"expiresIn": 60})


async def test_resumable_upload_is_503_as_well(storage_pool: StoragePool, read_only: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    refused = await Uploads(read_only).create(bucket, "a", 3)

    assert (refused.status, told(refused, "retry-after"), refused.body.decode()) == (503, "1", WORDS)
