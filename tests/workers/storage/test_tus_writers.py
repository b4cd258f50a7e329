"""One writer for each resumable upload; what edges that die leave behind; the end of an upload's time."""

import asyncio

import msgspec
import pytest

from broker.blobs import blob_names
from schemas.blobs import StoredBody, UploadGrant
from schemas.http import Request, Response
from tests.workers.storage.house import ALICE, NOBODY, House, told
from tests.workers.storage.test_tus import DATA, refusal
from tests.workers.storage.tus_house import BODY, Uploads
from workers.storage.sweeps.expired_uploads import sweep_resumable_uploads
from workers.storage.tus import rows


async def granted(uploads: Uploads, path: str, offset: int) -> tuple[Request, UploadGrant]:
    """Become the writer of an upload."""
    request = uploads.request("PATCH", path, upload_offset=str(offset), content_type=BODY)
    first = await uploads.house.ask(request)
    assert first.grant is not None, first
    return request, first.grant


async def told_of(house: House, request: Request, stored: StoredBody) -> Response:
    return await house.ask(msgspec.structs.replace(request, stored=stored))


async def renewed(house: House, request: Request, wanted: UploadGrant) -> int:
    stored = StoredBody(wanted.ticket, 0, is_complete=False, is_under_way=True)
    return (await told_of(house, request, stored)).status


async def version_of(house: House, bucket: str) -> str:
    return str(await house.value("select version from storage.tus_uploads where bucket_id = $1", bucket))


async def lapse(house: House, bucket: str) -> None:
    """Have the time of a writer be over."""
    sql = "update storage.tus_uploads set leased_until = now() - interval '1 second' where bucket_id = $1"
    await house.admin.execute(sql, bucket)


async def expire(house: House, bucket: str) -> None:
    sql = "update storage.tus_uploads set expires_at = now() - interval '1 second' where bucket_id = $1"
    await house.admin.execute(sql, bucket)


async def awaited(house: House, bucket: str) -> None:
    """Wait until somebody waits."""
    sql = "select is_awaited from storage.tus_uploads where bucket_id = $1"
    async with asyncio.timeout(10):
        while not await house.value(sql, bucket):
            await asyncio.sleep(0.01)


async def test_writer_goes_on_until_another_waits(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    assert await renewed(house, request, wanted) == 204

    second = asyncio.create_task(uploads.patch(path, 5, DATA[5:]))
    await awaited(house, bucket)
    assert await renewed(house, request, wanted) == 423
    stored = await uploads.appended(wanted, DATA[:5])
    first = await told_of(house, request, stored)

    assert (first.status, told(first, "upload-offset")) == (204, "5")
    assert told(await second, "tus-complete") == "1"
    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_look_waits_for_the_writer(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)

    looking = asyncio.create_task(uploads.offset(path))
    await awaited(house, bucket)
    assert not looking.done()
    await told_of(house, request, await uploads.appended(wanted, DATA[:7]))

    assert await looking == 7


async def test_waiting_has_an_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    await granted(uploads, path, 0)

    monkeypatch.setattr(rows, "WAIT_S", 0.0)
    refused = [
        await uploads.patch(path, 0, DATA),
        await uploads.head(path),
        await uploads.ask("DELETE", path),
    ]

    assert [refusal(each) for each in refused] == [(503, "acquiring lock timeout")] * 3
    assert {told(each, "retry-after") for each in refused} == {"1"}


async def test_writer_that_died_is_followed_by_another(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await uploads.appended(wanted, DATA[:6])
    await lapse(house, bucket)

    assert await uploads.offset(path) == 6
    done = await uploads.patch(path, 6, DATA[6:])
    late = await told_of(house, request, StoredBody(wanted.ticket, 6))

    assert told(done, "tus-complete") == "1"
    assert late.status == 204, "it was told of an upload that is complete"
    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_writer_that_was_replaced_is_refused(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await lapse(house, bucket)
    _, other = await granted(uploads, path, 0)
    stored = await uploads.appended(other, DATA)

    assert await renewed(house, request, wanted) == 423
    assert refusal(await told_of(house, request, StoredBody(wanted.ticket, 3))) == (
        423,
        "The resource is locked",
    )
    forged = msgspec.structs.replace(stored, ticket=wanted.ticket)
    assert refusal(await told_of(house, request, forged)) == (423, "The resource is locked")
    assert refusal(await told_of(house, request, StoredBody(b"x", 3))) == (423, "The resource is locked")
    assert await house.count(bucket) == 0


async def test_writer_that_is_late_but_alone_is_heard(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await lapse(house, bucket)

    assert (await told_of(house, request, await uploads.appended(wanted, DATA))).status == 204


async def test_telling_twice_makes_one_object(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    stored = await uploads.appended(wanted, DATA)

    answers = await asyncio.gather(*(told_of(house, request, stored) for _ in range(4)))

    assert [(each.status, told(each, "tus-complete")) for each in answers] == [(204, "1")] * 4
    assert await house.count(bucket) == 1


async def test_who_waited_too_long_cannot_write_over_what_is_complete(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    others = [asyncio.create_task(uploads.patch(path, at, b"x" * (21 - at))) for at in (0, 21)]
    ending = asyncio.create_task(uploads.ask("DELETE", path))
    await awaited(house, bucket)

    await told_of(house, request, await uploads.appended(wanted, DATA))
    first, second = await asyncio.gather(*others)

    assert refusal(first) == (409, "Upload-Offset conflict")
    assert (second.status, told(second, "tus-complete")) == (204, "1")
    assert refusal(await ending) == (409, "The upload is complete")
    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_length_that_another_writer_told_holds(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", None)
    request, wanted = await granted(uploads, path, 0)
    longer = asyncio.create_task(uploads.patch(path, 0, DATA, upload_length="30"))
    await awaited(house, bucket)

    await house.admin.execute(
        "update storage.tus_uploads set upload_length = 21, writer = null where bucket_id = $1", bucket
    )

    assert refusal(await longer) == (409, "Upload-Offset conflict")
    assert (await told_of(house, request, StoredBody(wanted.ticket, 0))).status == 423


async def test_last_bytes_of_an_edge_that_died_become_an_object(house: House) -> None:
    bucket = await house.bucket()
    await house.policy(bucket, "insert")
    alice = Uploads(house, ALICE)
    path = await alice.begun(bucket, "a", 21)
    _, wanted = await granted(alice, path, 0)
    await alice.appended(wanted, DATA)
    await lapse(house, bucket)

    nobody = Uploads(house, NOBODY, is_known=False)
    assert (await nobody.head(path)).status == 401, "who may not finish it is not told that it is whole"
    offsets = await asyncio.gather(*(alice.offset(path) for _ in range(3)))

    assert offsets == [21] * 3
    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA
    assert await house.count(bucket) == 1


async def test_bytes_are_dropped_when_the_object_has_them(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    version = await version_of(house, bucket)
    await uploads.patch(path, 0, DATA)

    async with asyncio.timeout(10):
        while await house.blobs.appended(version):
            await asyncio.sleep(0.01)

    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA


# --- Time


async def test_upload_ends_with_its_time(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA[:5])
    version = await version_of(house, bucket)

    await expire(house, bucket)
    gone = [
        await uploads.head(path),
        await uploads.patch(path, 5, DATA[5:]),
        await uploads.ask("DELETE", path),
    ]
    while await sweep_resumable_uploads(house.store.database, house.blobs):
        pass

    assert [refusal(each) for each in gone] == [(410, "The upload has expired")] * 3
    assert await house.blobs.appended(version) == 0
    assert refusal(await uploads.head(path)) == (404, "Upload not found")


async def test_setting_says_how_long_an_upload_is_kept(house: House) -> None:
    short = house.having(tus_expiry=60)
    bucket = await house.bucket()

    await Uploads(short).begun(bucket, "a", 21)

    left = await house.value(
        "select extract(epoch from expires_at - now())::int from storage.tus_uploads where bucket_id = $1",
        bucket,
    )
    assert 0 < left <= 60


async def test_upload_that_is_being_written_is_not_swept(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await expire(house, bucket)

    while await sweep_resumable_uploads(house.store.database, house.blobs):
        pass
    done = await told_of(house, request, await uploads.appended(wanted, DATA))

    assert done.status == 204
    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_sweep_leaves_the_object_of_a_finished_upload(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA)
    await expire(house, bucket)

    while await sweep_resumable_uploads(house.store.database, house.blobs):
        pass

    assert await house.value("select count(*) from storage.tus_uploads where bucket_id = $1", bucket) == 0
    assert await house.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_sweep_takes_the_blob_of_a_completion_that_failed(house: House) -> None:
    bucket, uploads = await house.bucket(), Uploads(house)
    path = await uploads.begun(bucket, "a", 21)
    _, wanted = await granted(uploads, path, 0)
    await uploads.appended(wanted, DATA)
    version = await version_of(house, bucket)
    await lapse(house, bucket)
    await expire(house, bucket)
    assert version in await house.blob_names()

    while await sweep_resumable_uploads(house.store.database, house.blobs):
        pass

    assert version not in await house.blob_names()
    assert [each async for each in house.blobs.list(blob_names.upload(version))] == []
