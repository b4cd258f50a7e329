"""Rows whose bytes are gone are told, once they are old enough, and only while they name them."""

import pytest

from broker.blobs.blob_names import blob
from tests.workers.storage.house import House
from workers.storage.model.observations import BlobsMissing
from workers.storage.sweeps import missing_blobs as module
from workers.storage.sweeps.missing_blobs import MissingBlobsSearch


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[BlobsMissing]:
    """What is observed."""
    seen: list[BlobsMissing] = []
    monkeypatch.setattr(module, "observe", seen.append)
    return seen


async def filled(house: House, count: int) -> tuple[str, list[str]]:
    """Make objects in a bucket of their own, and give their versions. Whatever other tests left is looked at first."""
    bucket = await house.bucket()
    for number in range(count):
        await house.uploaded(f"/object/{bucket}/{number}")
    return bucket, [await house.version(bucket, str(number)) or "" for number in range(count)]


async def looked(looking: MissingBlobsSearch, told: list[BlobsMissing]) -> set[str]:
    """Look once; give the versions that were told."""
    told.clear()
    count = await looking.search()
    assert count == sum(each.rows for each in told)
    return {version for each in told for version in each.versions.split()}


async def test_rows_whose_bytes_are_gone_are_told(
    house: House, told: list[BlobsMissing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_TOLD", 1000)
    bucket, versions = await filled(house, 5)
    looking = MissingBlobsSearch(house.store.database, house.blobs, age_s=-60)
    before = await looked(looking, told)
    await house.blobs.delete([blob(bucket, versions[1]), blob(bucket, versions[3])])

    assert await looked(looking, told) - before == {versions[1], versions[3]}
    assert await looked(MissingBlobsSearch(house.store.database, house.blobs), told) == set(), (
        "they are young yet"
    )
    await house.ok("DELETE", f"/object/{bucket}", {"prefixes": ["1", "3"]})
    assert not await looked(looking, told) & set(versions)


async def test_every_turn_goes_on_behind_the_last_one(
    house: House, told: list[BlobsMissing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 2)
    monkeypatch.setattr(module, "_BATCHES", 1)
    monkeypatch.setattr(module, "_MOST_TOLD", 1000)
    bucket, versions = await filled(house, 3)
    await house.blobs.delete([blob(bucket, version) for version in versions])
    looking = MissingBlobsSearch(house.store.database, house.blobs, age_s=-60)

    found: set[str] = set()
    rows = await house.value("select count(*) from storage.objects")
    for _ in range(rows // 2 + 1):
        found |= await looked(looking, told)

    assert set(versions) <= found


async def test_a_row_that_got_other_bytes_meanwhile_is_not_told(house: House) -> None:
    bucket, [version] = await filled(house, 1)
    row = module._Row(
        str(await house.value("select id from storage.objects where version = $1", version)), bucket, version
    )
    looking = MissingBlobsSearch(house.store.database, house.blobs)
    assert await looking._still([row]) == [version]

    await house.uploaded(f"/object/{bucket}/0", x_upsert="true")

    assert await looking._still([row]) == []
