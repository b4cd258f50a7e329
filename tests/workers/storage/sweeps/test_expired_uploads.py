"""Multipart uploads that nobody goes on with, and bytes of uploads that are no more."""

import uuid

import pytest

from broker.blobs import blob_names
from schemas.settings.storage import S3Protocol
from tests.workers.storage.s3.uploading import Upload, fresh_key
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.sweeps.expired_uploads import sweep_multipart_uploads
from workers.storage.sweeps.sweep import OrphanSweep


async def begun(storage_pool: StoragePool) -> Upload:
    upload = await Upload(storage_pool.store, await storage_pool.bucket(), fresh_key()).begin()
    await upload.part(1, b"one")
    return upload


async def age(storage_pool: StoragePool, upload: Upload, days: float, *, parts: float) -> None:
    """Make an upload and its parts older."""
    await storage_pool.admin.execute(
        "update storage.s3_multipart_uploads set created_at = now() - make_interval(secs => $2::float8 * 86400) where id = $1",
        upload.id,
        days,
    )
    await storage_pool.admin.execute(
        "update storage.s3_multipart_uploads_parts set created_at = now() - make_interval(secs => $2::float8 * 86400)"
        " where upload_id = $1",
        upload.id,
        parts,
    )


async def is_there(storage_pool: StoragePool, upload: Upload) -> tuple[bool, int, int]:
    """Tell whether there is a row, how many parts have one, how many lie in the store."""
    row = await storage_pool.value(
        "select count(*) from storage.s3_multipart_uploads where id = $1", upload.id
    )
    parts = await storage_pool.value(
        "select count(*) from storage.s3_multipart_uploads_parts where upload_id = $1", upload.id
    )
    lying = [each async for each in storage_pool.blobs.list(blob_names.upload(upload.id))]
    return row == 1, parts, len(lying)


async def sweep(storage_pool: StoragePool) -> int:
    return await sweep_multipart_uploads(storage_pool.store.database, storage_pool.blobs)


async def test_uploads_that_were_left_for_a_week_go_with_their_parts(storage_pool: StoragePool) -> None:
    old, young, alive = await begun(storage_pool), await begun(storage_pool), await begun(storage_pool)
    await age(storage_pool, old, 30, parts=7.01)
    await age(storage_pool, young, 6.9, parts=6.9)
    await age(storage_pool, alive, 30, parts=1)

    await sweep(storage_pool)

    assert await is_there(storage_pool, old) == (False, 0, 0)
    assert await is_there(storage_pool, young) == (True, 1, 1)
    assert await is_there(storage_pool, alive) == (True, 1, 1)
    assert await alive.complete(1)


async def test_an_upload_without_a_part_goes_too(storage_pool: StoragePool) -> None:
    upload = await Upload(storage_pool.store, await storage_pool.bucket(), fresh_key()).begin()
    await age(storage_pool, upload, 8, parts=0)

    await sweep(storage_pool)

    assert (await is_there(storage_pool, upload))[0] is False


async def test_the_setting_says_how_long(storage_pool: StoragePool) -> None:
    short = storage_pool.having(s3_protocol=S3Protocol(upload_expiry=3600))  # type: ignore[arg-type]  # seconds will do
    upload = await begun(short)
    await age(storage_pool, upload, 0.05, parts=0.05)

    await sweep(storage_pool)

    assert (await is_there(storage_pool, upload))[0] is False


@pytest.mark.parametrize("told", ["null", '{"expiresIn":"soon"}', '{"expiresIn":-1}'])
async def test_a_row_that_does_not_say_how_long_waits_a_week(storage_pool: StoragePool, told: str) -> None:
    upload = await begun(storage_pool)
    await storage_pool.admin.execute(
        "update storage.s3_multipart_uploads set metadata = $2::jsonb where id = $1", upload.id, told
    )
    await sweep(storage_pool)
    assert (await is_there(storage_pool, upload))[0] is True

    await age(storage_pool, upload, 8, parts=8)
    await sweep(storage_pool)

    assert (await is_there(storage_pool, upload))[0] is False


async def test_an_upload_that_is_being_completed_waits_for_the_next_turn(storage_pool: StoragePool) -> None:
    upload = await begun(storage_pool)
    await age(storage_pool, upload, 30, parts=30)

    async with storage_pool.admin.transaction():
        await storage_pool.admin.execute(
            "select from storage.s3_multipart_uploads where id = $1 for update", upload.id
        )
        await sweep(storage_pool)
        assert await is_there(storage_pool, upload) == (True, 1, 1)

    await sweep(storage_pool)
    assert await is_there(storage_pool, upload) == (False, 0, 0)


async def test_parts_of_an_upload_under_way_are_no_orphans(storage_pool: StoragePool) -> None:
    upload = await begun(storage_pool)
    alone = str(uuid.uuid4())
    await storage_pool.blobs.put_small(blob_names.part(alone, 1, str(uuid.uuid4())), b"of nothing")
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)

    await orphans.sweep()
    await orphans.sweep()

    assert await is_there(storage_pool, upload) == (True, 1, 1)
    assert [each async for each in storage_pool.blobs.list(blob_names.upload(alone))] == []


async def test_parts_that_a_completion_left_are_orphans(storage_pool: StoragePool) -> None:
    upload = await begun(storage_pool)
    await upload.complete(1)
    await storage_pool.blobs.put_small(blob_names.part(upload.id, 2, str(uuid.uuid4())), b"left")
    orphans = OrphanSweep(storage_pool.store.database, storage_pool.blobs, age_s=-60)

    await orphans.sweep()
    await orphans.sweep()

    assert (await is_there(storage_pool, upload))[2] == 0
    assert await storage_pool.got(f"/object/{upload.bucket}/{upload.key}") == b"one"
