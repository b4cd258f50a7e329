"""Deleting: one, many, a folder."""

from tests.workers.storage.storage_pool import ALICE, ANON, StoragePool


async def test_one_object_is_deleted(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    version = await storage_pool.version(bucket, "a")

    assert await storage_pool.ok("DELETE", f"/object/{bucket}/a") == {"message": "Successfully deleted"}

    assert await storage_pool.refused("DELETE", f"/object/{bucket}/a") == (
        404,
        "NoSuchKey",
        "Object not found",
    )
    row = await storage_pool.row(
        "select version, reason from storage.tombstones where bucket_id = $1", bucket
    )
    assert tuple(row) == (version, "deleted")


async def test_hidden_object_is_denied_and_stays(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.policy(bucket, "delete")

    assert await storage_pool.refused("DELETE", f"/object/{bucket}/a", None, ALICE) == (
        403,
        "AccessDenied",
        "Access denied",
    )
    assert await storage_pool.refused("DELETE", f"/object/{bucket}/x", None, ALICE) == (
        404,
        "NoSuchKey",
        "Object not found",
    )
    assert await storage_pool.count(bucket) == 1
    await storage_pool.policy(bucket, "select")
    assert await storage_pool.ok("DELETE", f"/object/{bucket}/a", None, ALICE)


async def test_many_are_answered_with_their_rows(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for key in ("a", "b", "c"):
        await storage_pool.uploaded(f"/object/{bucket}/{key}")
    for command in ("select", "delete"):
        await storage_pool.policy(bucket, command, using="name <> 'c'")

    found = await storage_pool.ok(
        "DELETE", f"/object/{bucket}", {"prefixes": ["a", "c", "nothing", "b"]}, ALICE
    )

    assert [each["name"] for each in found] == ["a", "b"]
    assert list(found[0]) == [
        "name", "bucket_id", "owner", "owner_id", "version", "id", "updated_at", "created_at", "last_accessed_at",
        "metadata", "user_metadata",
    ]  # fmt: skip
    assert await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefixes": ["c"]}, ANON) == []
    assert await storage_pool.ok("DELETE", "/object/nowhere", {"prefixes": ["c"]}) == []
    assert await storage_pool.count(bucket) == 1


async def test_prefixes_are_names_and_needed(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/dir/a")

    assert await storage_pool.refused("DELETE", f"/object/{bucket}", {}) == (
        400,
        "InvalidRequest",
        "body must have required property 'prefixes'",
    )
    assert await storage_pool.refused("DELETE", f"/object/{bucket}", {"prefixes": []}) == (
        400,
        "InvalidRequest",
        "body/prefixes must NOT have fewer than 1 items",
    )
    nothing = ["dir", "dir/", "../dir/a", "", "dir/a\0", "x" * 1025]
    assert await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefixes": nothing}) == []
    found = await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefixes": [*nothing, "dir/a"]})
    assert [each["name"] for each in found] == ["dir/a"]


async def test_folder_is_deleted_with_all_that_is_in_it(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for key in ("dir/a", "dir/sub/b", "dirty/c", "dir"):
        await storage_pool.uploaded(f"/object/{bucket}/{key}")

    answer = await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefix": "dir", "recursive": True})

    assert answer == {"message": "Successfully deleted", "count": 2, "hasMore": False}
    rows = await storage_pool.admin.fetch(
        "select name from storage.objects where bucket_id = $1 order by name", bucket
    )
    assert [row["name"] for row in rows] == ["dir", "dirty/c"]


async def test_folder_is_deleted_only_where_policies_let(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/dir/a")
    await storage_pool.policy(bucket, "select")

    assert (
        await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefix": "dir", "recursive": True}, ALICE)
    )["count"] == 0
    for body in ({"prefix": "dir"}, {"prefix": "", "recursive": True}, {"prefix": "/", "recursive": True}):
        assert (await storage_pool.refused("DELETE", f"/object/{bucket}", body))[0] == 400
    assert await storage_pool.count(bucket) == 1
