"""The sweep: what goes, what stays, and that a failure loses nothing."""

import asyncio
import re
import uuid

import pytest

from broker.blobs import blob_names
from broker.blobs.errors import BlobStoreDown
from broker.blobs.staging import PIECE
from broker.observability.observe import exposition
from tests.workers.storage.storage_pool import StoragePool
from workers.database.errors import DatabaseError
from workers.storage.model.observations import SweepFailed
from workers.storage.sweeps import sweep
from workers.storage.sweeps.sweep import OrphanSweep, StagingSweep, sweep_forever, sweep_tombstones


async def everything(storage_pool: StoragePool) -> None:
    """Sweep all tombstones there are."""
    while await sweep_tombstones(storage_pool.store.database, storage_pool.blobs, 0):
        pass


async def picture_of(storage_pool: StoragePool, version: str) -> None:
    """Put what could have been made of a version beside it."""
    await storage_pool.blobs.put_small(blob_names.transform(version, "key"), b"picture")


async def pictures(storage_pool: StoragePool, version: str) -> int:
    return len([each async for each in storage_pool.blobs.list(blob_names.transforms(version))])


async def test_replaced_and_deleted_versions_go_with_their_pictures(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"one")
    await storage_pool.uploaded(f"/object/{bucket}/b", b"two")
    first, second = await storage_pool.version(bucket, "a"), await storage_pool.version(bucket, "b")
    assert first
    assert second
    await picture_of(storage_pool, first)
    await storage_pool.put(f"/object/{bucket}/a", b"three", method="PUT")
    await storage_pool.ok("DELETE", f"/object/{bucket}/b")

    await everything(storage_pool)

    left = await storage_pool.blob_names()
    assert first not in left
    assert second not in left
    assert await pictures(storage_pool, first) == 0
    assert await storage_pool.got(f"/object/{bucket}/a") == b"three"
    assert (
        await storage_pool.value("select count(*) from storage.tombstones where bucket_id = $1", bucket) == 0
    )


async def test_grace_keeps_what_ended_just_now(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    version = await storage_pool.version(bucket, "a")
    await storage_pool.ok("DELETE", f"/object/{bucket}/a")

    await sweep_tombstones(
        storage_pool.store.database, storage_pool.blobs, float(storage_pool.store.settings.deleted_grace)
    )

    assert version in await storage_pool.blob_names()


async def test_version_that_a_row_names_stays(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    version = await storage_pool.version(bucket, "a")
    await storage_pool.admin.execute(
        "insert into storage.objects (bucket_id, name, version) values ($1, 'by hand', $2)", bucket, version
    )
    await storage_pool.ok("DELETE", f"/object/{bucket}/a")

    await everything(storage_pool)

    assert version in await storage_pool.blob_names()


@pytest.mark.parametrize("spelling", ["upper(version)", "replace(version, '-', '')"])
async def test_version_that_sql_wrote_in_another_spelling_stays(
    storage_pool: StoragePool, spelling: str
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"kept")
    await storage_pool.admin.execute(
        f"update storage.objects set version = {spelling} where bucket_id = $1", bucket
    )
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)

    await everything(storage_pool)
    await orphans.sweep()
    await orphans.sweep()

    assert await storage_pool.got(f"/object/{bucket}/a") == b"kept"


async def test_tombstone_of_no_version_of_ours_goes(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.admin.execute(
        "insert into storage.tombstones (bucket_id, name, version, reason)"
        " values ($1, 'x', 'no uuid', 'deleted'), (null, 'x', $2, 'deleted')",
        bucket,
        str(uuid.uuid4()),
    )

    await everything(storage_pool)

    assert await storage_pool.value("select count(*) from storage.tombstones") == 0


async def test_store_that_is_away_keeps_the_tombstones(
    storage_pool: StoragePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.ok("DELETE", f"/object/{bucket}/a")

    async def away(places: object) -> None:
        raise BlobStoreDown("delete", "it is away")

    with monkeypatch.context() as patched:
        patched.setattr(storage_pool.blobs, "delete", away)
        with pytest.raises(BlobStoreDown):
            await sweep_tombstones(storage_pool.store.database, storage_pool.blobs, 0)

    assert (
        await storage_pool.value("select count(*) from storage.tombstones where bucket_id = $1", bucket) == 1
    )
    await everything(storage_pool)


async def test_workers_share_the_work(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for number in range(5):
        await storage_pool.uploaded(f"/object/{bucket}/{number}")
    await storage_pool.ok("POST", f"/bucket/{bucket}/empty")
    before = await storage_pool.value("select count(*) from storage.tombstones")

    counts = await asyncio.gather(
        *(sweep_tombstones(storage_pool.store.database, storage_pool.blobs, 0) for _ in range(4))
    )

    assert sum(counts) == before >= 5


async def test_orphans_go_when_they_were_alone_twice(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    kept, alone = await storage_pool.version(bucket, "a"), str(uuid.uuid4())
    assert kept
    await storage_pool.blobs.put_small(blob_names.blob(bucket, alone), b"nobody names me")
    await picture_of(storage_pool, alone)
    await picture_of(storage_pool, kept)
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)

    await orphans.sweep()
    assert alone in await storage_pool.blob_names()
    await orphans.sweep()

    left = await storage_pool.blob_names()
    assert alone not in left
    assert kept in left
    assert await pictures(storage_pool, alone) == 0
    assert await pictures(storage_pool, kept) == 1


async def test_young_orphans_stay(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    alone = str(uuid.uuid4())
    await storage_pool.blobs.put_small(blob_names.blob(bucket, alone), b"not yet")
    orphans = OrphanSweep(
        storage_pool.store.database, storage_pool.blobs, float(storage_pool.store.settings.orphan_expiry)
    )

    for _ in range(3):
        await orphans.sweep()

    assert alone in await storage_pool.blob_names()


async def test_blob_that_got_its_row_meanwhile_stays(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    version = str(uuid.uuid4())
    await storage_pool.blobs.put_small(blob_names.blob(bucket, version), b"late")
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)
    await orphans.sweep()

    await storage_pool.admin.execute(
        "insert into storage.objects (bucket_id, name, version) values ($1, 'late', $2)", bucket, version
    )
    await orphans.sweep()

    assert version in await storage_pool.blob_names()


async def test_upload_under_way_is_no_orphan(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    version = str(uuid.uuid4())
    await storage_pool.blobs.put_small(blob_names.blob(bucket, version), b"resumable")
    await storage_pool.admin.execute(
        "insert into storage.tus_uploads (bucket_id, key, version, expires_at) values ($1, 'k', $2, now())",
        bucket,
        version,
    )
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)

    await orphans.sweep()
    await orphans.sweep()

    assert version in await storage_pool.blob_names()


async def test_one_worker_at_a_time_looks_for_orphans(storage_pool: StoragePool) -> None:
    key = "hashtextextended('headwater storage orphans', 0)"
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)
    alone = str(uuid.uuid4())
    await storage_pool.blobs.put_small(blob_names.blob("b", alone), b"x")

    await storage_pool.admin.execute(f"select pg_advisory_lock({key})")
    try:
        assert [await orphans.sweep() for _ in range(3)] == [0, 0, 0]
    finally:
        await storage_pool.admin.execute(f"select pg_advisory_unlock({key})")

    assert alone in await storage_pool.blob_names()


async def test_sweeping_goes_on_after_a_failure_and_ends_when_told(
    storage_pool: StoragePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = asyncio.Queue[int]()

    async def fails(*_: object) -> int:
        turns.put_nowait(1)
        raise BlobStoreDown("delete", "it is away")

    monkeypatch.setattr(sweep, "sweep_tombstones", fails)
    monkeypatch.setattr(sweep, "_PAUSE_S", 0.0)
    task = asyncio.ensure_future(
        sweep_forever(storage_pool.store.database, storage_pool.blobs, storage_pool.store.settings)
    )

    for _ in range(3):
        await asyncio.wait_for(turns.get(), 60)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_failure_tells_its_reason(storage_pool: StoragePool, monkeypatch: pytest.MonkeyPatch) -> None:
    told = asyncio.Queue[SweepFailed]()

    async def fails(*_: object) -> int:
        raise DatabaseError("23503", "on Ann's row", constraint="pins_fkey")

    monkeypatch.setattr(sweep, "sweep_emptyings", fails)
    monkeypatch.setattr(sweep, "observe", lambda one: isinstance(one, SweepFailed) and told.put_nowait(one))
    task = asyncio.ensure_future(
        sweep_forever(storage_pool.store.database, storage_pool.blobs, storage_pool.store.settings)
    )

    failure = await asyncio.wait_for(told.get(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert failure == SweepFailed("emptyings", "DatabaseError 23503 pins_fkey")


async def test_what_is_being_written_goes_when_no_byte_came_for_long(storage_pool: StoragePool) -> None:
    async with storage_pool.blobs.stage(blob_names.blob("b", uuid.uuid4()), limit=2**30) as staging:
        for _ in range(3):
            await staging.write(b"x" * PIECE)
        young = StagingSweep(storage_pool.blobs, 3600)
        assert await young.sweep() == 0
        shown = re.search(rb"^headwater_storage_staged_bytes (\S+)$", exposition(), re.MULTILINE)
        assert shown is not None
        assert 0 < float(shown[1]) <= 3 * PIECE  # what is still in a buffer is not on the disk

        assert await StagingSweep(storage_pool.blobs, -60).sweep() == 1

        assert [each async for each in storage_pool.blobs.list(blob_names.STAGING)] == []


async def test_orphans_are_left_while_a_backup_or_restore_is_at_work(storage_pool: StoragePool) -> None:
    key = "hashtextextended('headwater backup', 0)"
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)
    alone = str(uuid.uuid4())
    await storage_pool.blobs.put_small(blob_names.blob("b", alone), b"of a backup, without a row yet")

    await storage_pool.admin.execute(f"select pg_advisory_lock({key})")
    try:
        assert [await orphans.sweep() for _ in range(3)] == [0, 0, 0]
    finally:
        await storage_pool.admin.execute(f"select pg_advisory_unlock({key})")
    assert alone in await storage_pool.blob_names()

    await orphans.sweep()
    assert b"headwater_storage_orphan_bytes 0.0" not in exposition()
    await orphans.sweep()
    assert alone not in await storage_pool.blob_names()
