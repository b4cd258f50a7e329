"""Short blobs on a local disk: many at once, errors of one of them, what a full staging area leaves."""

import asyncio
import os
from pathlib import Path
from uuid import uuid4

import pytest

from broker.blobs.blob_names import BlobPath, blob
from broker.blobs.errors import BlobStoreDown, StagingFull
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from schemas.settings.types import Size


def new() -> BlobPath:
    return blob("bucket", uuid4())


async def test_a_short_blob_is_private_and_whole(tmp_path: Path) -> None:
    store, place = BlobStore.open(Storage(), tmp_path), new()

    await store.put_short(place, b"some bytes")

    path = store.local_path(place)
    assert path is not None
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"some bytes", 0o600)
    assert await store.get_small(place, limit=100) == b"some bytes"
    await store.close()


async def test_many_short_blobs_at_once_have_their_own_bytes(tmp_path: Path) -> None:
    store = BlobStore.open(Storage(), tmp_path)
    places = {new(): os.urandom(number * 100) for number in range(100)}

    await asyncio.gather(*(store.put_short(place, data) for place, data in places.items()))

    for place, data in places.items():
        assert await store.get_small(place, limit=100_000) == data
    await store.close()


async def test_an_error_of_one_blob_is_not_one_of_the_others(tmp_path: Path) -> None:
    store, places = BlobStore.open(Storage(), tmp_path), [new() for _ in range(60)]
    await store.put_short(places[7], b"was there")

    results = await asyncio.gather(
        *(store.put_short(place, b"x") for place in places), return_exceptions=True
    )

    assert isinstance(results[7], BlobStoreDown)
    assert [result for result in results if result is not None] == [results[7]]
    assert await store.get_small(places[7], limit=100) == b"was there"
    assert await store.get_small(places[8], limit=100) == b"x"
    await store.close()


async def test_a_full_staging_area_takes_no_short_blob(tmp_path: Path) -> None:
    store, place = BlobStore.open(Storage(staging_limit=Size(4)), tmp_path), new()

    with pytest.raises(StagingFull):
        await store.put_short(place, b"too long")

    path = store.local_path(place)
    assert path is not None
    assert not path.exists()
    await store.close()


async def test_a_cancelled_caller_does_not_stop_the_others(tmp_path: Path) -> None:
    store, places = BlobStore.open(Storage(), tmp_path), [new() for _ in range(40)]
    writing = [asyncio.create_task(store.put_short(place, b"x")) for place in places]
    await asyncio.sleep(0)

    writing[3].cancel()
    results = await asyncio.gather(*writing, return_exceptions=True)

    assert [number for number, result in enumerate(results) if result is not None] == [3]
    await store.close()
