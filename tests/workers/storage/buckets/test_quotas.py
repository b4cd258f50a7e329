"""Counts and quotas: every way in which a bucket grows or shrinks is counted, and none passes a quota."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest

from schemas.blobs import FormHead, StoredBody
from tests.workers.storage.house import ALICE, SERVICE, House, refusal, request_of
from tests.workers.storage.s3.uploading import Upload as Parts
from tests.workers.storage.tus_house import Uploads
from workers.storage.buckets.quotas import set_quota_in_all
from workers.storage.model.errors import StorageError, StorageErrorCode
from workers.storage.s3.multipart import parts

FULL = (413, "QuotaExceeded", "The quota of the bucket is exceeded")


async def held(house: House, bucket: str) -> tuple[int, int]:
    """Give bytes and number of objects, as counted; and make sure that they are those of the rows."""
    found = await house.ok("GET", f"/bucket/{bucket}/size")
    row = await house.row(
        "select coalesce(sum((metadata ->> 'size')::bigint), 0)::bigint as size, count(*) as objects"
        " from storage.objects where bucket_id = $1",
        bucket,
    )
    assert (found["size"], found["objects"]) == (row["size"], row["objects"])
    return found["size"], found["objects"]


async def counts_in_all(house: House) -> tuple[Any, ...]:
    """Give how far the counts of all buckets are from their rows."""
    return tuple(
        await house.row(
            "select (select sum(size) from storage.usage_in_all)"
            "   - coalesce(sum(storage.counted_size(metadata)), 0) as size,"
            " (select sum(objects) from storage.usage_in_all) - count(*) as objects from storage.objects"
        )
    )


async def test_every_change_is_counted(house: House) -> None:
    name, other = await house.bucket(), await house.bucket()
    await house.uploaded(f"/object/{name}/a", b"12345")
    await house.uploaded(f"/object/{name}/b", b"123")
    assert await held(house, name) == (8, 2)

    await house.put(f"/object/{name}/a", b"1", method="PUT")
    assert await held(house, name) == (4, 2)

    await house.ok("POST", "/object/copy", {"bucketId": name, "sourceKey": "b", "destinationKey": "c/d"})
    assert await held(house, name) == (7, 3)

    body = {
        "bucketId": name,
        "sourceKey": "b",
        "destinationKey": "b",
        "destinationBucket": other,
    }
    await house.ok("POST", "/object/move", body)
    assert (await held(house, name), await held(house, other)) == ((4, 2), (3, 1))

    folder = {"bucketId": name, "sourcePrefix": "c", "destinationPrefix": "e"}
    await house.ok("POST", "/object/move", folder)
    assert await held(house, name) == (4, 2)

    await house.ok("DELETE", f"/object/{name}", {"prefix": "e", "recursive": True})
    await house.ok("DELETE", f"/object/{name}/a")
    await house.ok("POST", f"/bucket/{other}/empty")
    assert (await held(house, name), await held(house, other)) == ((0, 0), (0, 0))
    assert await counts_in_all(house) == (0, 0)


async def test_what_is_only_tried_is_not_counted(house: House) -> None:
    name = await house.bucket()

    response = await house.ask(request_of("POST", f"/object/{name}/a", content_length="5"))

    assert response.grant is not None
    assert await held(house, name) == (0, 0)


async def test_deleted_bucket_leaves_no_counts(house: House) -> None:
    name = await house.bucket(quota=100)
    await house.uploaded(f"/object/{name}/a")
    await house.ok("DELETE", f"/object/{name}/a")
    await house.ok("DELETE", f"/bucket/{name}")

    for table in ("usage", "quotas"):
        assert await house.value(f"select count(*) from storage.{table} where bucket_id = $1", name) == 0


async def test_rows_that_are_restored_without_triggers_are_counted(house: House) -> None:
    name = await house.bucket(quota=3)
    async with house.admin.transaction():
        await house.admin.execute("set local session_replication_role = replica")
        await house.admin.execute(
            "insert into storage.objects (bucket_id, name, metadata) values ($1, 'a', '{\"size\": 5}')", name
        )

    assert await held(house, name) == (5, 1)


async def test_counts_are_made_anew_from_the_rows(house: House) -> None:
    name = await house.bucket()
    await house.uploaded(f"/object/{name}/a", b"12345")
    await house.admin.execute("update storage.usage set size = size + 7 where bucket_id = $1", name)

    await house.admin.execute("select storage.recount_usage()")

    assert await held(house, name) == (5, 1)
    assert await counts_in_all(house) == (0, 0)


# --- The quota of a bucket


async def test_quota_is_set_changed_and_lifted(house: House) -> None:
    name = await house.bucket(quota="1kb")

    async def quota() -> object:
        return (await house.ok("GET", f"/bucket/{name}/size"))["quota"]

    assert await quota() == 1000
    assert await house.ok("PUT", f"/bucket/{name}", {"quota": 5}) == {"message": "Successfully updated"}
    assert await quota() == 5
    await house.ok("PUT", f"/bucket/{name}", {"public": True})
    assert await quota() == 5
    await house.ok("PUT", f"/bucket/{name}", {"quota": None})
    assert await quota() is None
    assert "quota" not in await house.ok("GET", f"/bucket/{name}")


@pytest.mark.parametrize("quota", [-1, "much", 1.5, 2**63])
async def test_bad_quotas_are_refused(house: House, quota: object) -> None:
    name = await house.bucket()

    assert (await house.send("PUT", f"/bucket/{name}", {"quota": quota})).status == 400


async def test_only_the_service_role_sets_quotas(house: House) -> None:
    name = await house.bucket()

    assert (await house.send("PUT", f"/bucket/{name}", {"quota": 5}, ALICE)).status == 403
    assert (await house.send("POST", "/bucket", {"name": "x", "quota": 5}, ALICE)).status == 403


async def test_upload_that_has_no_room_is_refused_before_its_bytes(house: House) -> None:
    name = await house.bucket(quota=10)
    await house.uploaded(f"/object/{name}/a", b"12345678")

    response = await house.ask(request_of("POST", f"/object/{name}/b", content_length="3"))

    assert response.grant is None
    assert response.status == 400
    assert refusal(response) == FULL
    assert await house.uploaded(f"/object/{name}/b", b"12")


async def test_bytes_without_a_declared_length_end_at_the_quota(house: House) -> None:
    name = await house.bucket(quota=10)
    request = request_of("POST", f"/object/{name}/a")

    wanted = (await house.ask(request)).grant

    assert wanted is not None
    assert wanted.most == 10
    late = msgspec.structs.replace(request, stored=StoredBody(wanted.ticket, 10, is_too_long=True))
    assert refusal(await house.ask(late))[:2] == FULL[:2]


async def test_form_is_measured_by_its_file(house: House) -> None:
    name = await house.bucket(quota=10)
    form = FormHead({}, "text/plain")

    fits = await house.put(f"/object/{name}/a", b"1234567890", form=form, content_length="500")
    assert fits.status == 200, fits
    await house.ok("DELETE", f"/object/{name}/a")

    over = await house.put(f"/object/{name}/a", b"12345678901", form=form, content_length="500")
    assert refusal(over)[:2] == FULL[:2]
    assert await held(house, name) == (0, 0)


async def test_overwriting_needs_room_only_for_what_it_adds(house: House) -> None:
    name = await house.bucket(quota=10)
    await house.uploaded(f"/object/{name}/a", b"12345678")

    assert (await house.put(f"/object/{name}/a", b"1234567890", method="PUT")).status == 200
    assert refusal(await house.put(f"/object/{name}/a", b"12345678901", method="PUT"))[:2] == FULL[:2]
    assert await house.got(f"/object/{name}/a") == b"1234567890"


async def test_bucket_that_holds_too_much_may_shrink(house: House) -> None:
    name = await house.bucket()
    await house.uploaded(f"/object/{name}/a", b"12345678")
    await house.uploaded(f"/object/{name}/b", b"12345678")
    await house.ok("PUT", f"/bucket/{name}", {"quota": 10})

    assert (await house.put(f"/object/{name}/a", b"1234567", method="PUT")).status == 200
    await house.ok("POST", "/object/move", {"bucketId": name, "sourceKey": "a", "destinationKey": "c"})
    assert refusal(await house.put(f"/object/{name}/d", b"1"))[:2] == FULL[:2]
    await house.ok("DELETE", f"/object/{name}/c")
    assert await held(house, name) == (8, 1)


async def test_copies_and_moves_into_a_bucket_keep_to_its_quota(house: House) -> None:
    name, small = await house.bucket(), await house.bucket(quota=4)
    await house.uploaded(f"/object/{name}/a", b"12345")
    body = {"bucketId": name, "sourceKey": "a", "destinationKey": "a", "destinationBucket": small}

    assert await house.refused("POST", "/object/copy", body) == FULL
    assert await house.refused("POST", "/object/move", body) == FULL
    assert (await held(house, name), await held(house, small)) == ((5, 1), (0, 0))
    await house.ok("PUT", f"/bucket/{small}", {"quota": 5})
    await house.ok("POST", "/object/move", body)
    assert (await held(house, name), await held(house, small)) == ((0, 0), (5, 1))


async def test_uploads_at_the_same_time_do_not_pass_the_quota_together(house: House) -> None:
    name = await house.bucket(quota=50)

    async def upload(number: int) -> int:
        request = request_of("POST", f"/object/{name}/{number}", content_length="10")
        wanted = (await house.ask(request)).grant
        assert wanted is not None
        granted.append(wanted)
        if len(granted) == 16:
            all_granted.set()
        await all_granted.wait()
        _, stored = await house.stored(wanted, b"0123456789", {})
        answer = await house.ask(msgspec.structs.replace(request, stored=stored))
        if answer.status != 200:
            assert refusal(answer) == FULL
        return answer.status

    granted: list[object] = []
    all_granted = asyncio.Event()

    statuses = await asyncio.gather(*(upload(number) for number in range(16)))

    assert statuses.count(200) == 5
    assert await held(house, name) == (50, 5)


async def test_sql_keeps_to_the_quota_as_well(house: House) -> None:
    name = await house.bucket(quota=4)

    with pytest.raises(asyncpg.PostgresError, match="The quota of the bucket is exceeded"):
        await house.admin.execute(
            "insert into storage.objects (bucket_id, name, metadata) values ($1, 'a', '{\"size\": 5}')", name
        )


async def test_resumable_uploads_keep_to_the_quota_before_and_after_their_bytes(house: House) -> None:
    name, uploads = await house.bucket(quota=10), Uploads(house)

    early = await uploads.create(name, "a", 11)
    first, second = await uploads.begun(name, "b", 8), await uploads.begun(name, "c", 8)
    done = await uploads.patch(first, 0, b"12345678")
    late = await uploads.patch(second, 0, b"12345678")

    assert (early.status, done.status, late.status) == (413, 204, 413)
    assert await held(house, name) == (8, 1)


# --- The quota of all buckets


@pytest.fixture
async def room(house: House) -> AsyncIterator[int]:
    """Leave ten bytes for all buckets together."""
    used = int(await house.value("select coalesce(sum(size), 0) from storage.usage_in_all"))
    await set_quota_in_all(house.store.database, used + 10)
    yield 10
    await set_quota_in_all(house.store.database, None)


async def test_quota_of_all_buckets_holds_beside_their_own(house: House, room: int) -> None:
    name, other = await house.bucket(quota=9), await house.bucket()
    await house.uploaded(f"/object/{name}/a", b"12345")

    refused = refusal(await house.put(f"/object/{other}/a", b"1" * (room - 4)))
    assert refused == (413, "QuotaExceeded", "The quota of the storage is exceeded")
    assert refusal(await house.put(f"/object/{name}/b", b"12345")) == FULL
    assert await house.uploaded(f"/object/{other}/a", b"12345")
    body = {"bucketId": name, "sourceKey": "a", "destinationKey": "b", "destinationBucket": other}
    await house.ok("POST", "/object/move", body)
    assert (await held(house, name), await held(house, other)) == ((0, 0), (10, 2))


async def test_quota_of_all_buckets_is_lifted(house: House, room: int) -> None:
    name = await house.bucket()
    await set_quota_in_all(house.store.database, 0)
    assert refusal(await house.put(f"/object/{name}/a", b"1"))[1] == "QuotaExceeded"

    await set_quota_in_all(house.store.database, None)

    assert await house.uploaded(f"/object/{name}/a", b"1" * (room + 1), SERVICE)


# --- While bytes come


async def test_parts_end_where_the_quota_does(house: House) -> None:
    name = await house.bucket(quota=10)
    await house.uploaded(f"/object/{name}/a", b"123")
    upload = await Parts(house.store, name, "b").begin()
    await upload.part(1, b"1234")
    query = f"partNumber=2&uploadId={upload.id}"

    second = (await parts.put(house.store, upload.s3_request("PUT", query))).grant
    again = (await parts.put(house.store, upload.s3_request("PUT", query.replace("2", "1", 1)))).grant

    assert second is not None
    assert again is not None
    assert (second.most, again.most) == (3, 7)
    await house.uploaded(f"/object/{name}/c", b"1234")
    with pytest.raises(StorageError) as refused:
        await parts.put(house.store, upload.s3_request("PUT", query))
    assert refused.value.code is StorageErrorCode.QUOTA_EXCEEDED
    assert await held(house, name) == (7, 2)


async def test_resumable_upload_of_unknown_length_ends_where_the_quota_does(house: House) -> None:
    name, uploads = await house.bucket(quota=10), Uploads(house)
    await house.uploaded(f"/object/{name}/a", b"123")
    path = await uploads.begun(name, "b", None)

    announced = await uploads.patch(path, 0, b"12345678")
    first = await uploads.patch(path, 0, b"1234")
    unannounced = await uploads.patch(path, 4, b"5678", content_length=None)
    rest = await uploads.patch(path, 4, b"567", upload_length="7")

    assert (announced.status, first.status, unannounced.status, rest.status) == (413, 204, 413, 204)
    assert [b"quota" in each.body.lower() for each in (announced, unannounced)] == [True, True]
    assert await held(house, name) == (10, 2)
