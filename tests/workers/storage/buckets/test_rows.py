"""Buckets: every call, and who may."""

import json
import re
import uuid
from typing import Any

import pytest

from tests.workers.storage.house import ALICE, ALICE_ID, ANON, BOB, House, shown
from workers.storage.buckets import rows

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_bucket_is_made_and_shown(house: House) -> None:
    name = f"b-{uuid.uuid4().hex[:8]}"

    assert await house.ok("POST", "/bucket", {"name": name}) == {"name": name}
    found = await house.ok("GET", f"/bucket/{name}")

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


async def test_bucket_has_an_id_of_its_own_and_limits(house: House) -> None:
    tail = uuid.uuid4().hex[:8]
    body = {
        "id": f"id {tail}",
        "name": f"Name {tail}",
        "public": True,
        "file_size_limit": "1mb",
        "allowed_mime_types": ["image/*", ""],
    }

    assert await house.ok("POST", "/bucket", body) == {"name": f"Name {tail}"}
    found = await house.ok("GET", f"/bucket/id%20{tail}")

    assert (found["public"], found["file_size_limit"], found["allowed_mime_types"]) == (
        True,
        1_000_000,
        ["image/*"],
    )


async def test_owner_of_a_bucket_is_who_made_it(house: House) -> None:
    tail = uuid.uuid4().hex[:8]
    await house.admin.execute(
        f"create policy made_{tail} on storage.buckets for insert to authenticated with check (name = 'mine-{tail}')"
    )

    await house.ok("POST", "/bucket", {"name": f"mine-{tail}"}, ALICE)

    assert (await house.ok("GET", f"/bucket/mine-{tail}"))["owner"] == ALICE_ID
    assert await house.refused("GET", f"/bucket/mine-{tail}", None, ALICE) == (
        404,
        "NoSuchBucket",
        "Bucket not found",
    )


async def test_name_is_needed(house: House) -> None:
    response = await house.send("POST", "/bucket", {"public": True})

    assert response.status == 400
    assert shown(response) == {
        "statusCode": "400",
        "error": "Error",
        "message": "body must have required property 'name'",
        "code": "InvalidRequest",
    }


async def test_second_bucket_of_a_name_is_a_conflict(house: House) -> None:
    name = await house.bucket()

    response = await house.send("POST", "/bucket", {"name": name})

    assert response.status == 400
    assert shown(response) == {
        "statusCode": "409",
        "error": "Duplicate",
        "message": "The resource already exists",
        "code": "BucketAlreadyExists",
    }


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
async def test_bad_buckets_are_refused(house: House, body: object, found: tuple[int, str]) -> None:
    assert (await house.refused("POST", "/bucket", body))[:2] == found


async def test_buckets_are_listed_by_page_order_and_part_of_their_name(house: House) -> None:
    tail = uuid.uuid4().hex[:8]
    for name in ("B_1", "a_2", "c"):
        await house.ok("POST", "/bucket", {"name": f"{tail}{name}"})

    async def names(query: str) -> list[str]:
        found = await house.ok("GET", f"/bucket?search={tail}{query}")
        return [each["name"].removeprefix(tail) for each in found]

    assert await names("&sortColumn=name") == ["B_1", "a_2", "c"]
    assert await names("&sortColumn=created_at&sortOrder=desc") == ["c", "a_2", "B_1"]
    assert await names("&sortColumn=name&limit=1&offset=1") == ["a_2"]
    assert await names("b_") == ["B_1"]
    assert await names("__") == []
    assert await names("%25") == []
    assert await names("A_2") == ["a_2"]


async def test_type_is_left_out_for_clients_that_do_not_know_it(house: House) -> None:
    name = await house.bucket()

    async def has_type(**headers: Any) -> bool:
        found = await house.send("GET", f"/bucket?search={name}", **headers)
        [entry] = json.loads(found.body)
        return "type" in entry

    assert await has_type()
    assert await has_type(x_client_info="supabase-py/2.18.0")
    assert await has_type(user_agent="storage3/0.12.1")
    assert not await has_type(x_client_info="supabase-py/2.17.3")
    assert not await has_type(user_agent="supabase-py/storage3/0.12.0")


@pytest.mark.parametrize("query", ["limit=0", "offset=-1", "sortColumn=owner", "sortOrder=up", "limit=x"])
async def test_bad_listings_are_refused(house: House, query: str) -> None:
    assert (await house.refused("GET", f"/bucket?{query}"))[:2] == (400, "InvalidRequest")


async def test_limit_below_one_is_told_in_known_words(house: House) -> None:
    assert (await house.refused("GET", "/bucket?limit=0"))[2] == "querystring/limit must be >= 1"


async def test_bucket_is_changed(house: House) -> None:
    name = await house.bucket(file_size_limit=10, allowed_mime_types=["a/b"])

    body = {"id": "x", "name": "x", "public": True, "file_size_limit": None}
    assert await house.ok("PUT", f"/bucket/{name}", body) == {"message": "Successfully updated"}
    found = await house.ok("GET", f"/bucket/{name}")

    assert (found["name"], found["public"], found["file_size_limit"]) == (name, True, None)
    assert found["allowed_mime_types"] == ["a/b"]
    assert await house.ok("PUT", f"/bucket/{name}", {"allowed_mime_types": []})
    assert (await house.ok("GET", f"/bucket/{name}"))["allowed_mime_types"] == []


async def test_change_needs_something_that_changes(house: House) -> None:
    name = await house.bucket()

    found = await house.refused("PUT", f"/bucket/{name}", {"name": "x"})

    assert found[:2] == (400, "InvalidRequest")
    assert "body must have required property 'public'" in found[2]


async def test_bucket_that_is_not_there(house: House) -> None:
    missing = (404, "NoSuchBucket", "Bucket not found")

    assert await house.refused("GET", "/bucket/nowhere") == missing
    assert await house.refused("PUT", "/bucket/nowhere", {"public": True}) == missing
    assert await house.refused("DELETE", "/bucket/nowhere") == missing
    assert await house.refused("POST", "/bucket/nowhere/empty") == missing
    assert await house.refused("GET", "/bucket/nowhere/size") == missing


async def test_bucket_is_deleted_only_when_it_is_empty(house: House) -> None:
    name = await house.bucket()
    await house.uploaded(f"/object/{name}/a.txt")

    response = await house.send("DELETE", f"/bucket/{name}", {})
    assert (response.status, shown(response)["statusCode"], shown(response)["code"]) == (
        400,
        "409",
        "ResourceNotEmpty",
    )
    assert shown(response)["message"] == "The bucket you tried to delete is not empty"

    queued = {"message": "Empty bucket has been queued. Completion may take up to an hour."}
    assert await house.ok("POST", f"/bucket/{name}/empty", {}) == queued
    assert await house.ok("DELETE", f"/bucket/{name}", b"") == {"message": "Successfully deleted"}
    assert (await house.refused("GET", f"/bucket/{name}"))[0] == 404


async def test_deleting_takes_no_body(house: House) -> None:
    name = await house.bucket()

    assert (await house.refused("DELETE", f"/bucket/{name}", {"a": 1}))[:2] == (400, "InvalidRequest")


@pytest.mark.parametrize("caller", [ALICE, ANON])
async def test_only_the_service_role_empties(house: House, caller: object) -> None:
    name = await house.bucket()

    response = await house.send("POST", f"/bucket/{name}/empty", {}, caller)  # type: ignore[arg-type]  # a Caller

    assert response.status == 403
    assert shown(response) == {
        "statusCode": "403",
        "error": "Unauthorized",
        "message": "Access denied: Invalid role",
        "code": "AccessDenied",
    }


async def fill(house: House, bucket: str, count: int) -> None:
    """Put rows into a bucket, without bytes."""
    await house.admin.execute(
        "insert into storage.objects (bucket_id, name) select $1, 'n' || i from generate_series(1, $2::int) i",
        bucket,
        count,
    )


async def test_full_bucket_is_emptied_in_the_background(house: House) -> None:
    name = await house.bucket()
    await fill(house, name, rows.EMPTIED_AT_ONCE + 700)

    await house.ok("POST", f"/bucket/{name}/empty")
    assert await house.count(name) <= 700
    await house.store.tasks.close()

    assert await house.count(name) == 0


async def test_bucket_that_is_far_too_full_is_not_emptied(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await house.bucket()
    await fill(house, name, 4)
    monkeypatch.setattr(rows, "MOST_EMPTIED", 3)

    found = await house.refused("POST", f"/bucket/{name}/empty")

    message = "Unable to empty the bucket because it contains too many objects"
    assert found == (409, "ResourceNotEmpty", message)


async def test_size_of_a_bucket_is_that_of_what_is_seen(house: House) -> None:
    name = await house.bucket()
    tail = uuid.uuid4().hex[:8]
    await house.admin.execute(
        f"create policy seen_{tail} on storage.buckets for select to authenticated using (id = '{name}')"
    )
    await house.policy(name, "select", using="name like 'a%'")
    await house.uploaded(f"/object/{name}/a.txt", b"12345")
    await house.uploaded(f"/object/{name}/b.txt", b"123")
    await fill(house, name, 1)

    everything = {"id": name, "size": 8, "objects": 3, "quota": None}
    assert await house.ok("GET", f"/bucket/{name}/size") == everything
    assert await house.ok("GET", f"/bucket/{name}/size", None, BOB) == {"id": name, "size": 5, "objects": 1}
    assert (await house.refused("GET", f"/bucket/{name}/size", None, ANON))[0] == 404


async def test_bucket_with_a_multipart_upload_is_referenced(house: House) -> None:
    name = await house.bucket()
    await house.admin.execute(
        "insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version)"
        " values ($1, 's', $1, 'k', 'v')",
        name,
    )

    assert (await house.refused("DELETE", f"/bucket/{name}"))[:2] == (409, "ResourceReferenced")
