"""Blobs on a local disk: rights, crashes, a full disk, threads that outlive their callers."""

import asyncio
import errno
import hashlib
import os
import stat
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sys import executable
from uuid import uuid4

import pytest

from broker.blobs import blob_names, disk_files
from broker.blobs.blob_names import FUNCTIONS, OBJECTS, STAGING, UPLOADS, BlobPath, blob
from broker.blobs.disk import DiskBlobs
from broker.blobs.errors import BlobMissing, BlobStoreDown
from broker.blobs.model import StagedBlob
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage

MIB = 1024 * 1024
MOST = 1024 * MIB

CRASH = """
import asyncio, os, sys
from pathlib import Path
from broker.blobs.store import BlobStore
from broker.blobs.blob_names import blob
from schemas.settings.storage import Storage

async def main(folder, version, finished):
    store = BlobStore.open(Storage(), Path(folder))
    staging = store.stage(blob("bucket", version), limit=2**30)
    await staging.write(b"x" * 3 * 2**20)
    if finished == "yes":
        await staging.finish()
    else:
        await staging.write(b"x" * 2**20)  # waits for what was written before
    os.kill(os.getpid(), 9)

asyncio.run(main(*sys.argv[1:]))
"""

FULL = """
import asyncio, resource, sys
from pathlib import Path
from uuid import UUID
from broker.blobs.store import BlobStore
from broker.blobs.errors import BlobStoreFull
from broker.blobs.blob_names import blob
from schemas.settings.storage import Storage

async def main(folder, size):
    store = BlobStore.open(Storage(), Path(folder))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 2**20, 2 * 2**20))
    try:
        async with store.stage(blob("bucket", UUID(int=1)), limit=2**30) as staging:
            for _ in range(int(size)):
                await staging.write(b"x" * 2**19)
            await staging.finish()
    except BlobStoreFull as error:
        print(error)
    try:
        async with await store.append(UUID(int=2), 0, limit=2**30) as appending:
            for _ in range(int(size)):
                await appending.write(b"x" * 2**19)
    except BlobStoreFull as error:
        print(error, await store.appended(UUID(int=2)))
    await store.put_small(blob("bucket", UUID(int=3)), b"there is room for less")

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[BlobStore]:
    store = BlobStore.open(Storage(path="blobs"), tmp_path)
    yield store
    await store.close()


async def listed(store: BlobStore, older_than: datetime | None = None) -> list[BlobPath]:
    folders = (OBJECTS, STAGING, UPLOADS)
    return [each.place for folder in folders async for each in store.list(folder, older_than)]


async def ran(script: str, *arguments: str) -> tuple[int | None, str]:
    process = await create_subprocess_exec(executable, "-c", script, *arguments, stdout=PIPE)
    out, _ = await process.communicate()
    return process.returncode, out.decode()


def test_the_folder_is_the_named_one_from_the_data_folder(tmp_path: Path) -> None:
    place = blob("bucket", uuid4())
    for path, wanted in (
        ("", tmp_path / "storage"),
        ("x/y", tmp_path / "x/y"),
        ("/srv/blobs", Path("/srv/blobs")),
    ):
        assert BlobStore.open(Storage(path=path), tmp_path).local_path(place) == wanted / place.name


async def test_files_and_folders_are_for_us_alone(store: BlobStore, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        await store.put_small(blob("bucket", uuid4()), b"x")
        async with await store.append(uuid4(), 0, limit=MOST) as appending:
            await appending.write(b"x")
    finally:
        os.umask(before)

    rights = {path.is_dir(): stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "blobs").rglob("*")}
    assert rights == {True: 0o700, False: 0o600}
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


@pytest.mark.parametrize("finished", ["yes", "no"])
async def test_a_crash_before_promotion_leaves_only_what_the_sweep_finds(
    tmp_path: Path, finished: str
) -> None:
    code, _ = await ran(CRASH, str(tmp_path), str(uuid4()), finished)
    store = BlobStore.open(Storage(), tmp_path)

    left = await listed(store, datetime.now(UTC) + timedelta(hours=1))
    assert code == -9
    assert len(left) == 1
    assert blob_names.is_in(STAGING, left[0])
    assert await listed(store, datetime.now(UTC) - timedelta(hours=1)) == []

    await store.delete(left)

    assert await listed(store) == []
    await store.close()


@pytest.mark.parametrize("size", [20, 5])
async def test_a_full_disk_is_told_and_leaves_only_bytes_to_go_on_with(tmp_path: Path, size: int) -> None:
    code, told = await ran(FULL, str(tmp_path), str(size))
    store = BlobStore.open(Storage(), tmp_path)

    assert code == 0
    assert told.splitlines() == ["cannot write: File too large", f"cannot append: File too large {2 * MIB}"]
    assert sorted(await listed(store)) == sorted(
        [blob_names.appended("00000000-0000-0000-0000-000000000002"), blob("bucket", "0" * 31 + "3")]
    )
    await store.close()


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = BlobStore.open(Storage(path="file/blobs"), tmp_path)

    with pytest.raises(BlobStoreDown, match="cannot make the folder: File exists"):
        await store.check()
    with pytest.raises(BlobStoreDown, match="cannot write: Not a directory"):
        await store.put_small(blob("bucket", uuid4()), b"x")
    await store.close()


async def test_the_folder_is_made_by_the_check(store: BlobStore, tmp_path: Path) -> None:
    assert not (tmp_path / "blobs").exists()
    assert await listed(store) == []

    await store.check()

    assert (tmp_path / "blobs" / "staging").is_dir()


async def test_a_blob_that_was_swept_cannot_be_promoted(store: BlobStore) -> None:
    async with store.stage(blob("bucket", uuid4()), limit=MOST) as staging:
        staged = await staging.finish()
    await store.delete([staged.name])

    with pytest.raises(BlobMissing):
        await store.promote(staged)


async def test_files_of_others_are_neither_listed_nor_in_the_way(store: BlobStore, tmp_path: Path) -> None:
    place = blob("bucket", uuid4())
    await store.put_small(place, b"x")
    path = store.local_path(place)
    assert path is not None
    (path.parent / ".DS_Store").write_bytes(b"")
    (tmp_path / "blobs" / "objects" / "lost+found").mkdir()

    assert await listed(store) == [place]


async def test_a_folder_that_cannot_be_listed_is_reported(store: BlobStore, tmp_path: Path) -> None:
    assert [info async for info in store.list(FUNCTIONS)] == []
    await store.put_small(blob("bucket", uuid4()), b"x")
    (tmp_path / "blobs" / FUNCTIONS.name).write_bytes(b"no folder")

    with pytest.raises(BlobStoreDown):
        [info async for info in store.list(FUNCTIONS)]


async def test_a_folder_in_the_place_of_a_blob_is_no_blob(store: BlobStore) -> None:
    place = blob("bucket", uuid4())
    path = store.local_path(place)
    assert path is not None
    path.mkdir(parents=True)

    with pytest.raises(BlobMissing):
        await store.stat(place)
    with pytest.raises(BlobStoreDown):
        async with store.read(place):
            pass


async def test_where_links_cannot_be_made_a_copy_is_written(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    source, target, upload = blob("one", uuid4()), blob("two", uuid4()), uuid4()
    data = os.urandom(2 * MIB)
    await store.put_small(source, data)
    async with await store.append(upload, 0, limit=MOST) as appending:
        await appending.write(data)

    await store.copy(source, target)
    staged = await store.complete(upload, blob("three", uuid4()))
    await store.promote(staged)
    await store.forget(upload)

    assert await store.get_small(target, limit=MOST) == data
    assert await store.get_small(staged.place, limit=MOST) == data
    assert sorted(await listed(store)) == sorted([source, target, staged.place])
    with pytest.raises(BlobMissing):
        await store.copy(blob("one", uuid4()), target)


async def test_a_copy_is_no_second_set_of_bytes(store: BlobStore) -> None:
    source, target = blob("one", uuid4()), blob("two", uuid4())
    await store.put_small(source, b"abc")
    await store.copy(source, target)
    paths = [store.local_path(place) for place in (source, target)]

    assert len({path.stat().st_ino for path in paths if path}) == 1


async def test_a_reader_that_leaves_while_the_file_opens_leaves_no_file_open(store: BlobStore) -> None:
    place = blob("bucket", uuid4())
    await store.put_small(place, b"x")

    async def read() -> None:
        async with store.read(place):
            pass

    tasks = [asyncio.create_task(read()) for _ in range(50)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await store.close()  # waits for the threads
    await asyncio.sleep(0)

    path = store.local_path(place)
    assert [link for link in Path("/proc/self/fd").iterdir() if _target(link) == str(path)] == []


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


async def test_each_bucket_spreads_its_files_over_folders(store: BlobStore) -> None:
    version = uuid4()
    path = store.local_path(blob("bucket", version))

    assert path is not None
    assert path.parent.name == str(version)[:2]
    assert isinstance(store._backend, DiskBlobs)


async def written_at_once(store: BlobStore, place: BlobPath, data: bytes) -> StagedBlob:
    async with store.stage(place, limit=MOST) as writer:
        await writer.write(data)
        return await writer.finish_in_place()


async def test_a_blob_that_comes_at_once_is_written_in_place_and_leaves_nothing_if_that_fails(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.check()
    data = b"x" * 700_000
    place = blob("bucket", uuid4())
    staged = await written_at_once(store, place, data)
    assert (staged.name, staged.md5) == (place, hashlib.md5(data).hexdigest())
    assert await store.get_small(place, limit=MOST) == data

    def fails(_: Path) -> None:
        raise OSError(errno.EIO, "as asked")

    monkeypatch.setattr(disk_files, "sync_folder", fails)
    with pytest.raises(BlobStoreDown):
        await written_at_once(store, blob("bucket", uuid4()), data)

    assert await listed(store) == [place]
    assert list((tmp_path / "blobs" / "staging").iterdir()) == []
