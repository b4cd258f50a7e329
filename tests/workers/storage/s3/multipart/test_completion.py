"""Completing a multipart upload more than once, at the same time: one object, its bytes, and no others."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import uuid4

import pytest

from broker.blobs import blob_names
from broker.blobs.blob_names import OBJECTS, BlobPath
from broker.blobs.model import OpenBlob, StagedBlob
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from tests.broker.s3_server import S3Server, running_s3
from tests.workers.storage.s3.uploading import Upload, fresh_key, replaced
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.s3.multipart.completion import SMALLEST_PART, attempt_version, is_version_of
from workers.storage.s3.protocol.errors import S3Error

ONE, TWO = b"one " * (SMALLEST_PART // 4), b"two " * 1000
DEADLINE_S = 60

Open = Callable[[], BlobStore]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture(params=["disk", "outside"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Open the same store again and again: each worker has its own."""
    opened: list[BlobStore] = []
    settings = Storage(path=str(tmp_path))
    if request.param == "outside":
        settings = request.getfixturevalue("s3").settings(prefix=f"race/{uuid4()}")

    def one() -> BlobStore:
        opened.append(BlobStore.open(settings, tmp_path))
        return opened[-1]

    yield one
    for each in opened:
        await each.close()


async def begun(storage_pool: StoragePool, blobs: BlobStore) -> Upload:
    """Begin an upload with two parts."""
    bucket = await storage_pool.bucket()
    upload = await Upload(replaced(storage_pool.store, blobs), bucket, fresh_key()).begin()
    await upload.part(1, ONE)
    await upload.part(2, TWO)
    return upload


async def whole(storage_pool: StoragePool, upload: Upload, blobs: BlobStore) -> bytes:
    """Give the bytes of the object, once nothing else lies in the store."""
    version = await storage_pool.version(upload.bucket, upload.key)
    assert version
    place = blob_names.blob(upload.bucket, version)
    assert [each.place async for each in blobs.list(OBJECTS)] == [place]
    assert [each async for each in blobs.list(blob_names.UPLOADS)] == []
    return await blobs.get_small(place, limit=len(ONE + TWO))


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


async def test_two_at_once_that_have_both_joined_make_one_object(
    storage_pool: StoragePool, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_store(), open_store()
    upload = await begun(storage_pool, first)
    together = asyncio.Barrier(2)
    for blobs in (first, second):
        join = blobs.join

        async def joined(
            parts: list[BlobPath], place: BlobPath, join: Callable[..., object] = join
        ) -> StagedBlob:
            staged: StagedBlob = await join(parts, place)  # type: ignore[misc]  # a method, bound above
            await together.wait()
            return staged

        monkeypatch.setattr(blobs, "join", joined)

    async with asyncio.timeout(DEADLINE_S):
        told = await asyncio.gather(upload.complete(1, 2), upload.complete(1, 2, blobs=second))

    assert told == [md5(ONE + TWO)] * 2
    assert await whole(storage_pool, upload, first) == ONE + TWO


async def test_who_is_late_with_other_parts_changes_nothing(
    storage_pool: StoragePool, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_store(), open_store()
    upload = await begun(storage_pool, first)
    has_joined, may_go_on = asyncio.Event(), asyncio.Event()
    join = second.join

    async def late(parts: list[BlobPath], place: BlobPath) -> StagedBlob:
        staged = await join(parts, place)
        has_joined.set()
        await may_go_on.wait()
        return staged

    monkeypatch.setattr(second, "join", late)
    other = asyncio.ensure_future(upload.complete(2, blobs=second))

    async with asyncio.timeout(DEADLINE_S):
        await has_joined.wait()
        made = await upload.complete(1, 2)
        may_go_on.set()
        told = await other

    assert made == told == md5(ONE + TWO)
    assert await whole(storage_pool, upload, first) == ONE + TWO


async def test_who_loses_the_parts_while_he_reads_them_takes_nothing_away(
    storage_pool: StoragePool, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_store(), open_store()
    upload = await begun(storage_pool, first)
    begins, may_go_on, count = asyncio.Event(), asyncio.Event(), 0
    read = second.read

    def slowly(
        place: BlobPath, start: int = 0, stop: int | None = None
    ) -> AbstractAsyncContextManager[OpenBlob]:
        return Slow(read(place, start, stop))

    class Slow(AbstractAsyncContextManager[OpenBlob]):
        """The second part is read when it is gone."""

        def __init__(self, inner: AbstractAsyncContextManager[OpenBlob]) -> None:
            self.inner = inner

        async def __aenter__(self) -> OpenBlob:
            nonlocal count
            count += 1
            if count == 2:
                begins.set()
                await may_go_on.wait()
            return await self.inner.__aenter__()

        async def __aexit__(self, *error: object) -> bool | None:
            return await self.inner.__aexit__(*error)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(second, "read", slowly)
    other = asyncio.ensure_future(upload.complete(1, 2, blobs=second))

    async with asyncio.timeout(DEADLINE_S):
        await begins.wait()
        made = await upload.complete(1, 2)
        may_go_on.set()
        told = await other

    assert made == told == md5(ONE + TWO)
    assert await whole(storage_pool, upload, first) == ONE + TWO


async def test_an_abort_while_parts_are_joined_leaves_nothing(
    storage_pool: StoragePool, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = open_store()
    upload = await begun(storage_pool, blobs)
    join = blobs.join

    async def joined(parts: list[BlobPath], place: BlobPath) -> StagedBlob:
        staged = await join(parts, place)
        assert await upload.abort() == 204
        return staged

    monkeypatch.setattr(blobs, "join", joined)

    with pytest.raises(S3Error) as refused:
        await upload.complete(1, 2)

    assert refused.value.code == "NoSuchUpload"
    assert await storage_pool.version(upload.bucket, upload.key) is None
    assert [each async for each in blobs.list(OBJECTS)] == []
    assert [each async for each in blobs.list(blob_names.UPLOADS)] == []


async def test_a_completion_that_the_database_refuses_can_be_tried_again(
    storage_pool: StoragePool, open_store: Open
) -> None:
    blobs = open_store()
    upload = await begun(storage_pool, blobs)
    await storage_pool.admin.execute(
        f"alter table storage.objects add constraint no_{upload.key[4:]} check (name <> '{upload.key}') not valid"
    )

    with pytest.raises(Exception, match="violates check constraint"):
        await upload.complete(1, 2)

    await storage_pool.admin.execute(f"alter table storage.objects drop constraint no_{upload.key[4:]}")
    assert [each async for each in blobs.list(OBJECTS)] == []
    assert await upload.complete(1, 2) == md5(ONE + TWO)
    assert await whole(storage_pool, upload, blobs) == ONE + TWO


def test_versions_of_tries_begin_like_their_upload_and_differ() -> None:
    id = str(uuid4())
    versions = {attempt_version(id) for _ in range(50)}

    assert len(versions) == 50
    assert all(is_version_of(version, id) for version in versions)
    assert not is_version_of(str(uuid4()), id)
    assert not is_version_of(None, id)
    assert not is_version_of("no uuid", id)
