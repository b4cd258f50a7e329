"""Rows whose bytes are gone are told, once they are old enough, and only while they name them."""

import pytest

from broker.blobs.blob_names import blob
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.model.observations import BlobsMissing
from workers.storage.sweeps import missing_blobs as module
from workers.storage.sweeps.missing_blobs import MissingBlobsSearch


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[BlobsMissing]:
    """What is observed."""
    seen: list[BlobsMissing] = []
    monkeypatch.setattr(module, "observe", seen.append)
    return seen


async def filled(storage_pool: StoragePool, count: int) -> tuple[str, list[str]]:
    """Make objects in a bucket of their own, and give their versions. Whatever other tests left is looked at first."""
    bucket = await storage_pool.bucket()
    for number in range(count):
        await storage_pool.uploaded(f"/object/{bucket}/{number}")
    return bucket, [await storage_pool.version(bucket, str(number)) or "" for number in range(count)]


async def looked(looking: MissingBlobsSearch, told: list[BlobsMissing]) -> set[str]:
    """Look once; give the versions that were told."""
    told.clear()
    count = await looking.search()
    assert count == sum(each.rows for each in told)
    return {version for each in told for version in each.versions.split()}


async def test_rows_whose_bytes_are_gone_are_told(
    storage_pool: StoragePool, told: list[BlobsMissing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_TOLD", 1000)
    bucket, versions = await filled(storage_pool, 5)
    looking = MissingBlobsSearch(storage_pool.store.database, storage_pool.blobs, age_s=-60)
    before = await looked(looking, told)
    await storage_pool.blobs.delete([blob(bucket, versions[1]), blob(bucket, versions[3])])

    assert await looked(looking, told) - before == {versions[1], versions[3]}
    assert await looked(MissingBlobsSearch(storage_pool.store.database, storage_pool.blobs), told) == set(), (
        "they are young yet"
    )
    await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefixes": ["1", "3"]})
    assert not await looked(looking, told) & set(versions)


async def test_every_turn_goes_on_behind_the_last_one(
    storage_pool: StoragePool, told: list[BlobsMissing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 2)
    monkeypatch.setattr(module, "_BATCHES", 1)
    monkeypatch.setattr(module, "_MOST_TOLD", 1000)
    bucket, versions = await filled(storage_pool, 3)
    await storage_pool.blobs.delete([blob(bucket, version) for version in versions])
    looking = MissingBlobsSearch(storage_pool.store.database, storage_pool.blobs, age_s=-60)

    found: set[str] = set()
    rows = await storage_pool.value("select count(*) from storage.objects")
    for _ in range(rows // 2 + 1):
        found |= await looked(looking, told)

    assert set(versions) <= found


async def test_a_row_that_got_other_bytes_meanwhile_is_not_told(storage_pool: StoragePool) -> None:
    bucket, [version] = await filled(storage_pool, 1)
    row = module._Row(
        str(await storage_pool.value("select id from storage.objects where version = $1", version)),
        bucket,
        version,
    )
    looking = MissingBlobsSearch(storage_pool.store.database, storage_pool.blobs)
    assert await looking._still([row]) == [version]

    await storage_pool.uploaded(f"/object/{bucket}/0", x_upsert="true")

    assert await looking._still([row]) == []
