"""The cache of renditions: the oldest go when there is too much, what is too old goes, the young stays."""

import os
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from broker.blobs import blob_names
from broker.blobs.model import BlobInfo
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.renditions import cache_sweep
from workers.storage.renditions.cache_sweep import RenditionCacheLimits, oldest_beyond, sweep_renditions

PLENTY = 10**12
DAY_S = 86400.0


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[BlobStore]:
    """A store of the test's own: limits hold for all that lies in one."""
    store = BlobStore.open(Storage(), tmp_path)
    yield store
    await store.close()


async def picture(blobs: BlobStore, size: int) -> blob_names.BlobPath:
    place = blob_names.transform(uuid.uuid4(), "key")
    await blobs.put_small(place, b"x" * size)
    return place


async def kept(blobs: BlobStore) -> set[blob_names.BlobPath]:
    return {each.place async for each in blobs.list(blob_names.TRANSFORMS)}


def aged(monkeypatch: pytest.MonkeyPatch, blobs: BlobStore, ages_s: dict[blob_names.BlobPath, float]) -> None:
    """Have the store say that blobs are older than they are: their time cannot be set from outside."""
    backend = blobs._backend
    listed = backend.list

    async def told(folder: blob_names.BlobFolder) -> AsyncIterator[BlobInfo]:
        async for each in listed(folder):
            yield BlobInfo(
                each.place, each.size, each.modified - timedelta(seconds=ages_s.get(each.place, 0.0))
            )

    monkeypatch.setattr(backend, "list", told)


async def test_oldest_go_when_there_is_too_much(
    storage_pool: StoragePool, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await picture(blobs, 100) for _ in range(5)]
    aged(monkeypatch, blobs, {place: (5 - number) * 3600.0 for number, place in enumerate(made)})

    gone = await sweep_renditions(storage_pool.store.database, blobs, RenditionCacheLimits(250, 30 * DAY_S))

    assert gone == 3
    assert await kept(blobs) == set(made[3:])


async def test_what_is_too_old_goes(
    storage_pool: StoragePool, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, young = await picture(blobs, 10), await picture(blobs, 10)
    aged(monkeypatch, blobs, {old: 31 * DAY_S, young: 29 * DAY_S})

    assert (
        await sweep_renditions(storage_pool.store.database, blobs, RenditionCacheLimits(PLENTY, 30 * DAY_S))
        == 1
    )
    assert await kept(blobs) == {young}


async def test_of_one_minute_only_so_many_go_as_are_too_much(
    storage_pool: StoragePool, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await picture(blobs, 100) for _ in range(6)]
    monkeypatch.setattr(cache_sweep, "_minute", lambda _: 7)
    aged(monkeypatch, blobs, dict.fromkeys(made, 3600.0))

    await sweep_renditions(storage_pool.store.database, blobs, RenditionCacheLimits(300, DAY_S))

    assert len(await kept(blobs)) == 3


async def test_what_was_made_just_now_stays(storage_pool: StoragePool, blobs: BlobStore) -> None:
    made = await picture(blobs, 100)

    assert await sweep_renditions(storage_pool.store.database, blobs, RenditionCacheLimits(0, 0)) == 0
    assert await kept(blobs) == {made}


async def test_what_is_being_written_stays(storage_pool: StoragePool, blobs: BlobStore) -> None:
    place = blob_names.transform(uuid.uuid4(), "key")
    async with blobs.stage(place, limit=100) as staging:
        await staging.write(b"first half")
        await sweep_renditions(storage_pool.store.database, blobs, RenditionCacheLimits(0, 0, young_s=-60))
        await staging.write(b"second half")
        staged = await staging.finish()
    await blobs.promote(staged)

    assert await kept(blobs) == {place}
    assert os.path.getsize(blobs.local_path(place) or "") == 21


async def test_nothing_is_looked_through_twice_where_all_has_room(
    storage_pool: StoragePool, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await picture(blobs, 100)
    looks = 0
    listed = blobs._backend.list

    def counted(folder: blob_names.BlobFolder) -> AsyncIterator[BlobInfo]:
        nonlocal looks
        looks += 1
        return listed(folder)

    monkeypatch.setattr(blobs._backend, "list", counted)
    await sweep_renditions(storage_pool.store.database, blobs, RenditionCacheLimits(PLENTY, DAY_S))

    assert looks == 1


async def test_one_worker_at_a_time_looks(storage_pool: StoragePool, blobs: BlobStore) -> None:
    made = await picture(blobs, 100)
    key = "hashtextextended('headwater storage renditions', 0)"

    await storage_pool.admin.execute(f"select pg_advisory_lock({key})")
    try:
        assert (
            await sweep_renditions(
                storage_pool.store.database, blobs, RenditionCacheLimits(0, 0, young_s=-60)
            )
            == 0
        )
    finally:
        await storage_pool.admin.execute(f"select pg_advisory_unlock({key})")

    assert await kept(blobs) == {made}


def test_cut_leaves_what_has_room() -> None:
    by_minute = Counter({1: 10, 2: 20, 3: 30})

    assert oldest_beyond(by_minute, 60) is None
    assert oldest_beyond(by_minute, 55) == (1, 5)
    assert oldest_beyond(by_minute, 50) == (1, 10)
    assert oldest_beyond(by_minute, 45) == (2, 5)
    assert oldest_beyond(by_minute, 0) == (3, 30)
    assert oldest_beyond(Counter(), 0) is None
