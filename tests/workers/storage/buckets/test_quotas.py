"""Counts and quotas: every way in which a bucket grows or shrinks is counted, and none passes a quota."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest

from schemas.blobs import FormHead, StoredBody
from tests.workers.storage.s3.uploading import Upload as Parts
from tests.workers.storage.storage_pool import ALICE, SERVICE, StoragePool, refusal, request_of
from tests.workers.storage.tus_requests import Uploads
from workers.storage.buckets.quotas import set_quota_in_all
from workers.storage.model.errors import StorageError, StorageErrorCode
from workers.storage.s3.multipart import parts

FULL = (413, "QuotaExceeded", "The quota of the bucket is exceeded")


async def held(storage_pool: StoragePool, bucket: str) -> tuple[int, int]:
    """Give bytes and number of objects, as counted; and make sure that they are those of the rows."""
    found = await storage_pool.ok("GET", f"/bucket/{bucket}/size")
    row = await storage_pool.row(
        "select coalesce(sum((metadata ->> 'size')::bigint), 0)::bigint as size, count(*) as objects"
        " from storage.objects where bucket_id = $1",
        bucket,
    )
    assert (found["size"], found["objects"]) == (row["size"], row["objects"])
    return found["size"], found["objects"]


async def counts_in_all(storage_pool: StoragePool) -> tuple[Any, ...]:
    """Give how far the counts of all buckets are from their rows."""
    return tuple(
        await storage_pool.row(
            "select (select sum(size) from storage.usage_in_all)"
            "   - coalesce(sum(storage.counted_size(metadata)), 0) as size,"
            " (select sum(objects) from storage.usage_in_all) - count(*) as objects from storage.objects"
        )
    )


async def test_every_change_is_counted(storage_pool: StoragePool) -> None:
    name, other = await storage_pool.bucket(), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{name}/a", b"12345")
    await storage_pool.uploaded(f"/object/{name}/b", b"123")
    assert await held(storage_pool, name) == (8, 2)

    await storage_pool.put(f"/object/{name}/a", b"1", method="PUT")
    assert await held(storage_pool, name) == (4, 2)

    await storage_pool.ok(
        "POST", "/object/copy", {"bucketId": name, "sourceKey": "b", "destinationKey": "c/d"}
    )
    assert await held(storage_pool, name) == (7, 3)

    body = {
        "bucketId": name,
        "sourceKey": "b",
        "destinationKey": "b",
        "destinationBucket": other,
    }
    await storage_pool.ok("POST", "/object/move", body)
    assert (await held(storage_pool, name), await held(storage_pool, other)) == ((4, 2), (3, 1))

    folder = {"bucketId": name, "sourcePrefix": "c", "destinationPrefix": "e"}
    await storage_pool.ok("POST", "/object/move", folder)
    assert await held(storage_pool, name) == (4, 2)

    await storage_pool.ok("DELETE", f"/object/{name}", {"prefix": "e", "recursive": True})
    await storage_pool.ok("DELETE", f"/object/{name}/a")
    await storage_pool.ok("POST", f"/bucket/{other}/empty")
    assert (await held(storage_pool, name), await held(storage_pool, other)) == ((0, 0), (0, 0))
    assert await counts_in_all(storage_pool) == (0, 0)


async def test_what_is_only_tried_is_not_counted(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()

    response = await storage_pool.ask(request_of("POST", f"/object/{name}/a", content_length="5"))

    assert response.grant is not None
    assert await held(storage_pool, name) == (0, 0)


async def test_deleted_bucket_leaves_no_counts(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=100)
    await storage_pool.uploaded(f"/object/{name}/a")
    await storage_pool.ok("DELETE", f"/object/{name}/a")
    await storage_pool.ok("DELETE", f"/bucket/{name}")

    for table in ("usage", "quotas"):
        assert (
            await storage_pool.value(f"select count(*) from storage.{table} where bucket_id = $1", name) == 0
        )


async def test_rows_that_are_restored_without_triggers_are_counted(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=3)
    async with storage_pool.admin.transaction():
        await storage_pool.admin.execute("set local session_replication_role = replica")
        await storage_pool.admin.execute(
            "insert into storage.objects (bucket_id, name, metadata) values ($1, 'a', '{\"size\": 5}')", name
        )

    assert await held(storage_pool, name) == (5, 1)


async def test_counts_are_made_anew_from_the_rows(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{name}/a", b"12345")
    await storage_pool.admin.execute("update storage.usage set size = size + 7 where bucket_id = $1", name)

    await storage_pool.admin.execute("select storage.recount_usage()")

    assert await held(storage_pool, name) == (5, 1)
    assert await counts_in_all(storage_pool) == (0, 0)


# --- The quota of a bucket


async def test_quota_is_set_changed_and_lifted(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota="1kb")

    async def quota() -> object:
        return (await storage_pool.ok("GET", f"/bucket/{name}/size"))["quota"]

    assert await quota() == 1000
    assert await storage_pool.ok("PUT", f"/bucket/{name}", {"quota": 5}) == {
        "message": "Successfully updated"
    }
    assert await quota() == 5
    await storage_pool.ok("PUT", f"/bucket/{name}", {"public": True})
    assert await quota() == 5
    await storage_pool.ok("PUT", f"/bucket/{name}", {"quota": None})
    assert await quota() is None
    assert "quota" not in await storage_pool.ok("GET", f"/bucket/{name}")


@pytest.mark.parametrize("quota", [-1, "much", 1.5, 2**63])
async def test_bad_quotas_are_refused(storage_pool: StoragePool, quota: object) -> None:
    name = await storage_pool.bucket()

    assert (await storage_pool.send("PUT", f"/bucket/{name}", {"quota": quota})).status == 400


async def test_only_the_service_role_sets_quotas(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()

    assert (await storage_pool.send("PUT", f"/bucket/{name}", {"quota": 5}, ALICE)).status == 403
    assert (await storage_pool.send("POST", "/bucket", {"name": "x", "quota": 5}, ALICE)).status == 403


async def test_upload_that_has_no_room_is_refused_before_its_bytes(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=10)
    await storage_pool.uploaded(f"/object/{name}/a", b"12345678")

    response = await storage_pool.ask(request_of("POST", f"/object/{name}/b", content_length="3"))

    assert response.grant is None
    assert response.status == 400
    assert refusal(response) == FULL
    assert await storage_pool.uploaded(f"/object/{name}/b", b"12")


async def test_bytes_without_a_declared_length_end_at_the_quota(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=10)
    request = request_of("POST", f"/object/{name}/a")

    wanted = (await storage_pool.ask(request)).grant

    assert wanted is not None
    assert wanted.most == 10
    late = msgspec.structs.replace(request, stored=StoredBody(wanted.ticket, 10, is_too_long=True))
    assert refusal(await storage_pool.ask(late))[:2] == FULL[:2]


async def test_form_is_measured_by_its_file(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=10)
    form = FormHead({}, "text/plain")

    fits = await storage_pool.put(f"/object/{name}/a", b"1234567890", form=form, content_length="500")
    assert fits.status == 200, fits
    await storage_pool.ok("DELETE", f"/object/{name}/a")

    over = await storage_pool.put(f"/object/{name}/a", b"12345678901", form=form, content_length="500")
    assert refusal(over)[:2] == FULL[:2]
    assert await held(storage_pool, name) == (0, 0)


async def test_overwriting_needs_room_only_for_what_it_adds(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=10)
    await storage_pool.uploaded(f"/object/{name}/a", b"12345678")

    assert (await storage_pool.put(f"/object/{name}/a", b"1234567890", method="PUT")).status == 200
    assert refusal(await storage_pool.put(f"/object/{name}/a", b"12345678901", method="PUT"))[:2] == FULL[:2]
    assert await storage_pool.got(f"/object/{name}/a") == b"1234567890"


async def test_bucket_that_holds_too_much_may_shrink(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{name}/a", b"12345678")
    await storage_pool.uploaded(f"/object/{name}/b", b"12345678")
    await storage_pool.ok("PUT", f"/bucket/{name}", {"quota": 10})

    assert (await storage_pool.put(f"/object/{name}/a", b"1234567", method="PUT")).status == 200
    await storage_pool.ok("POST", "/object/move", {"bucketId": name, "sourceKey": "a", "destinationKey": "c"})
    assert refusal(await storage_pool.put(f"/object/{name}/d", b"1"))[:2] == FULL[:2]
    await storage_pool.ok("DELETE", f"/object/{name}/c")
    assert await held(storage_pool, name) == (8, 1)


async def test_copies_and_moves_into_a_bucket_keep_to_its_quota(storage_pool: StoragePool) -> None:
    name, small = await storage_pool.bucket(), await storage_pool.bucket(quota=4)
    await storage_pool.uploaded(f"/object/{name}/a", b"12345")
    body = {"bucketId": name, "sourceKey": "a", "destinationKey": "a", "destinationBucket": small}

    assert await storage_pool.refused("POST", "/object/copy", body) == FULL
    assert await storage_pool.refused("POST", "/object/move", body) == FULL
    assert (await held(storage_pool, name), await held(storage_pool, small)) == ((5, 1), (0, 0))
    await storage_pool.ok("PUT", f"/bucket/{small}", {"quota": 5})
    await storage_pool.ok("POST", "/object/move", body)
    assert (await held(storage_pool, name), await held(storage_pool, small)) == ((0, 0), (5, 1))


async def test_uploads_at_the_same_time_do_not_pass_the_quota_together(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=50)

    async def upload(number: int) -> int:
        request = request_of("POST", f"/object/{name}/{number}", content_length="10")
        wanted = (await storage_pool.ask(request)).grant
        assert wanted is not None
        granted.append(wanted)
        if len(granted) == 16:
            all_granted.set()
        await all_granted.wait()
        _, stored = await storage_pool.stored(wanted, b"0123456789", {})
        answer = await storage_pool.ask(msgspec.structs.replace(request, stored=stored))
        if answer.status != 200:
            assert refusal(answer) == FULL
        return answer.status

    granted: list[object] = []
    all_granted = asyncio.Event()

    statuses = await asyncio.gather(*(upload(number) for number in range(16)))

    assert statuses.count(200) == 5
    assert await held(storage_pool, name) == (50, 5)


async def test_sql_keeps_to_the_quota_as_well(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=4)

    with pytest.raises(asyncpg.PostgresError, match="The quota of the bucket is exceeded"):
        await storage_pool.admin.execute(
            "insert into storage.objects (bucket_id, name, metadata) values ($1, 'a', '{\"size\": 5}')", name
        )


async def test_resumable_uploads_keep_to_the_quota_before_and_after_their_bytes(
    storage_pool: StoragePool,
) -> None:
    name, uploads = await storage_pool.bucket(quota=10), Uploads(storage_pool)

    early = await uploads.create(name, "a", 11)
    first, second = await uploads.begun(name, "b", 8), await uploads.begun(name, "c", 8)
    done = await uploads.patch(first, 0, b"12345678")
    late = await uploads.patch(second, 0, b"12345678")

    assert (early.status, done.status, late.status) == (413, 204, 413)
    assert await held(storage_pool, name) == (8, 1)


# --- The quota of all buckets


@pytest.fixture
async def room(storage_pool: StoragePool) -> AsyncIterator[int]:
    """Leave ten bytes for all buckets together."""
    used = int(await storage_pool.value("select coalesce(sum(size), 0) from storage.usage_in_all"))
    await set_quota_in_all(storage_pool.store.database, used + 10)
    yield 10
    await set_quota_in_all(storage_pool.store.database, None)


async def test_quota_of_all_buckets_holds_beside_their_own(storage_pool: StoragePool, room: int) -> None:
    name, other = await storage_pool.bucket(quota=9), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{name}/a", b"12345")

    refused = refusal(await storage_pool.put(f"/object/{other}/a", b"1" * (room - 4)))
    assert refused == (413, "QuotaExceeded", "The quota of the storage is exceeded")
    assert refusal(await storage_pool.put(f"/object/{name}/b", b"12345")) == FULL
    assert await storage_pool.uploaded(f"/object/{other}/a", b"12345")
    body = {"bucketId": name, "sourceKey": "a", "destinationKey": "b", "destinationBucket": other}
    await storage_pool.ok("POST", "/object/move", body)
    assert (await held(storage_pool, name), await held(storage_pool, other)) == ((0, 0), (10, 2))


async def test_quota_of_all_buckets_is_lifted(storage_pool: StoragePool, room: int) -> None:
    name = await storage_pool.bucket()
    await set_quota_in_all(storage_pool.store.database, 0)
    assert refusal(await storage_pool.put(f"/object/{name}/a", b"1"))[1] == "QuotaExceeded"

    await set_quota_in_all(storage_pool.store.database, None)

    assert await storage_pool.uploaded(f"/object/{name}/a", b"1" * (room + 1), SERVICE)


# --- While bytes come


async def test_parts_end_where_the_quota_does(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(quota=10)
    await storage_pool.uploaded(f"/object/{name}/a", b"123")
    upload = await Parts(storage_pool.store, name, "b").begin()
    await upload.part(1, b"1234")
    query = f"partNumber=2&uploadId={upload.id}"

    second = (await parts.put(storage_pool.store, upload.s3_request("PUT", query))).grant
    again = (await parts.put(storage_pool.store, upload.s3_request("PUT", query.replace("2", "1", 1)))).grant

    assert second is not None
    assert again is not None
    assert (second.most, again.most) == (3, 7)
    await storage_pool.uploaded(f"/object/{name}/c", b"1234")
    with pytest.raises(StorageError) as refused:
        await parts.put(storage_pool.store, upload.s3_request("PUT", query))
    assert refused.value.code is StorageErrorCode.QUOTA_EXCEEDED
    assert await held(storage_pool, name) == (7, 2)


async def test_resumable_upload_of_unknown_length_ends_where_the_quota_does(
    storage_pool: StoragePool,
) -> None:
    name, uploads = await storage_pool.bucket(quota=10), Uploads(storage_pool)
    await storage_pool.uploaded(f"/object/{name}/a", b"123")
    path = await uploads.begun(name, "b", None)

    announced = await uploads.patch(path, 0, b"12345678")
    first = await uploads.patch(path, 0, b"1234")
    unannounced = await uploads.patch(path, 4, b"5678", content_length=None)
    rest = await uploads.patch(path, 4, b"567", upload_length="7")

    assert (announced.status, first.status, unannounced.status, rest.status) == (413, 204, 413, 204)
    assert [b"quota" in each.body.lower() for each in (announced, unannounced)] == [True, True]
    assert await held(storage_pool, name) == (10, 2)
