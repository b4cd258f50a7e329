"""The log of short blobs of a living process: how segments are used again, what failures of the disk leave."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from broker.blobs import short_log
from broker.blobs.disk import DiskBlobs
from broker.blobs.errors import BlobStoreDown
from broker.blobs.file_systems import overwrites_in_place, sync_file_system
from broker.blobs.short_log import ShortLog
from broker.blobs.short_log_records import LoggedBlob
from broker.blobs.short_log_recovery import restore_logs
from broker.blobs.short_log_segment import FOLDER, LARGEST_RECORD, ShortLogSegment
from broker.blobs.small_files import SmallFiles
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from tests.broker.blobs.short_logs import short_blob

SEGMENT = 256 * 1024
FAILURE = OSError(errno.EIO, os.strerror(errno.EIO))


class LoggedStore:
    """A store with a log of small segments, from its first blob on."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "blobs"
        self.store = BlobStore.open(Storage(path="blobs"), folder)
        backend = self.store._backend
        assert isinstance(backend, DiskBlobs)
        self.log = ShortLog(self.root, 0, SEGMENT)
        self.files = SmallFiles(
            self.root, self.store.run, backend._make_parent, backend._staged.take, self.log
        )
        backend._small = self.files

    async def prepare(self) -> None:
        """Wait until the log is in use."""
        await self.write(1)
        while self.files._caring is not None:
            await asyncio.wait([self.files._caring])
        await asyncio.to_thread(self.log.maintain)

    async def write(self, count: int, size: int = 3000) -> list[LoggedBlob]:
        """Write blobs at once."""
        blobs = [short_blob(size) for _ in range(count)]
        await asyncio.gather(*(self.store.put_short(blob.place, blob.data) for blob in blobs))
        return blobs

    @property
    def segments(self) -> list[Path]:
        return sorted((self.root / FOLDER).glob("*.log"))

    def has(self, blob: LoggedBlob) -> bool:
        path = self.root / blob.place.name
        return path.exists() and path.read_bytes() == blob.data


@pytest.fixture
async def logged(tmp_path: Path) -> AsyncIterator[LoggedStore]:
    if not overwrites_in_place(tmp_path):
        pytest.skip("the folder of the tests is on a file system where no log is written")
    store = LoggedStore(tmp_path)
    await store.prepare()
    assert store.log.is_in_use
    yield store
    await store.store.close()


def failing(monkeypatch: pytest.MonkeyPatch, where: object, name: str) -> Callable[[], None]:
    """Let a function fail like a disk; the returned function mends it."""
    before = getattr(where, name)

    def fail(*_: object, **__: object) -> None:
        raise FAILURE

    monkeypatch.setattr(where, name, fail)
    return lambda: monkeypatch.setattr(where, name, before)


async def test_a_log_is_made_only_for_many_blobs(tmp_path: Path) -> None:
    store = BlobStore.open(Storage(path="blobs"), tmp_path)
    for _ in range(20):
        await store.put_short(short_blob().place, b"x")

    assert not (tmp_path / "blobs" / FOLDER).exists()
    await store.close()


async def test_blobs_are_whole_files_and_records(logged: LoggedStore) -> None:
    blobs = await logged.write(20)

    assert all(logged.has(blob) for blob in blobs)
    content = b"".join(path.read_bytes() for path in logged.segments)
    assert all(blob.place.name.encode() in content and blob.data in content for blob in blobs)
    assert {path.stat().st_mode & 0o777 for path in logged.segments} == {0o600}
    assert (logged.root / FOLDER).stat().st_mode & 0o777 == 0o700


async def test_segments_are_used_again_after_their_files_are_durable(
    logged: LoggedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    reset = ShortLogSegment.reset
    monkeypatch.setattr(
        short_log, "sync_file_system", lambda number: (steps.append("sync"), sync_file_system(number))
    )
    monkeypatch.setattr(ShortLogSegment, "reset", lambda segment: (steps.append("reset"), reset(segment)))
    names, blobs = logged.segments, []

    for _ in range(40):
        blobs += await logged.write(16)

    assert all(logged.has(blob) for blob in blobs)
    assert logged.segments == names
    assert len(names) == 2
    assert {path.stat().st_size for path in names} == {SEGMENT}
    assert steps.count("reset") > 3
    assert steps[0] == "sync"
    assert all(steps[at - 1] in ("sync", "reset") for at in range(1, len(steps)))


async def test_an_orderly_close_leaves_no_log(logged: LoggedStore) -> None:
    blobs = await logged.write(30)

    await logged.store.close()

    assert logged.segments == []
    assert all(logged.has(blob) for blob in blobs)


async def test_a_failed_append_leaves_nothing_and_its_segment_is_not_written_again(
    logged: LoggedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await logged.write(5)
    bad = logged.log._written
    assert bad is not None
    mend = failing(monkeypatch, ShortLogSegment, "append")
    lost = [short_blob() for _ in range(5)]
    results = await asyncio.gather(
        *(logged.store.put_short(blob.place, blob.data) for blob in lost), return_exceptions=True
    )
    mend()

    assert any(isinstance(result, BlobStoreDown) for result in results)
    for blob, result in zip(lost, results, strict=True):
        assert logged.has(blob) == (result is None)
        assert (logged.root / blob.place.name).exists() == (result is None)
    after = await logged.write(200)
    await asyncio.to_thread(logged.log.maintain)
    assert not bad.path.exists()
    assert all(logged.has(blob) for blob in before + after)


async def test_files_that_the_kernel_failed_to_write_are_synced_one_by_one(
    logged: LoggedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, short_log, "sync_file_system")
    blobs = await logged.write(20)
    segment = logged.log._written
    assert segment is not None
    (logged.root / blobs[0].place.name).write_bytes(b"what the disk made of it")
    (logged.root / blobs[1].place.name).unlink()  # deleted meanwhile

    with logged.log._lock:
        logged.log._full.append(segment)
        logged.log._written = None
    await asyncio.to_thread(logged.log.maintain)

    assert logged.has(blobs[0])
    assert not (logged.root / blobs[1].place.name).exists()
    assert all(logged.has(blob) for blob in blobs[2:])
    assert logged.log._full == []


async def test_a_segment_whose_files_cannot_be_made_durable_stays(
    logged: LoggedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, short_log, "sync_file_system")
    failing(monkeypatch, short_log, "restore_segment")

    blobs = [blob for _ in range(30) for blob in await logged.write(16)]

    assert not logged.log.is_in_use
    assert len(logged.segments) == 2
    assert all(logged.has(blob) for blob in blobs)
    await logged.store.close()
    assert len(logged.segments) == 2
    for blob in blobs[:10]:
        (logged.root / blob.place.name).unlink()
    restore_logs(logged.root)
    assert all(logged.has(blob) for blob in blobs)


async def test_a_blob_longer_than_a_record_is_synced_as_a_file(logged: LoggedStore) -> None:
    blobs = await logged.write(3, LARGEST_RECORD)

    assert all(logged.has(blob) for blob in blobs)
    content = b"".join(path.read_bytes() for path in logged.segments)
    assert not any(blob.place.name.encode() in content for blob in blobs)


async def test_no_log_is_written_where_other_machines_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(short_log, "overwrites_in_place", lambda _: False)
    store = LoggedStore(tmp_path)

    blobs = [blob for _ in range(10) for blob in await store.write(16)]

    assert all(store.has(blob) for blob in blobs)
    assert not (store.root / FOLDER).exists()
    await store.store.close()


async def test_a_disk_without_room_for_a_log_still_takes_blobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not overwrites_in_place(tmp_path):
        pytest.skip("the folder of the tests is on a file system where no log is written")
    failing(monkeypatch, ShortLogSegment, "_write")
    store = LoggedStore(tmp_path)

    blobs = [blob for _ in range(10) for blob in await store.write(16)]

    assert all(store.has(blob) for blob in blobs)
    assert store.segments == []
    await store.store.close()


async def test_a_copy_of_a_short_blob_is_durable_itself(
    logged: LoggedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (blob,) = await logged.write(1)
    source, inodes = logged.root / blob.place.name, []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (inodes.append(os.fstat(number).st_ino), fsync(number)))

    await logged.store.copy(blob.place, short_blob().place)

    assert source.stat().st_ino in inodes


async def test_a_repeated_copy_whose_source_is_gone_finds_its_target(logged: LoggedStore) -> None:
    (blob,) = await logged.write(1)
    target = short_blob().place
    await logged.store.copy(blob.place, target)
    await logged.store.delete([blob.place])

    await logged.store.copy(blob.place, target)

    assert await logged.store.get_small(target, limit=10_000) == blob.data


async def test_closing_waits_for_a_blob_that_has_just_come(logged: LoggedStore) -> None:
    blob = short_blob()
    writing = asyncio.create_task(logged.store.put_short(blob.place, blob.data))
    await asyncio.sleep(0)

    await logged.store.close()

    await writing
    assert logged.has(blob)
    assert logged.segments == []
