"""Buckets: every call, and who may."""

import json
import re
import uuid
from typing import Any

import pytest

from tests.workers.storage.storage_pool import ALICE, ALICE_ID, ANON, BOB, StoragePool, error_of, shown
from workers.storage.buckets import rows

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_bucket_is_made_and_shown(storage_pool: StoragePool) -> None:
    name = f"b-{uuid.uuid4().hex[:8]}"

    assert await storage_pool.ok("POST", "/bucket", {"name": name}) == {"name": name}
    found = await storage_pool.ok("GET", f"/bucket/{name}")

    assert MOMENT.fullmatch(found.pop("created_at"))
    assert MOMENT.fullmatch(found.pop("updated_at"))
    assert found == {
        "id": name,
        "name": name,
        "public": False,
        "owner": "",
        "file_size_limit": None,
        "allowed_mime_types": None,
    }


async def test_bucket_has_an_id_of_its_own_and_limits(storage_pool: StoragePool) -> None:
    tail = uuid.uuid4().hex[:8]
    body = {
        "id": f"id {tail}",
        "name": f"Name {tail}",
        "public": True,
        "file_size_limit": "1mb",
        "allowed_mime_types": ["image/*", ""],
    }

    assert await storage_pool.ok("POST", "/bucket", body) == {"name": f"Name {tail}"}
    found = await storage_pool.ok("GET", f"/bucket/id%20{tail}")

    assert (found["public"], found["file_size_limit"], found["allowed_mime_types"]) == (
        True,
        1_000_000,
        ["image/*"],
    )


async def test_owner_of_a_bucket_is_who_made_it(storage_pool: StoragePool) -> None:
    tail = uuid.uuid4().hex[:8]
    await storage_pool.admin.execute(
        f"create policy made_{tail} on storage.buckets for insert to authenticated with check (name = 'mine-{tail}')"
    )

    await storage_pool.ok("POST", "/bucket", {"name": f"mine-{tail}"}, ALICE)

    assert (await storage_pool.ok("GET", f"/bucket/mine-{tail}"))["owner"] == ALICE_ID
    assert await storage_pool.refused("GET", f"/bucket/mine-{tail}", None, ALICE) == (
        404,
        "NoSuchBucket",
        "Bucket not found",
    )


async def test_name_is_needed(storage_pool: StoragePool) -> None:
    response = await storage_pool.send("POST", "/bucket", {"public": True})

    assert error_of(response) == "400 400 Error: body must have required property 'name' (InvalidRequest)"


async def test_second_bucket_of_a_name_is_a_conflict(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()

    response = await storage_pool.send("POST", "/bucket", {"name": name})

    assert error_of(response) == "400 409 Duplicate: The resource already exists (BucketAlreadyExists)"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"name": "a/b"}, (400, "InvalidBucketName")),
        ({"name": " a"}, (400, "InvalidBucketName")),
        ({"name": "fine", "id": "a/b"}, (400, "InvalidBucketName")),
        ({"name": "x", "type": "ANALYTICS"}, (409, "FeatureNotEnabled")),
        ({"name": "x", "type": "OTHER"}, (400, "InvalidRequest")),
        ({"name": "x", "public": "maybe"}, (400, "InvalidRequest")),
        ({"name": "x", "file_size_limit": "100gb"}, (413, "EntityTooLarge")),
        ({"name": "x", "allowed_mime_types": ["what"]}, (415, "InvalidMimeType")),
        ({"name": "x", "allowed_mime_types": "image/*"}, (400, "InvalidRequest")),
    ],
)
async def test_bad_buckets_are_refused(
    storage_pool: StoragePool, body: object, found: tuple[int, str]
) -> None:
    assert (await storage_pool.refused("POST", "/bucket", body))[:2] == found


async def test_buckets_are_listed_by_page_order_and_part_of_their_name(storage_pool: StoragePool) -> None:
    tail = uuid.uuid4().hex[:8]
    for name in ("B_1", "a_2", "c"):
        await storage_pool.ok("POST", "/bucket", {"name": f"{tail}{name}"})

    async def names(query: str) -> list[str]:
        found = await storage_pool.ok("GET", f"/bucket?search={tail}{query}")
        return [each["name"].removeprefix(tail) for each in found]

    assert await names("&sortColumn=name") == ["B_1", "a_2", "c"]
    assert await names("&sortColumn=created_at&sortOrder=desc") == ["c", "a_2", "B_1"]
    assert await names("&sortColumn=name&limit=1&offset=1") == ["a_2"]
    assert await names("b_") == ["B_1"]
    assert await names("__") == []
    assert await names("%25") == []
    assert await names("A_2") == ["a_2"]


async def test_type_is_left_out_for_clients_that_do_not_know_it(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()

    async def has_type(**headers: Any) -> bool:
        found = await storage_pool.send("GET", f"/bucket?search={name}", **headers)
        [entry] = json.loads(found.body)
        return "type" in entry

    assert await has_type()
    assert await has_type(x_client_info="supabase-py/2.18.0")
    assert await has_type(user_agent="storage3/0.12.1")
    assert not await has_type(x_client_info="supabase-py/2.17.3")
    assert not await has_type(user_agent="supabase-py/storage3/0.12.0")


@pytest.mark.parametrize("query", ["limit=0", "offset=-1", "sortColumn=owner", "sortOrder=up", "limit=x"])
async def test_bad_listings_are_refused(storage_pool: StoragePool, query: str) -> None:
    assert (await storage_pool.refused("GET", f"/bucket?{query}"))[:2] == (400, "InvalidRequest")


async def test_limit_below_one_is_told_in_known_words(storage_pool: StoragePool) -> None:
    assert (await storage_pool.refused("GET", "/bucket?limit=0"))[2] == "querystring/limit must be >= 1"


async def test_bucket_is_changed(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket(file_size_limit=10, allowed_mime_types=["a/b"])

    body = {"id": "x", "name": "x", "public": True, "file_size_limit": None}
    assert await storage_pool.ok("PUT", f"/bucket/{name}", body) == {"message": "Successfully updated"}
    found = await storage_pool.ok("GET", f"/bucket/{name}")

    assert (found["name"], found["public"], found["file_size_limit"]) == (name, True, None)
    assert found["allowed_mime_types"] == ["a/b"]
    assert await storage_pool.ok("PUT", f"/bucket/{name}", {"allowed_mime_types": []})
    assert (await storage_pool.ok("GET", f"/bucket/{name}"))["allowed_mime_types"] == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_lifecycle_of_a_bucket_is_not_enabled(storage_pool: StoragePool, method: str) -> None:
    name, body = await storage_pool.bucket(), {"rules": []} if method == "PUT" else {}

    found = await storage_pool.refused(method, f"/bucket/{name}/lifecycle", body)

    assert found == (409, "FeatureNotEnabled", "The feature lifecycle is not enabled for this resource")
    assert (await storage_pool.refused(method, f"/bucket/{name}-x/lifecycle", body))[1] == "NoSuchBucket"


async def test_change_needs_something_that_changes(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()

    found = await storage_pool.refused("PUT", f"/bucket/{name}", {"name": "x"})

    assert found[:2] == (400, "InvalidRequest")
    assert "body must have required property 'public'" in found[2]


async def test_bucket_that_is_not_there(storage_pool: StoragePool) -> None:
    missing = (404, "NoSuchBucket", "Bucket not found")

    assert await storage_pool.refused("GET", "/bucket/nowhere") == missing
    assert await storage_pool.refused("PUT", "/bucket/nowhere", {"public": True}) == missing
    assert await storage_pool.refused("DELETE", "/bucket/nowhere") == missing
    assert await storage_pool.refused("POST", "/bucket/nowhere/empty") == missing
    assert await storage_pool.refused("GET", "/bucket/nowhere/size") == missing


async def test_bucket_is_deleted_only_when_it_is_empty(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{name}/a.txt")

    response = await storage_pool.send("DELETE", f"/bucket/{name}", {})
    assert (response.status, shown(response)["statusCode"], shown(response)["code"]) == (
        400,
        "409",
        "ResourceNotEmpty",
    )
    assert shown(response)["message"] == "The bucket you tried to delete is not empty"

    queued = {"message": "Empty bucket has been queued. Completion may take up to an hour."}
    assert await storage_pool.ok("POST", f"/bucket/{name}/empty", {}) == queued
    assert await storage_pool.ok("DELETE", f"/bucket/{name}", b"") == {"message": "Successfully deleted"}
    assert (await storage_pool.refused("GET", f"/bucket/{name}"))[0] == 404


async def test_deleting_takes_no_body(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()

    assert (await storage_pool.refused("DELETE", f"/bucket/{name}", {"a": 1}))[:2] == (400, "InvalidRequest")


@pytest.mark.parametrize("caller", [ALICE, ANON])
async def test_only_the_service_role_empties(storage_pool: StoragePool, caller: object) -> None:
    name = await storage_pool.bucket()

    response = await storage_pool.send("POST", f"/bucket/{name}/empty", {}, caller)  # type: ignore[arg-type]  # a Caller

    assert error_of(response) == "403 403 Unauthorized: Access denied: Invalid role (AccessDenied)"


async def fill(storage_pool: StoragePool, bucket: str, count: int) -> None:
    """Put rows into a bucket, without bytes."""
    await storage_pool.admin.execute(
        "insert into storage.objects (bucket_id, name) select $1, 'n' || i from generate_series(1, $2::int) i",
        bucket,
        count,
    )


async def test_full_bucket_is_emptied_in_the_background(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await fill(storage_pool, name, rows.EMPTIED_AT_ONCE + 700)

    await storage_pool.ok("POST", f"/bucket/{name}/empty")
    assert await storage_pool.count(name) <= 700
    await storage_pool.store.tasks.close()

    assert await storage_pool.count(name) == 0


async def test_bucket_that_is_far_too_full_is_not_emptied(
    storage_pool: StoragePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await storage_pool.bucket()
    await fill(storage_pool, name, 4)
    monkeypatch.setattr(rows, "MOST_EMPTIED", 3)

    found = await storage_pool.refused("POST", f"/bucket/{name}/empty")

    message = "Unable to empty the bucket because it contains too many objects"
    assert found == (409, "ResourceNotEmpty", message)


async def test_size_of_a_bucket_is_that_of_what_is_seen(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    tail = uuid.uuid4().hex[:8]
    await storage_pool.admin.execute(
        f"create policy seen_{tail} on storage.buckets for select to authenticated using (id = '{name}')"
    )
    await storage_pool.policy(name, "select", using="name like 'a%'")
    await storage_pool.uploaded(f"/object/{name}/a.txt", b"12345")
    await storage_pool.uploaded(f"/object/{name}/b.txt", b"123")
    await fill(storage_pool, name, 1)

    everything = {"id": name, "size": 8, "objects": 3, "quota": None}
    assert await storage_pool.ok("GET", f"/bucket/{name}/size") == everything
    assert await storage_pool.ok("GET", f"/bucket/{name}/size", None, BOB) == {
        "id": name,
        "size": 5,
        "objects": 1,
    }
    assert (await storage_pool.refused("GET", f"/bucket/{name}/size", None, ANON))[0] == 404


async def test_bucket_with_a_multipart_upload_is_referenced(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await storage_pool.admin.execute(
        "insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version)"
        " values ($1, 's', $1, 'k', 'v')",
        name,
    )

    assert (await storage_pool.refused("DELETE", f"/bucket/{name}"))[:2] == (409, "ResourceReferenced")
