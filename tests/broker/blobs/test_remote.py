"""Blobs in an S3 server: multipart uploads that are forgotten, servers that are away, secrets that stay secret."""

import asyncio
import os
from asyncio.subprocess import create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from sys import executable
from typing import Any
from uuid import uuid4

import obstore
import pytest

from broker.blobs import blob_names, remote, remote_writing
from broker.blobs.blob_names import OBJECTS, UPLOADS, BlobPath, blob, part
from broker.blobs.errors import BlobMissing, BlobStoreDown, BlobStoreFull
from broker.blobs.store import BlobStore
from schemas.keys.secret import Secret
from tests.broker.s3_server import KEY, S3Server

MIB = 1024 * 1024
MOST = 1024 * MIB

CRASH = """
import asyncio, os, sys
from pathlib import Path
from broker.blobs.store import BlobStore
from broker.blobs.blob_names import blob
from schemas.keys.secret import Secret
from schemas.settings.storage import S3, Storage

async def main(url, bucket, prefix, version, finished):
    secret = Secret("secret")
    s3 = S3(bucket, prefix, url, force_path_style=True, access_key_id=secret, secret_access_key=secret)
    store = BlobStore.open(Storage(backend="s3", s3=s3), Path("."))
    staging = store.stage(blob("bucket", version), limit=2**30)
    await staging.write(b"x" * 12 * 2**20)
    if finished == "yes":
        await staging.finish()
    else:
        await staging.write(b"x" * 2**20)  # waits for what was written before
    os.kill(os.getpid(), 9)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def prefix() -> str:
    return f"remote/{uuid4()}"


@pytest.fixture
async def store(s3: S3Server, prefix: str, tmp_path: Path) -> AsyncIterator[BlobStore]:
    store = BlobStore.open(s3.settings(prefix=prefix), tmp_path)
    yield store
    await store.close()


async def listed(store: BlobStore) -> list[BlobPath]:
    return [each.place for folder in (OBJECTS, UPLOADS) async for each in store.list(folder)]


async def test_a_blob_is_written_straight_to_its_name_under_the_prefix(
    store: BlobStore, s3: S3Server, prefix: str
) -> None:
    place = blob("bucket", uuid4())
    async with store.stage(place, limit=MOST) as staging:
        await staging.write(b"x")
        staged = await staging.finish()

    assert staged.name == staged.place == place
    assert s3.names(prefix) == [f"{prefix}/{place.name}"]


@pytest.mark.parametrize("size", [5 * MIB, 6 * MIB, 17 * MIB])
async def test_an_upload_in_parts_that_is_given_up_is_forgotten(
    store: BlobStore, s3: S3Server, prefix: str, size: int
) -> None:
    async with store.stage(blob("bucket", uuid4()), limit=MOST) as staging:
        for _ in range(size // MIB):
            await staging.write(b"x" * MIB)

    assert (s3.names(prefix), s3.begun(prefix)) == ([], [])


async def test_parts_are_alike_and_large_enough_for_the_longest_blob(
    store: BlobStore, s3: S3Server, prefix: str
) -> None:
    places = [blob("bucket", uuid4()), blob("bucket", uuid4())]
    for place, limit in zip(places, (MOST, 60_000 * MIB), strict=True):
        async with store.stage(place, limit=limit) as staging:
            await staging.write(b"x" * 13 * MIB)
            await staging.finish()

    etags = [
        s3.client.head_object(Bucket=s3.bucket, Key=f"{prefix}/{place.name}")["ETag"].strip('"')
        for place in places
    ]
    assert [etag.rpartition("-")[2] for etag in etags] == ["3", "3"]  # of 5 MiB, and of 6 MiB


@pytest.mark.parametrize(("finished", "left"), [("yes", 1), ("no", 0)])
async def test_a_crash_leaves_a_whole_blob_or_none(
    store: BlobStore, s3: S3Server, prefix: str, finished: str, left: int
) -> None:
    place = blob("bucket", uuid4())
    process = await create_subprocess_exec(
        executable, "-c", CRASH, s3.url, s3.bucket, prefix, str(place.version), finished
    )
    code = await process.wait()

    assert code == -9
    assert await listed(store) == [place] * left


async def test_a_bucket_that_does_not_exist_is_no_missing_blob(s3: S3Server, tmp_path: Path) -> None:
    store = BlobStore.open(s3.settings(bucket="nobody-made-it"), tmp_path)
    place = blob("bucket", uuid4())

    for asked in _everything(store, place):
        with pytest.raises(BlobStoreDown, match="NoSuchBucket"):
            await asked()
    await store.close()


async def test_a_server_that_is_away_is_told_without_any_secret(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.blobs.connect._RETRIES", 0)
    store = BlobStore.open(s3.settings(endpoint="http://127.0.0.1:9"), tmp_path)
    place = blob("bucket", uuid4())

    for asked in _everything(store, place):
        with pytest.raises(BlobStoreDown, match="no connection") as caught:
            await asked()
        assert not isinstance(caught.value, BlobStoreFull)
        assert KEY not in repr(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    await store.close()


def _everything(store: BlobStore, place: BlobPath) -> list[Callable[[], Awaitable[object]]]:
    """Give every way to ask a store."""

    async def read() -> None:
        async with store.read(place):
            pass

    async def range_of() -> None:
        async with store.read(place, 5, 10):
            pass

    async def write(size: int) -> None:
        async with store.stage(place, limit=MOST) as staging:
            for _ in range(size):
                await staging.write(b"x" * MIB)
            await staging.finish()

    return [
        store.check,
        read,
        range_of,
        lambda: store.stat(place),
        lambda: write(1),
        lambda: write(20),
        lambda: store.copy(place, blob("bucket", uuid4())),
        lambda: store.delete([place, part(uuid4(), 1)]),
        lambda: store.delete_folder(OBJECTS),
        lambda: store.appended(uuid4()),
        lambda: store.put_small(place, b"x"),
    ]


async def test_a_server_that_goes_away_amid_an_upload_is_told(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise FileNotFoundError("<Code>NoSuchUpload</Code>")

    monkeypatch.setattr(obstore, "put_async", broken)

    async def write() -> None:
        async with store.stage(blob("bucket", uuid4()), limit=MOST) as staging:
            for _ in range(20):
                await staging.write(b"x" * MIB)

    with pytest.raises(BlobStoreDown, match="NoSuchUpload"):
        await write()


async def test_many_are_deleted_where_a_store_stops_at_the_first_that_is_missing(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = obstore.delete_async
    places = [blob("bucket", uuid4()) for _ in range(3)]
    for place in places[::2]:
        await store.put_small(place, b"x")

    async def as_google_does(client: Any, names: Any) -> None:
        if isinstance(names, list) or names == places[1].name:
            raise FileNotFoundError(f"Object at location {places[1].name} not found")
        await delete(client, names)

    monkeypatch.setattr(obstore, "delete_async", as_google_does)
    await store.delete(places)

    assert await listed(store) == []


async def test_a_blob_that_the_store_cannot_copy_is_read_and_written(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = blob("one", uuid4()), blob("two", uuid4())
    await store.put_small(source, b"abc")

    async def refuse(*_: object) -> None:
        raise OSError("Server returned non-2xx status code: 400 Bad Request: <Code>EntityTooLarge</Code>")

    monkeypatch.setattr(obstore, "copy_async", refuse)
    with pytest.raises(BlobStoreDown, match=r"400 Bad Request.*EntityTooLarge"):
        await store.copy(source, target)
    monkeypatch.setattr(remote, "_LONGEST_COPY", 2)
    await store.copy(source, target)

    assert await store.get_small(target, limit=3) == b"abc"


async def test_a_long_append_is_cut_so_that_a_crash_loses_little(
    store: BlobStore, s3: S3Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_writing, "LONGEST_PIECE", 2 * MIB)
    upload, data = uuid4(), os.urandom(7 * MIB + 5)
    appending = await store.append(upload, 0, limit=MOST)
    for at in range(0, len(data), 65536):
        await appending.write(data[at : at + 65536])

    assert await store.appended(upload) >= 4 * MIB
    await appending.close()

    pieces = [each.place.offset async for each in store.list(blob_names.upload(upload))]
    staged = await store.complete(upload, blob("bucket", uuid4()))
    assert sorted(each for each in pieces if each is not None) == [0, 2 * MIB, 4 * MIB, 6 * MIB]
    assert await store.get_small(staged.place, limit=MOST) == data
    assert s3.begun(prefix) == []


async def test_names_of_others_are_neither_listed_nor_deleted(
    store: BlobStore, s3: S3Server, prefix: str
) -> None:
    s3.client.put_object(Bucket=s3.bucket, Key=f"{prefix}/objects/READ.ME", Body=b"")

    assert await listed(store) == []
    await store.delete_folder(OBJECTS)
    assert s3.names(prefix) == [f"{prefix}/objects/READ.ME"]


async def test_a_reader_that_leaves_early_is_fine(store: BlobStore) -> None:
    place = blob("bucket", uuid4())
    await store.put_small(place, os.urandom(8 * MIB))

    async with store.read(place) as reading:
        await anext(reading.chunks)
    task = asyncio.create_task(store.get_small(place, limit=MOST))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert len(await store.get_small(place, limit=MOST)) == 8 * MIB


async def test_a_wrong_key_is_told_as_such(s3: S3Server, tmp_path: Path) -> None:
    settings = s3.settings(access_key_id=Secret(""), secret_access_key=Secret(""))
    store = BlobStore.open(settings, tmp_path)

    assert store.local_path(blob("bucket", uuid4())) is None
    with pytest.raises((BlobStoreDown, BlobMissing)):
        await store.stat(blob("bucket", uuid4()))
    await store.close()
