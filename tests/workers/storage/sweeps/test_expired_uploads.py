"""Multipart uploads that nobody goes on with, and bytes of uploads that are no more."""

import uuid

import pytest

from broker.blobs import blob_names
from schemas.settings.storage import S3Protocol
from tests.workers.storage.house import House
from tests.workers.storage.s3.uploading import Upload, fresh_key
from workers.storage.sweeps.expired_uploads import sweep_multipart_uploads
from workers.storage.sweeps.sweep import OrphanSweep


async def begun(house: House) -> Upload:
    upload = await Upload(house.store, await house.bucket(), fresh_key()).begin()
    await upload.part(1, b"one")
    return upload


async def age(house: House, upload: Upload, days: float, *, parts: float) -> None:
    """Make an upload and its parts older."""
    await house.admin.execute(
        "update storage.s3_multipart_uploads set created_at = now() - make_interval(secs => $2::float8 * 86400) where id = $1",
        upload.id,
        days,
    )
    await house.admin.execute(
        "update storage.s3_multipart_uploads_parts set created_at = now() - make_interval(secs => $2::float8 * 86400)"
        " where upload_id = $1",
        upload.id,
        parts,
    )


async def is_there(house: House, upload: Upload) -> tuple[bool, int, int]:
    """Tell whether there is a row, how many parts have one, how many lie in the store."""
    row = await house.value("select count(*) from storage.s3_multipart_uploads where id = $1", upload.id)
    parts = await house.value(
        "select count(*) from storage.s3_multipart_uploads_parts where upload_id = $1", upload.id
    )
    lying = [each async for each in house.blobs.list(blob_names.upload(upload.id))]
    return row == 1, parts, len(lying)


async def sweep(house: House) -> int:
    return await sweep_multipart_uploads(house.store.database, house.blobs)


async def test_uploads_that_were_left_for_a_week_go_with_their_parts(house: House) -> None:
    old, young, alive = await begun(house), await begun(house), await begun(house)
    await age(house, old, 30, parts=7.01)
    await age(house, young, 6.9, parts=6.9)
    await age(house, alive, 30, parts=1)

    await sweep(house)

    assert await is_there(house, old) == (False, 0, 0)
    assert await is_there(house, young) == (True, 1, 1)
    assert await is_there(house, alive) == (True, 1, 1)
    assert await alive.complete(1)


async def test_an_upload_without_a_part_goes_too(house: House) -> None:
    upload = await Upload(house.store, await house.bucket(), fresh_key()).begin()
    await age(house, upload, 8, parts=0)

    await sweep(house)

    assert (await is_there(house, upload))[0] is False


async def test_the_setting_says_how_long(house: House) -> None:
    short = house.having(s3_protocol=S3Protocol(upload_expiry=3600))  # type: ignore[arg-type]  # seconds will do
    upload = await begun(short)
    await age(house, upload, 0.05, parts=0.05)

    await sweep(house)

    assert (await is_there(house, upload))[0] is False


@pytest.mark.parametrize("told", ["null", '{"expiresIn":"soon"}', '{"expiresIn":-1}'])
async def test_a_row_that_does_not_say_how_long_waits_a_week(house: House, told: str) -> None:
    upload = await begun(house)
    await house.admin.execute(
        "update storage.s3_multipart_uploads set metadata = $2::jsonb where id = $1", upload.id, told
    )
    await sweep(house)
    assert (await is_there(house, upload))[0] is True

    await age(house, upload, 8, parts=8)
    await sweep(house)

    assert (await is_there(house, upload))[0] is False


async def test_an_upload_that_is_being_completed_waits_for_the_next_turn(house: House) -> None:
    upload = await begun(house)
    await age(house, upload, 30, parts=30)

    async with house.admin.transaction():
        await house.admin.execute(
            "select from storage.s3_multipart_uploads where id = $1 for update", upload.id
        )
        await sweep(house)
        assert await is_there(house, upload) == (True, 1, 1)

    await sweep(house)
    assert await is_there(house, upload) == (False, 0, 0)


async def test_parts_of_an_upload_under_way_are_no_orphans(house: House) -> None:
    upload = await begun(house)
    alone = str(uuid.uuid4())
    await house.blobs.put_small(blob_names.part(alone, 1, str(uuid.uuid4())), b"of nothing")
    orphans = OrphanSweep(house.store.database, house.blobs, age_s=-60)

    await orphans.sweep()
    await orphans.sweep()

    assert await is_there(house, upload) == (True, 1, 1)
    assert [each async for each in house.blobs.list(blob_names.upload(alone))] == []


async def test_parts_that_a_completion_left_are_orphans(house: House) -> None:
    upload = await begun(house)
    await upload.complete(1)
    await house.blobs.put_small(blob_names.part(upload.id, 2, str(uuid.uuid4())), b"left")
    orphans = OrphanSweep(house.store.database, house.blobs, age_s=-60)

    await orphans.sweep()
    await orphans.sweep()

    assert (await is_there(house, upload))[2] == 0
    assert await house.got(f"/object/{upload.bucket}/{upload.key}") == b"one"
