"""Moves, copies, renamed folders."""

import base64
import json

import pytest

from tests.workers.storage.storage_pool import ALICE, ALICE_ID, BOB, StoragePool, shown, told

GONE = (404, "NoSuchKey", "Object not found")
NO_BUCKET_TO_WRITE = (404, "InvalidRequest", "The related resource does not exist")


async def test_move_keeps_the_id_and_touches_no_bytes(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    id = (await storage_pool.uploaded(f"/object/{bucket}/a"))["Id"]
    version = await storage_pool.version(bucket, "a")
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "dir/b"}

    assert await storage_pool.ok("POST", "/object/move", body) == {"message": "Successfully moved"}

    assert str(await storage_pool.value("select id from storage.objects where bucket_id = $1", bucket)) == id
    assert await storage_pool.version(bucket, "dir/b") == version
    assert await storage_pool.got(f"/object/{bucket}/dir/b") == b"hello world"
    assert (
        await storage_pool.value("select count(*) from storage.tombstones where bucket_id = $1", bucket) == 0
    )


async def test_move_into_another_bucket_takes_the_bytes_along(storage_pool: StoragePool) -> None:
    bucket, other = await storage_pool.bucket(), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    old = await storage_pool.version(bucket, "a")
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b", "destinationBucket": other}

    await storage_pool.ok("POST", "/object/move", body)

    assert await storage_pool.got(f"/object/{other}/b") == b"hello world"
    assert await storage_pool.count(bucket) == 0
    assert await storage_pool.version(other, "b") != old
    assert (
        await storage_pool.value("select version from storage.tombstones where bucket_id = $1", bucket) == old
    )


async def test_move_refusals(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.uploaded(f"/object/{bucket}/b")
    before = await storage_pool.blob_names()

    async def moved(**body: object) -> tuple[int, str, str]:
        return await storage_pool.refused(
            "POST", "/object/move", {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"} | body
        )

    assert await moved(sourceKey="x") == GONE
    assert (await moved())[:2] == (409, "KeyAlreadyExists")
    assert (await moved(destinationKey="../b"))[:2] == (400, "InvalidKey")
    assert (await moved(destinationKey="a/\u0000"))[:2] == (400, "InvalidKey")
    assert await moved(destinationBucket="nowhere") == NO_BUCKET_TO_WRITE
    assert (await moved(bucketId="nowhere"))[0] == 404
    small = await storage_pool.bucket(file_size_limit=5)
    typed = await storage_pool.bucket(allowed_mime_types=["image/*"])
    assert (await moved(destinationBucket=small))[0] == 413
    assert (await moved(destinationBucket=typed))[0] == 415
    assert await storage_pool.blob_names() == before
    assert await storage_pool.refused("POST", "/object/move", {"bucketId": bucket}) == (
        400,
        "InvalidRequest",
        "body must have required property 'sourceKey', body must have required property 'destinationKey'",
    )


async def test_move_onto_itself_does_nothing(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "a"}

    assert await storage_pool.ok("POST", "/object/move", body) == {"message": "Successfully moved"}
    assert await storage_pool.count(bucket) == 1


async def test_copy_onto_itself_is_a_copy_like_any_other(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    old = await storage_pool.version(bucket, "a")
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "a"}

    refused = await storage_pool.refused("POST", "/object/copy", body)
    row = await storage_pool.ok("POST", "/object/copy", body, x_upsert="true")

    assert refused[:2] == (409, "KeyAlreadyExists")
    assert row["version"] == await storage_pool.version(bucket, "a") != old
    assert await storage_pool.count(bucket) == 1


async def test_copy_is_answered_with_the_whole_row(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(
        f"/object/{bucket}/a", cache_control="60", x_metadata=base64.b64encode(b'{"x": 1}').decode()
    )
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "dir/b"}

    answer = await storage_pool.ok("POST", "/object/copy", body)

    assert list(answer) == [
        "Id", "Key", "name", "bucket_id", "owner", "owner_id", "version", "id", "updated_at", "created_at",
        "last_accessed_at", "metadata", "user_metadata",
    ]  # fmt: skip
    assert (answer["Key"], answer["Id"]) == (f"{bucket}/dir/b", answer["id"])
    assert (answer["metadata"]["cacheControl"], answer["metadata"]["mimetype"]) == (
        "max-age=60",
        "text/plain",
    )
    assert answer["metadata"]["eTag"] == '"5eb63bbbe01eeed093cb22bb8f5acdc3"'
    assert answer["user_metadata"] == {"x": 1}
    assert await storage_pool.got(f"/object/{bucket}/dir/b") == await storage_pool.got(f"/object/{bucket}/a")
    assert await storage_pool.version(bucket, "a") != await storage_pool.version(bucket, "dir/b")


async def test_copy_takes_other_metadata(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(
        f"/object/{bucket}/a", cache_control="60", x_metadata=base64.b64encode(b'{"x": 1}').decode()
    )
    body = {
        "bucketId": bucket,
        "sourceKey": "a",
        "destinationKey": "b",
        "copyMetadata": False,
        "metadata": {"mimetype": "text/css"},
    }

    plain = await storage_pool.ok("POST", "/object/copy", body)
    own = await storage_pool.ok(
        "POST", "/object/copy", body, x_upsert="true", x_metadata=base64.b64encode(b'{"y": 2}').decode()
    )

    assert (plain["metadata"]["mimetype"], plain["metadata"]["cacheControl"]) == ("text/css", "max-age=60")
    assert plain["user_metadata"] is None
    assert own["user_metadata"] == {"y": 2}
    assert plain["Id"] == own["Id"]


async def test_copy_refusals(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.uploaded(f"/object/{bucket}/b")
    before = await storage_pool.blob_names()
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}

    response = await storage_pool.send("POST", "/object/copy", body)
    assert shown(response) == {
        "statusCode": "409",
        "error": "Duplicate",
        "message": "The resource already exists",
        "code": "KeyAlreadyExists",
    }
    assert await storage_pool.refused("POST", "/object/copy", {**body, "sourceKey": "x"}) == GONE
    nowhere = {**body, "destinationBucket": "nowhere"}
    assert await storage_pool.refused("POST", "/object/copy", nowhere) == NO_BUCKET_TO_WRITE
    await storage_pool.policy(bucket, "select")
    assert (await storage_pool.refused("POST", "/object/copy", nowhere, ALICE))[:2] == (403, "AccessDenied")
    bad = {**body, "copyMetadata": False, "metadata": {"mimetype": "a\r\nb"}}
    assert (await storage_pool.refused("POST", "/object/copy", bad))[:2] == (400, "InvalidMimeType")
    assert await storage_pool.blob_names() == before


async def test_copy_of_a_row_without_bytes_is_missing(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.admin.execute("insert into storage.objects (bucket_id, name) values ($1, 'a')", bucket)

    found = await storage_pool.refused(
        "POST", "/object/copy", {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}
    )

    assert found == (404, "NoSuchKey", "The resource was not found")


async def test_moved_and_copied_objects_belong_to_the_caller(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for command in ("select", "insert", "update"):
        await storage_pool.policy(bucket, command)
    await storage_pool.uploaded(f"/object/{bucket}/a", caller=BOB)

    await storage_pool.ok(
        "POST", "/object/copy", {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}, ALICE
    )
    await storage_pool.ok(
        "POST", "/object/move", {"bucketId": bucket, "sourceKey": "a", "destinationKey": "c"}, ALICE
    )

    rows = await storage_pool.admin.fetch(
        "select name, owner_id from storage.objects where bucket_id = $1 order by 1", bucket
    )
    assert [tuple(row) for row in rows] == [("b", ALICE_ID), ("c", ALICE_ID)]


async def test_folder_is_renamed_with_all_that_is_in_it(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for key in ("old/a", "old/sub/b", "older/c", "old"):
        await storage_pool.uploaded(f"/object/{bucket}/{key}")

    answer = await storage_pool.ok(
        "POST", "/object/move", {"bucketId": bucket, "sourcePrefix": "old/", "destinationPrefix": "new/place"}
    )

    assert answer == {"message": "Successfully moved", "count": 2}
    rows = await storage_pool.admin.fetch(
        'select name from storage.objects where bucket_id = $1 order by name collate "C"', bucket
    )
    assert [row["name"] for row in rows] == ["new/place/a", "new/place/sub/b", "old", "older/c"]
    assert await storage_pool.got(f"/object/{bucket}/new/place/sub/b") == b"hello world"


async def test_rename_refusals_change_nothing(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for key in ("old/a", "old/" + "x" * 1000, "taken/a"):
        await storage_pool.uploaded(f"/object/{bucket}/{key}")

    async def renamed(source: str, destination: str) -> int:
        body = {"bucketId": bucket, "sourcePrefix": source, "destinationPrefix": destination}
        return (await storage_pool.refused("POST", "/object/move", body))[0]

    assert await renamed("old", "taken") == 409
    assert await renamed("old", "old/inner") == 400
    assert await renamed("", "new") == 400
    assert await renamed("old", "../new") == 400
    assert await renamed("nothing", "new") == 404
    assert await renamed("old", "y" * 30) == 413
    assert await storage_pool.count(bucket) == 3
    assert json.loads(
        await storage_pool.value(
            "select json_agg(name order by name) from storage.objects where bucket_id = $1 and name like 'old/a'",
            bucket,
        )
    ) == ["old/a"]


@pytest.mark.parametrize("commands", [("select",), ("select", "update")])
async def test_rename_needs_select_and_update(storage_pool: StoragePool, commands: tuple[str, ...]) -> None:
    bucket = await storage_pool.bucket()
    for command in commands:
        await storage_pool.policy(bucket, command)
    await storage_pool.uploaded(f"/object/{bucket}/old/a")
    body = {"bucketId": bucket, "sourcePrefix": "old", "destinationPrefix": "new"}

    response = await storage_pool.send("POST", "/object/move", body, ALICE)

    assert (response.status == 200) == ("update" in commands)


async def test_copy_onto_itself_takes_new_metadata(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", content_language="de", cache_control="60")
    old = await storage_pool.version(bucket, "a")
    body = {
        "bucketId": bucket, "sourceKey": "a", "destinationKey": "a", "copyMetadata": False,
        "metadata": {"mimetype": "text/css", "contentEncoding": "br"},
    }  # fmt: skip
    user_metadata = base64.b64encode(b'{"b": 2}').decode()

    refused = await storage_pool.refused("POST", "/object/copy", body)
    row = await storage_pool.ok("POST", "/object/copy", body, x_upsert="true", x_metadata=user_metadata)

    assert refused[:2] == (409, "KeyAlreadyExists")
    assert (row["Key"], row["user_metadata"]) == (f"{bucket}/a", {"b": 2})
    kept = {
        "mimetype": "text/css",
        "contentEncoding": "br",
        "contentLanguage": "de",
        "cacheControl": "max-age=60",
    }
    assert row["metadata"].items() >= kept.items()
    assert row["version"] == await storage_pool.version(bucket, "a") != old
    assert await storage_pool.count(bucket) == 1
    assert await storage_pool.got(f"/object/{bucket}/a") == b"hello world"


async def test_copy_keeps_the_content_headers(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", content_encoding="gzip", content_disposition="inline")

    row = await storage_pool.ok(
        "POST", "/object/copy", {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}
    )
    await storage_pool.ok(
        "POST", "/object/move", {"bucketId": bucket, "sourceKey": "a", "destinationKey": "c"}
    )

    assert (row["metadata"]["contentEncoding"], row["metadata"]["contentDisposition"]) == ("gzip", "inline")
    assert told(await storage_pool.send("GET", f"/object/{bucket}/c"), "content-encoding") == "gzip"


async def test_copy_with_a_content_header_that_cannot_be_sent_is_rejected(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b", "copyMetadata": False}

    refused = await storage_pool.refused(
        "POST", "/object/copy", body | {"metadata": {"contentEncoding": "g zip"}}
    )

    assert refused[:2] == (400, "InvalidRequest")
