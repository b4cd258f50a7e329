"""The blob store: what it promises wherever the bytes lie, on a local disk and in servers of S3, Google and Azure."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from broker.blobs import blob_names
from broker.blobs.blob_names import (
    OBJECTS,
    STAGING,
    TRANSFORMS,
    UPLOADS,
    BlobFolder,
    BlobPath,
    blob,
    part,
    transform,
)
from broker.blobs.errors import BlobMissing, BlobOffset, BlobStoreDown, BlobTooLarge
from broker.blobs.model import BlobInfo, StagedBlob
from broker.blobs.staging import UploadAppender
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from tests.broker.azure_server import AzureServer
from tests.broker.gcs_server import GcsServer
from tests.broker.memory import peaks
from tests.broker.s3_server import S3Server

pytestmark = pytest.mark.timeout(600)
"""The first test of Azure installs its server."""

MIB = 1024 * 1024
MOST = 1024 * MIB
LONG = 64 * MIB

HOSTILE = [
    "../../etc/passwd",
    "..",
    ".",
    "/",
    "\\..\\",
    "a/b",
    "nul\x00nul",
    "\ud800",
    "Ünïcode 図 🗂",
    "staging",
    "uploads",
    "",
    " ",
    "x" * 5000,
    "%2e%2e%2f",
    "CON",
]


ON_NODE = [
    pytest.mark.node,
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture(params=["disk", "s3", "gcs", pytest.param("azure", marks=ON_NODE)])
def store_settings(request: pytest.FixtureRequest) -> Storage:
    """Settings of a store of each kind."""
    if request.param == "disk":
        return Storage()
    server: S3Server | AzureServer | GcsServer = request.getfixturevalue(request.param)
    return server.settings(prefix=f"test/{uuid4()}")


@pytest.fixture
async def store(store_settings: Storage, tmp_path: Path) -> AsyncIterator[BlobStore]:
    """A store of each kind."""
    store = BlobStore.open(store_settings, tmp_path)
    yield store
    await store.close()


def new() -> BlobPath:
    return blob("bucket", uuid4())


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


async def written(store: BlobStore, place: BlobPath, data: bytes, size: int = 65536) -> StagedBlob:
    """Stage and promote."""
    async with store.stage(place, limit=MOST) as staging:
        for chunk in pieces(data, size):
            await staging.write(chunk)
        staged = await staging.finish()
    await store.promote(staged)
    return staged


async def content(store: BlobStore, place: BlobPath, start: int = 0, stop: int | None = None) -> bytes:
    async with store.read(place, start, stop) as reading:
        return b"".join([chunk async for chunk in reading.chunks])


async def listed(store: BlobStore, folder: BlobFolder, older_than: datetime | None = None) -> list[BlobPath]:
    return sorted([each.place async for each in store.list(folder, older_than)])


async def everything(store: BlobStore) -> list[BlobPath]:
    return [
        each for folder in (OBJECTS, STAGING, UPLOADS, TRANSFORMS) for each in await listed(store, folder)
    ]


async def appended(store: BlobStore, upload: str, at: int, data: bytes, limit: int = MOST) -> int:
    async with await store.append(upload, at, limit=limit) as appending:
        for chunk in pieces(data, 65536):
            await appending.write(chunk)
    return appending.offset


@pytest.mark.parametrize("size", [0, 1, 1000, MIB - 1, MIB, MIB + 1, 5 * MIB, 5 * MIB + 1, 12 * MIB + 345])
@pytest.mark.parametrize("chunk", [4096, 300_000, 20 * MIB])
async def test_what_is_written_is_read_back(store: BlobStore, size: int, chunk: int) -> None:
    data, place = os.urandom(size), new()

    staged = await written(store, place, data, chunk)

    assert (staged.size, staged.md5, staged.place) == (size, md5(data), place)
    assert await content(store, place) == data
    assert (await store.stat(place)).size == size
    assert await everything(store) == [place]


async def test_a_long_stream_takes_little_memory(store_settings: Storage, tmp_path: Path) -> None:
    found = await asyncio.to_thread(peaks, store_settings, tmp_path, LONG)

    assert found["written"] < LONG // 4, found
    assert found["read"] < LONG // 4, found


@pytest.mark.parametrize("size", [0, 10, 3 * MIB, 12 * MIB])
async def test_what_is_aborted_leaves_nothing(store: BlobStore, size: int) -> None:
    async with store.stage(new(), limit=MOST) as staging:
        await staging.write(b"x" * size)
        await staging.abort()
        await staging.abort()

    assert await everything(store) == []


async def test_what_is_not_finished_is_aborted(store: BlobStore) -> None:
    async def write() -> None:
        async with store.stage(new(), limit=MOST) as staging:
            await staging.write(b"x" * 8 * MIB)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await write()

    assert await everything(store) == []


@pytest.mark.parametrize("size", [MIB + 1, 9 * MIB])
async def test_a_writer_that_is_cancelled_leaves_nothing(store: BlobStore, size: int) -> None:
    writing = asyncio.Event()

    async def write_on() -> None:
        async with store.stage(new(), limit=MOST) as staging:
            await staging.write(b"x" * size)
            writing.set()
            while True:
                await staging.write(b"x" * 65536)
                await asyncio.sleep(0)

    task = asyncio.create_task(write_on())
    await writing.wait()
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert await everything(store) == []


@pytest.mark.parametrize("size", [10, 8 * MIB])
async def test_a_writer_that_is_cancelled_while_it_finishes_leaves_nothing(
    store: BlobStore, size: int
) -> None:
    async def write() -> None:
        async with store.stage(new(), limit=MOST) as staging:
            await staging.write(b"x" * size)
            asyncio.get_running_loop().call_soon(task.cancel)
            await staging.finish()

    task = asyncio.create_task(write())
    await asyncio.wait([task])

    assert task.cancelled()
    assert await everything(store) == []


@pytest.mark.parametrize("limit", [0, 10, 6 * MIB])
async def test_more_than_the_limit_is_refused_and_leaves_nothing(store: BlobStore, limit: int) -> None:
    async with store.stage(new(), limit=limit) as staging:
        await staging.write(b"x" * limit)
        with pytest.raises(BlobTooLarge) as caught:
            await staging.write(b"x")

    assert caught.value.limit == limit
    assert await everything(store) == []


async def test_a_finished_blob_can_be_discarded_before_and_after_it_is_promoted(store: BlobStore) -> None:
    async with store.stage(new(), limit=MOST) as staging:
        before = await staging.finish()
    after = await written(store, new(), b"abc")

    await store.discard(before)
    await store.discard(after)

    assert await everything(store) == []


async def test_many_may_promote_into_one_new_bucket_at_a_time_and_twice(store: BlobStore) -> None:
    async def one(number: int) -> BlobPath:
        staged = await written(store, blob("new", uuid4()), b"%d" % number)
        await asyncio.gather(store.promote(staged), store.promote(staged))
        return staged.place

    places = await asyncio.gather(*(one(number) for number in range(20)))

    assert [await content(store, place) for place in places] == [b"%d" % number for number in range(20)]
    assert await listed(store, blob_names.bucket("new")) == sorted(places)
    assert await listed(store, STAGING) == []


@pytest.mark.parametrize(
    ("start", "stop", "wanted"),
    [
        (0, None, range(1000)),
        (0, 1, range(1)),
        (3, 10, range(3, 10)),
        (999, 1000, range(999, 1000)),
        (990, 2000, range(990, 1000)),
        (5, None, range(5, 1000)),
        (5, 5, range(0)),
        (7, 5, range(0)),
        (1000, None, range(0)),
        (1000, 1001, range(0)),
        (5000, 6000, range(0)),
    ],
)
async def test_a_range_is_read_as_far_as_there_are_bytes(
    store: BlobStore, start: int, stop: int | None, wanted: range
) -> None:
    data, place = os.urandom(1000), new()
    await written(store, place, data)

    async with store.read(place, start, stop) as reading:
        found = b"".join([chunk async for chunk in reading.chunks])

    assert found == data[wanted.start : wanted.stop]
    assert reading.size == 1000


async def test_a_range_of_a_long_blob_crosses_its_pieces(store: BlobStore) -> None:
    data, place = os.urandom(7 * MIB), new()
    await written(store, place, data)

    assert await content(store, place, MIB - 5, 6 * MIB + 5) == data[MIB - 5 : 6 * MIB + 5]


async def test_every_range_of_an_empty_blob_is_empty(store: BlobStore) -> None:
    place = new()
    await written(store, place, b"")

    assert [await content(store, place, *span) for span in ((0, None), (0, 1), (1, None))] == [b""] * 3


async def test_a_range_before_the_beginning_is_a_mistake_of_the_caller(store: BlobStore) -> None:
    with pytest.raises(ValueError, match="begins at 0"):
        store.read(new(), -1)


async def test_a_missing_blob_is_told_before_the_first_byte(store: BlobStore) -> None:
    place = new()

    for asked in (
        content(store, place),
        content(store, place, 5, 10),
        content(store, place, 5, 5),
        store.stat(place),
        store.get_small(place, limit=10),
        store.copy(place, new()),
        store.join([place], new()),
    ):
        with pytest.raises(BlobMissing) as caught:
            await asked
        assert caught.value.place == place
    assert await everything(store) == []


async def test_deleting_many_leaves_the_others_and_minds_no_missing_one(store: BlobStore) -> None:
    gone, kept = [new() for _ in range(5)], new()
    for place in (*gone[:4], kept):
        await written(store, place, b"x")

    await store.delete([*gone, *gone[:2]])
    await store.delete([])

    assert await everything(store) == [kept]


async def test_a_folder_is_deleted_alone(store: BlobStore) -> None:
    version, other = uuid4(), uuid4()
    for place in (transform(version, "one"), transform(version, "two"), transform(other, "one")):
        await store.put_small(place, b"picture")

    await store.delete_folder(blob_names.transforms(version))
    await store.delete_folder(blob_names.transforms(uuid4()))

    assert await everything(store) == [transform(other, "one")]


async def test_a_bucket_is_deleted_alone(store: BlobStore) -> None:
    kept = blob("files-2", uuid4())
    for place in (blob("files", uuid4()), blob("files", uuid4()), kept):
        await written(store, place, b"x")

    await store.delete_folder(blob_names.bucket("files"))

    assert await everything(store) == [kept]


async def test_a_copy_lives_on_without_its_source(store: BlobStore) -> None:
    source, target = new(), blob("elsewhere", uuid4())
    await written(store, source, b"abc")

    await store.copy(source, target)
    await store.copy(source, target)
    await store.delete([source])

    assert await content(store, target) == b"abc"
    assert await everything(store) == [target]


async def test_a_fresh_copy_of_an_old_blob_is_fresh(store: BlobStore) -> None:
    source, target = new(), new()
    await written(store, source, b"abc")
    path = store.local_path(source)
    if path:
        os.utime(path, (1, 1))

    await store.copy(source, target)

    assert datetime.now(UTC) - (await store.stat(target)).modified < timedelta(minutes=5)


async def test_small_blobs_are_put_and_got_whole_and_replaced(store: BlobStore) -> None:
    place = transform(uuid4(), "width:100")
    await store.put_small(place, b"one")
    staged = await store.put_small(place, b"other")

    assert await store.get_small(place, limit=5) == b"other"
    assert staged.md5 == md5(b"other")
    with pytest.raises(BlobTooLarge):
        await store.get_small(place, limit=4)
    assert await everything(store) == [place]


async def test_a_list_tells_size_time_and_version(store: BlobStore) -> None:
    version = uuid4()
    await written(store, blob("bucket", version), b"abc")

    found = [each async for each in store.list(OBJECTS)]

    assert found == [BlobInfo(blob("bucket", version), 3, found[0].modified)]
    assert found[0].place.version == version
    assert abs(datetime.now(UTC) - found[0].modified) < timedelta(minutes=5)


async def test_a_list_has_only_what_is_older_than_asked(store: BlobStore) -> None:
    place = new()
    await written(store, place, b"abc")

    assert await listed(store, OBJECTS, datetime.now(UTC) + timedelta(hours=1)) == [place]
    assert await listed(store, OBJECTS, datetime.now(UTC) - timedelta(hours=1)) == []


async def test_a_list_of_more_than_a_page_is_whole(store: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers of S3 and Google send pages of 20 here; those of Azurite have 5,000, which would take minutes to fill."""
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "20")
    places = sorted(transform(uuid4(), "x") for _ in range(65))
    for some in range(0, len(places), 15):
        await asyncio.gather(*(store.put_small(place, b"") for place in places[some : some + 15]))

    assert await listed(store, TRANSFORMS) == places

    await store.delete_folder(TRANSFORMS)

    assert await listed(store, TRANSFORMS) == []


@pytest.mark.parametrize("hint", HOSTILE)
async def test_no_name_that_a_user_typed_leads_anywhere(store: BlobStore, hint: str) -> None:
    places = [blob(hint, uuid4()), transform(uuid4(), hint)]
    for place in places:
        await store.put_small(place, b"x")

    assert await everything(store) == places
    assert [await content(store, place) for place in places] == [b"x", b"x"]


async def test_parts_are_joined_in_the_order_asked(store: BlobStore) -> None:
    upload, place = uuid4(), new()
    datas = {number: os.urandom(size) for number, size in ((1, 6 * MIB), (2, 10), (10000, MIB))}
    for number in (10000, 2, 1, 2):
        await written(store, part(upload, number), datas[number])

    staged = await store.join([part(upload, number) for number in datas], place)
    await store.promote(staged)
    await store.forget(upload)

    whole = b"".join(datas.values())
    assert (staged.size, staged.md5) == (len(whole), md5(whole))
    assert await content(store, place) == whole
    assert await everything(store) == [place]


async def test_an_upload_is_resumed_by_whoever_comes_until_it_is_complete(
    store: BlobStore, request: pytest.FixtureRequest
) -> None:
    data, upload, place = os.urandom(8 * MIB + 77), str(uuid4()), new()
    cuts = [0, 1, 1, 70_000, 6 * MIB, len(data)]

    for start, stop in pairwise(cuts):
        store._hashes = type(store._hashes)()  # another process knows no running hash
        assert await store.appended(upload) == start
        assert await appended(store, upload, start, data[start:stop]) == stop
    staged = await store.complete(upload, place)
    again = await store.complete(upload, place)
    await store.promote(staged)
    await store.promote(again)

    assert (staged.size, staged.md5, again.md5) == (len(data), md5(data), md5(data))
    assert await content(store, place) == data
    assert await store.appended(upload) == len(data)

    await store.forget(upload)

    assert await store.appended(upload) == 0
    assert await everything(store) == [place]


async def test_an_upload_of_one_piece_in_one_process_is_not_read_again(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, upload, place = os.urandom(MIB), str(uuid4()), new()
    await appended(store, upload, 0, data)
    with monkeypatch.context() as without_reading:
        without_reading.setattr(store, "read", None)
        staged = await store.complete(upload, place)
        await store.promote(staged)

    assert staged.md5 == md5(data)
    assert await content(store, place) == data


async def test_an_upload_to_which_nothing_was_appended_is_empty(store: BlobStore) -> None:
    upload, place = str(uuid4()), new()
    assert await appended(store, upload, 0, b"") == 0

    staged = await store.complete(upload, place)
    await store.promote(staged)

    assert (staged.size, staged.md5) == (0, md5(b""))
    assert await content(store, place) == b""


async def test_an_append_at_another_offset_is_refused_with_the_right_one(store: BlobStore) -> None:
    upload = str(uuid4())
    await appended(store, upload, 0, b"abc")

    for at in (0, 2, 4):
        with pytest.raises(BlobOffset) as caught:
            await store.append(upload, at, limit=MOST)
        assert caught.value.end == 3


async def test_an_append_that_breaks_keeps_the_bytes_that_came(store: BlobStore) -> None:
    data, upload, place = os.urandom(3 * MIB), str(uuid4()), new()

    async def write() -> None:
        async with await store.append(upload, 0, limit=MOST) as appending:
            await appending.write(data[: MIB + 5])
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await write()
    assert await store.appended(upload) == MIB + 5

    await appended(store, upload, MIB + 5, data[MIB + 5 :])
    staged = await store.complete(upload, place)

    assert (staged.size, staged.md5) == (len(data), md5(data))


async def test_an_append_whose_task_is_cancelled_keeps_the_bytes_that_came(store: BlobStore) -> None:
    upload, came = str(uuid4()), asyncio.Event()

    async def write() -> None:
        async with await store.append(upload, 0, limit=MOST) as appending:
            await appending.write(b"x" * 1000)
            came.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(write())
    await came.wait()
    task.cancel()
    await asyncio.wait([task])

    assert await store.appended(upload) == 1000


async def test_an_append_beyond_the_limit_of_the_whole_is_refused(store: BlobStore) -> None:
    upload = str(uuid4())
    await appended(store, upload, 0, b"x" * 10, limit=15)

    with pytest.raises(BlobTooLarge):
        await appended(store, upload, 10, b"x" * 6, limit=15)

    assert await appended(store, upload, 10, b"x" * 5, limit=15) == 15


async def resumed(store: BlobStore, upload: str) -> UploadAppender:
    """Append where an upload ends, as a client does: one that is told of another end, since the first writer still wrote, asks again."""
    while True:
        try:
            return await store.append(upload, await store.appended(upload), limit=MOST)
        except BlobOffset:
            continue


async def test_a_writer_that_was_given_up_does_no_harm_when_it_writes_on(store: BlobStore) -> None:
    data, upload, place = os.urandom(2 * MIB), str(uuid4()), new()
    slow = await store.append(upload, 0, limit=MOST)
    await slow.write(data[: MIB + 10])

    quick = await resumed(store, upload)
    await quick.write(data[quick.offset :])
    await quick.close()
    await slow.close()
    staged = await store.complete(upload, place)

    assert staged.size == len(data)
    await store.promote(staged)
    assert await content(store, place) == data


async def test_discarding_what_was_uploaded_leaves_it_to_be_tried_again(store: BlobStore) -> None:
    upload, place = str(uuid4()), new()
    await appended(store, upload, 0, b"abc")
    staged = await store.complete(upload, place)
    await store.promote(staged)

    await store.discard(staged)

    assert await store.appended(upload) == 3
    with pytest.raises(BlobMissing):
        await store.stat(place)


async def test_a_store_that_is_there_says_so(store: BlobStore) -> None:
    await store.check()


async def test_only_a_local_disk_has_paths_and_files(store: BlobStore) -> None:
    place = new()
    await written(store, place, b"abc")
    path = store.local_path(place)

    async with store.read(place) as reading:
        assert (reading.file is None) is (path is None)
        assert reading.file is None or os.pread(reading.file.fileno(), 10, 0) == b"abc"
    assert path is None or path.read_bytes() == b"abc"
    assert reading.file is None or reading.file.closed


async def test_a_blob_that_is_deleted_while_it_is_read_is_read_to_its_end_or_told(store: BlobStore) -> None:
    data, place = os.urandom(4 * MIB), new()
    await written(store, place, data)

    async with store.read(place) as reading:
        first = await anext(reading.chunks)
        await store.delete([place])
        try:
            rest = b"".join([chunk async for chunk in reading.chunks])
        except (BlobStoreDown, BlobMissing):
            return

    assert first + rest == data


async def test_blob_that_is_finished_in_place_needs_no_promotion(store: BlobStore) -> None:
    place = new()
    async with store.stage(place, limit=MOST) as staging:
        await staging.write(b"hello")
        staged = await staging.finish_in_place()

    assert (staged.name, staged.place, staged.size) == (place, place, 5)
    assert staged.md5 == hashlib.md5(b"hello", usedforsecurity=False).hexdigest()
    await store.promote(staged)
    assert await store.get_small(place, limit=9) == b"hello"
    assert [each async for each in store.list(STAGING)] == []
    await store.discard(staged)
    with pytest.raises(BlobMissing):
        await store.stat(place)


async def test_writer_that_leaves_while_its_blob_is_put_in_place_leaves_none(store: BlobStore) -> None:
    places = [new() for _ in range(20)]

    async def write(place: BlobPath) -> None:
        async with store.stage(place, limit=MOST) as staging:
            await staging.write(b"hello" * 100_000)
            await staging.finish_in_place()
            raise asyncio.CancelledError

    async def leave_after(turns: int, place: BlobPath) -> None:
        task = asyncio.create_task(write(place))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    for turns, place in enumerate(places):
        await leave_after(turns, place)

    kept = {each.place async for each in store.list(OBJECTS)} & set(places)
    whole = [(await store.stat(place)).size for place in kept]
    assert set(whole) <= {500_000}
    assert [each async for each in store.list(STAGING)] == []


async def test_a_short_blob_is_stored_at_its_final_path(store: BlobStore) -> None:
    place = blob("bucket", uuid4())

    await store.put_short(place, b"short")

    assert await store.get_small(place, limit=10) == b"short"
