"""One writer for each resumable upload; what edges that die leave behind; the end of an upload's time."""

import asyncio

import msgspec
import pytest

from broker.blobs import blob_names
from schemas.blobs import StoredBody, UploadGrant
from schemas.http import Request, Response
from tests.workers.storage.storage_pool import ALICE, NOBODY, StoragePool, told
from tests.workers.storage.test_tus import DATA, refusal
from tests.workers.storage.tus_requests import BODY, Uploads
from workers.storage.sweeps.expired_uploads import sweep_resumable_uploads
from workers.storage.tus import rows


async def granted(uploads: Uploads, path: str, offset: int) -> tuple[Request, UploadGrant]:
    """Become the writer of an upload."""
    request = uploads.request("PATCH", path, upload_offset=str(offset), content_type=BODY)
    first = await uploads.storage_pool.ask(request)
    assert first.grant is not None, first
    return request, first.grant


async def told_of(storage_pool: StoragePool, request: Request, stored: StoredBody) -> Response:
    return await storage_pool.ask(msgspec.structs.replace(request, stored=stored))


async def renewed(storage_pool: StoragePool, request: Request, wanted: UploadGrant) -> int:
    stored = StoredBody(wanted.ticket, 0, is_complete=False, is_under_way=True)
    return (await told_of(storage_pool, request, stored)).status


async def version_of(storage_pool: StoragePool, bucket: str) -> str:
    return str(
        await storage_pool.value("select version from storage.tus_uploads where bucket_id = $1", bucket)
    )


async def lapse(storage_pool: StoragePool, bucket: str) -> None:
    """Have the time of a writer be over."""
    sql = "update storage.tus_uploads set leased_until = now() - interval '1 second' where bucket_id = $1"
    await storage_pool.admin.execute(sql, bucket)


async def expire(storage_pool: StoragePool, bucket: str) -> None:
    sql = "update storage.tus_uploads set expires_at = now() - interval '1 second' where bucket_id = $1"
    await storage_pool.admin.execute(sql, bucket)


async def awaited(storage_pool: StoragePool, bucket: str) -> None:
    """Wait until somebody waits."""
    sql = "select is_awaited from storage.tus_uploads where bucket_id = $1"
    async with asyncio.timeout(60):
        while not await storage_pool.value(sql, bucket):
            await asyncio.sleep(0.01)


async def test_writer_goes_on_until_another_waits(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    assert await renewed(storage_pool, request, wanted) == 204

    second = asyncio.create_task(uploads.patch(path, 5, DATA[5:]))
    await awaited(storage_pool, bucket)
    assert await renewed(storage_pool, request, wanted) == 423
    stored = await uploads.appended(wanted, DATA[:5])
    first = await told_of(storage_pool, request, stored)

    assert (first.status, told(first, "upload-offset")) == (204, "5")
    assert told(await second, "tus-complete") == "1"
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_look_waits_for_the_writer(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)

    looking = asyncio.create_task(uploads.offset(path))
    await awaited(storage_pool, bucket)
    assert not looking.done()
    await told_of(storage_pool, request, await uploads.appended(wanted, DATA[:7]))

    assert await looking == 7


async def test_waiting_has_an_end(storage_pool: StoragePool, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
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


async def test_writer_that_died_is_followed_by_another(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await uploads.appended(wanted, DATA[:6])
    await lapse(storage_pool, bucket)

    assert await uploads.offset(path) == 6
    done = await uploads.patch(path, 6, DATA[6:])
    late = await told_of(storage_pool, request, StoredBody(wanted.ticket, 6))

    assert told(done, "tus-complete") == "1"
    assert late.status == 204, "it was told of an upload that is complete"
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_writer_that_was_replaced_is_refused(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await lapse(storage_pool, bucket)
    _, other = await granted(uploads, path, 0)
    stored = await uploads.appended(other, DATA)

    assert await renewed(storage_pool, request, wanted) == 423
    assert refusal(await told_of(storage_pool, request, StoredBody(wanted.ticket, 3))) == (
        423,
        "The resource is locked",
    )
    forged = msgspec.structs.replace(stored, ticket=wanted.ticket)
    assert refusal(await told_of(storage_pool, request, forged)) == (423, "The resource is locked")
    assert refusal(await told_of(storage_pool, request, StoredBody(b"x", 3))) == (
        423,
        "The resource is locked",
    )
    assert await storage_pool.count(bucket) == 0


async def test_writer_that_is_late_but_alone_is_heard(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await lapse(storage_pool, bucket)

    assert (await told_of(storage_pool, request, await uploads.appended(wanted, DATA))).status == 204


async def test_telling_twice_makes_one_object(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    stored = await uploads.appended(wanted, DATA)

    answers = await asyncio.gather(*(told_of(storage_pool, request, stored) for _ in range(4)))

    assert [(each.status, told(each, "tus-complete")) for each in answers] == [(204, "1")] * 4
    assert await storage_pool.count(bucket) == 1


async def test_who_waited_too_long_cannot_write_over_what_is_complete(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    others = [asyncio.create_task(uploads.patch(path, at, b"x" * (21 - at))) for at in (0, 21)]
    ending = asyncio.create_task(uploads.ask("DELETE", path))
    await awaited(storage_pool, bucket)

    await told_of(storage_pool, request, await uploads.appended(wanted, DATA))
    first, second = await asyncio.gather(*others)

    assert refusal(first) == (409, "Upload-Offset conflict")
    assert (second.status, told(second, "tus-complete")) == (204, "1")
    assert refusal(await ending) == (409, "The upload is complete")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_length_that_another_writer_told_holds(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", None)
    request, wanted = await granted(uploads, path, 0)
    longer = asyncio.create_task(uploads.patch(path, 0, DATA, upload_length="30"))
    await awaited(storage_pool, bucket)

    await storage_pool.admin.execute(
        "update storage.tus_uploads set upload_length = 21, writer = null where bucket_id = $1", bucket
    )

    assert refusal(await longer) == (409, "Upload-Offset conflict")
    assert (await told_of(storage_pool, request, StoredBody(wanted.ticket, 0))).status == 423


async def test_last_bytes_of_an_edge_that_died_become_an_object(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert")
    alice = Uploads(storage_pool, ALICE)
    path = await alice.begun(bucket, "a", 21)
    _, wanted = await granted(alice, path, 0)
    await alice.appended(wanted, DATA)
    await lapse(storage_pool, bucket)

    nobody = Uploads(storage_pool, NOBODY, is_known=False)
    assert (await nobody.head(path)).status == 401, "who may not finish it is not told that it is whole"
    offsets = await asyncio.gather(*(alice.offset(path) for _ in range(3)))

    assert offsets == [21] * 3
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA
    assert await storage_pool.count(bucket) == 1


async def test_bytes_are_dropped_when_the_object_has_them(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    version = await version_of(storage_pool, bucket)
    await uploads.patch(path, 0, DATA)

    async with asyncio.timeout(60):
        while await storage_pool.blobs.appended(version):
            await asyncio.sleep(0.01)

    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


# --- Time


async def test_upload_ends_with_its_time(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA[:5])
    version = await version_of(storage_pool, bucket)

    await expire(storage_pool, bucket)
    gone = [
        await uploads.head(path),
        await uploads.patch(path, 5, DATA[5:]),
        await uploads.ask("DELETE", path),
    ]
    while await sweep_resumable_uploads(storage_pool.store.database, storage_pool.blobs):
        pass

    assert [refusal(each) for each in gone] == [(410, "The upload has expired")] * 3
    assert await storage_pool.blobs.appended(version) == 0
    assert refusal(await uploads.head(path)) == (404, "Upload not found")


async def test_setting_says_how_long_an_upload_is_kept(storage_pool: StoragePool) -> None:
    short = storage_pool.having(tus_expiry=60)
    bucket = await storage_pool.bucket()

    await Uploads(short).begun(bucket, "a", 21)

    left = await storage_pool.value(
        "select extract(epoch from expires_at - now())::int from storage.tus_uploads where bucket_id = $1",
        bucket,
    )
    assert 0 < left <= 60


async def test_upload_that_is_being_written_is_not_swept(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request, wanted = await granted(uploads, path, 0)
    await expire(storage_pool, bucket)

    while await sweep_resumable_uploads(storage_pool.store.database, storage_pool.blobs):
        pass
    done = await told_of(storage_pool, request, await uploads.appended(wanted, DATA))

    assert done.status == 204
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_sweep_leaves_the_object_of_a_finished_upload(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA)
    await expire(storage_pool, bucket)

    while await sweep_resumable_uploads(storage_pool.store.database, storage_pool.blobs):
        pass

    assert (
        await storage_pool.value("select count(*) from storage.tus_uploads where bucket_id = $1", bucket) == 0
    )
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_sweep_takes_the_blob_of_a_completion_that_failed(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    _, wanted = await granted(uploads, path, 0)
    await uploads.appended(wanted, DATA)
    version = await version_of(storage_pool, bucket)
    await lapse(storage_pool, bucket)
    await expire(storage_pool, bucket)
    assert version in await storage_pool.blob_names()

    while await sweep_resumable_uploads(storage_pool.store.database, storage_pool.blobs):
        pass

    assert version not in await storage_pool.blob_names()
    assert [each async for each in storage_pool.blobs.list(blob_names.upload(version))] == []
