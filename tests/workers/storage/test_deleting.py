"""Deleting: one, many, a folder."""

from tests.workers.storage.house import ALICE, ANON, House


async def test_one_object_is_deleted(house: House) -> None:
    bucket = await house.bucket()
    await house.uploaded(f"/object/{bucket}/a")
    version = await house.version(bucket, "a")

    assert await house.ok("DELETE", f"/object/{bucket}/a") == {"message": "Successfully deleted"}

    assert await house.refused("DELETE", f"/object/{bucket}/a") == (404, "NoSuchKey", "Object not found")
    row = await house.row("select version, reason from storage.tombstones where bucket_id = $1", bucket)
    assert tuple(row) == (version, "deleted")


async def test_hidden_object_is_denied_and_stays(house: House) -> None:
    bucket = await house.bucket()
    await house.uploaded(f"/object/{bucket}/a")
    await house.policy(bucket, "delete")

    assert await house.refused("DELETE", f"/object/{bucket}/a", None, ALICE) == (
        403,
        "AccessDenied",
        "Access denied",
    )
    assert await house.refused("DELETE", f"/object/{bucket}/x", None, ALICE) == (
        404,
        "NoSuchKey",
        "Object not found",
    )
    assert await house.count(bucket) == 1
    await house.policy(bucket, "select")
    assert await house.ok("DELETE", f"/object/{bucket}/a", None, ALICE)


async def test_many_are_answered_with_their_rows(house: House) -> None:
    bucket = await house.bucket()
    for key in ("a", "b", "c"):
        await house.uploaded(f"/object/{bucket}/{key}")
    for command in ("select", "delete"):
        await house.policy(bucket, command, using="name <> 'c'")

    found = await house.ok("DELETE", f"/object/{bucket}", {"prefixes": ["a", "c", "nothing", "b"]}, ALICE)

    assert [each["name"] for each in found] == ["a", "b"]
    assert list(found[0]) == [
        "name", "bucket_id", "owner", "owner_id", "version", "id", "updated_at", "created_at", "last_accessed_at",
        "metadata", "user_metadata",
    ]  # fmt: skip
    assert await house.ok("DELETE", f"/object/{bucket}", {"prefixes": ["c"]}, ANON) == []
    assert await house.ok("DELETE", "/object/nowhere", {"prefixes": ["c"]}) == []
    assert await house.count(bucket) == 1


async def test_prefixes_are_names_and_needed(house: House) -> None:
    bucket = await house.bucket()
    await house.uploaded(f"/object/{bucket}/dir/a")

    assert await house.refused("DELETE", f"/object/{bucket}", {}) == (
        400,
        "InvalidRequest",
        "body must have required property 'prefixes'",
    )
    assert await house.refused("DELETE", f"/object/{bucket}", {"prefixes": []}) == (
        400,
        "InvalidRequest",
        "body/prefixes must NOT have fewer than 1 items",
    )
    nothing = ["dir", "dir/", "../dir/a", "", "dir/a\0", "x" * 1025]
    assert await house.ok("DELETE", f"/object/{bucket}", {"prefixes": nothing}) == []
    found = await house.ok("DELETE", f"/object/{bucket}", {"prefixes": [*nothing, "dir/a"]})
    assert [each["name"] for each in found] == ["dir/a"]


async def test_folder_is_deleted_with_all_that_is_in_it(house: House) -> None:
    bucket = await house.bucket()
    for key in ("dir/a", "dir/sub/b", "dirty/c", "dir"):
        await house.uploaded(f"/object/{bucket}/{key}")

    answer = await house.ok("DELETE", f"/object/{bucket}", {"prefix": "dir", "recursive": True})

    assert answer == {"message": "Successfully deleted", "count": 2, "hasMore": False}
    rows = await house.admin.fetch(
        "select name from storage.objects where bucket_id = $1 order by name", bucket
    )
    assert [row["name"] for row in rows] == ["dir", "dirty/c"]


async def test_folder_is_deleted_only_where_policies_let(house: House) -> None:
    bucket = await house.bucket()
    await house.uploaded(f"/object/{bucket}/dir/a")
    await house.policy(bucket, "select")

    assert (await house.ok("DELETE", f"/object/{bucket}", {"prefix": "dir", "recursive": True}, ALICE))[
        "count"
    ] == 0
    for body in ({"prefix": "dir"}, {"prefix": "", "recursive": True}, {"prefix": "/", "recursive": True}):
        assert (await house.refused("DELETE", f"/object/{bucket}", body))[0] == 400
    assert await house.count(bucket) == 1
