"""Objects as they are, and what is known of them."""

import re
from email.utils import parsedate_to_datetime

import pytest

from schemas.caller import RejectedCaller, TokenFault
from tests.workers.storage.storage_pool import (
    ALICE,
    ANON,
    NOBODY,
    StoragePool,
    error_of,
    refusal,
    shown,
    told,
)
from workers.storage.model.media_types import POLICY

REJECTED = RejectedCaller(TokenFault.CLAIMS, "JWT expired")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_public_object_is_claimed_with_its_headers(storage_pool: StoragePool, method: str) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.txt", cache_control="max-age=60")

    response = await storage_pool.send(
        method, f"/object/public/{bucket}/a.txt?cacheNonce=1", None, NOBODY, is_known=False
    )

    assert response.status == 200
    assert response.body == b""
    assert dict(response.headers) == {
        "content-type": "text/plain",
        "x-content-type-options": "nosniff",
        "content-security-policy": POLICY,
        "x-robots-tag": "none",
        "cache-control": "max-age=60",
    }
    claim = response.claim
    assert claim is not None
    assert (claim.size, claim.etag, claim.has_ranges) == (11, '"5eb63bbbe01eeed093cb22bb8f5acdc3"', True)
    assert (claim.blob.bucket, claim.blob.version) == (bucket, await storage_pool.version(bucket, "a.txt"))
    moment = await storage_pool.value(
        "select floor(extract(epoch from updated_at)) from storage.objects where bucket_id = $1", bucket
    )
    assert abs(claim.modified - int(moment)) <= 2


async def test_private_bucket_tells_nothing_to_the_public(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")

    for path in (
        f"/object/public/{bucket}/a.txt",
        f"/object/public/{bucket}/b.txt",
        "/object/public/nowhere/a",
    ):
        response = await storage_pool.send("GET", path, None, NOBODY, is_known=False)
        assert error_of(response) == "400 404 Bucket not found: Bucket not found (NoSuchBucket)"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_missing_object_is_not_found(storage_pool: StoragePool, method: str) -> None:
    bucket = await storage_pool.bucket(public=True)

    for path in (f"/object/public/{bucket}/x", f"/object/authenticated/{bucket}/x", f"/object/{bucket}/x"):
        response = await storage_pool.send(method, path)
        assert error_of(response) == "400 404 not_found: Object not found (NoSuchKey)"


@pytest.mark.parametrize(
    "area", ["object", "object/authenticated", "object/info", "object/info/authenticated"]
)
async def test_private_object_is_for_whom_policies_show_it(storage_pool: StoragePool, area: str) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    await storage_pool.policy(bucket, "select", using="name = 'a.txt'")

    assert (await storage_pool.send("GET", f"/{area}/{bucket}/a.txt", None, ALICE)).status == 200
    hidden = (404, "NoSuchKey", "Object not found")
    assert await storage_pool.refused("GET", f"/{area}/{bucket}/a.txt", None, ANON) == hidden
    assert await storage_pool.refused("GET", f"/{area}/nowhere/a.txt", None, ALICE) == (
        404,
        "NoSuchBucket",
        "Bucket not found",
    )


@pytest.mark.parametrize("area", ["object", "object/info"])
async def test_without_a_token_that_holds_only_public_buckets_are_read(
    storage_pool: StoragePool, area: str
) -> None:
    private, public = await storage_pool.bucket(), await storage_pool.bucket(public=True)
    for bucket in (private, public):
        await storage_pool.uploaded(f"/object/{bucket}/a.txt")
        await storage_pool.policy(bucket, "select", "anon")

    for caller, is_known in ((NOBODY, False), (REJECTED, True)):
        opened = await storage_pool.send("GET", f"/{area}/{public}/a.txt", None, caller, is_known=is_known)
        closed = await storage_pool.send("GET", f"/{area}/{private}/a.txt", None, caller, is_known=is_known)
        assert opened.status == 200
        assert refusal(closed) == (404, "NoSuchBucket", "Bucket not found")
    assert (await storage_pool.send("GET", f"/{area}/{private}/a.txt", None, ANON)).status == 200


async def test_public_bucket_asks_no_policy(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")

    for _ in range(2):  # the second lookup begins with the bucket, since that answered the first
        assert await storage_pool.got(f"/object/authenticated/{bucket}/a.txt", ANON) == b"hello world"

    await storage_pool.ok("PUT", f"/bucket/{bucket}", {"public": False})
    for _ in range(2):
        assert await storage_pool.refused("GET", f"/object/{bucket}/a.txt", None, ANON) == (
            404,
            "NoSuchKey",
            "Object not found",
        )


async def test_policy_may_write_and_does_so_once_for_each_read(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    await storage_pool.admin.execute("""
        create table public.reads_of_objects (name text);
        create function public.note_read(name text) returns bool language sql security definer volatile
          as 'insert into public.reads_of_objects values ($1) returning true';
    """)
    try:
        await storage_pool.policy(bucket, "select", using="public.note_read(name)")
        for count in (1, 2):
            assert await storage_pool.got(f"/object/{bucket}/a.txt", ALICE) == b"hello world"
            assert await storage_pool.value("select count(*) from public.reads_of_objects") == count
    finally:
        await storage_pool.admin.execute(
            "drop function public.note_read cascade; drop table public.reads_of_objects"
        )


async def test_row_beyond_what_a_connection_buffers_is_read_whole(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    await storage_pool.policy(bucket, "select")
    await storage_pool.admin.execute(
        "update storage.objects set user_metadata = jsonb_build_object('long', repeat('x', 1000000)) where bucket_id = $1",
        bucket,
    )

    told = await storage_pool.ok("GET", f"/object/info/{bucket}/a.txt", None, ALICE)

    assert told["metadata"] == {"long": "x" * 1_000_000}


@pytest.mark.parametrize(
    ("query", "disposition"),
    [
        ("", None),
        ("download", "attachment;"),
        ("download=", "attachment;"),
        ("download=a.txt", "attachment; filename=a.txt; filename*=UTF-8''a.txt"),
        ("download=a%20b%22.txt", "attachment; filename=a%20b%22.txt; filename*=UTF-8''a%20b%22.txt"),
        (
            "download=%E2%82%AC(1)'!~*",
            "attachment; filename=%E2%82%AC(1)'!~*; filename*=UTF-8''%E2%82%AC(1)'!~*",
        ),
        (
            "download=x%0d%0aset-cookie:a",
            "attachment; filename=x%0D%0Aset-cookie%3Aa; filename*=UTF-8''x%0D%0Aset-cookie%3Aa",
        ),
    ],
)
async def test_download_is_an_attachment(
    storage_pool: StoragePool, query: str, disposition: str | None
) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")

    response = await storage_pool.send("GET", f"/object/public/{bucket}/a.txt?{query}")

    assert told(response, "content-disposition") == disposition


async def test_old_version_may_be_shown_while_the_new_one_is_fetched(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.txt", cache_control="60")
    etag = '"5eb63bbbe01eeed093cb22bb8f5acdc3"'

    async def cache(if_none_match: str) -> str | None:
        response = await storage_pool.send(
            "GET", f"/object/public/{bucket}/a.txt", if_none_match=if_none_match
        )
        return told(response, "cache-control")

    assert await cache('"old"') == "max-age=60, stale-while-revalidate=30"
    for same in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        assert await cache(same) == "max-age=60"


async def test_drawings_run_no_scripts(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.svg", b"<svg/>", content_type="image/svg+xml")

    response = await storage_pool.send("GET", f"/object/public/{bucket}/a.svg")

    assert told(response, "content-type") == "image/svg+xml"
    assert told(response, "content-security-policy") == POLICY


async def test_row_without_a_blob_is_missing(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.admin.execute(
        "insert into storage.objects (bucket_id, name) values ($1, 'by-hand')", bucket
    )

    response = await storage_pool.send("GET", f"/object/{bucket}/by-hand")

    assert shown(response)["message"] == "The resource was not found"
    assert told(response, "cache-control") == "no-store"
    assert (await storage_pool.ok("GET", f"/object/info/{bucket}/by-hand"))["size"] == 0


async def test_header_of_a_row_written_by_hand_is_not_trusted(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.admin.execute(
        "update storage.objects set metadata = metadata || $2::jsonb where bucket_id = $1",
        bucket,
        '{"mimetype": "a\\r\\nx: y", "eTag": "a\\r\\nb", "size": "many"}',
    )

    response = await storage_pool.send("GET", f"/object/{bucket}/a")

    assert told(response, "content-type") == "application/octet-stream"
    assert response.claim is not None
    assert (response.claim.size, "\n" in response.claim.etag) == (0, False)


async def test_info_tells_all(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    answer = await storage_pool.uploaded(
        f"/object/{bucket}/dir/a.txt", cache_control="60", x_metadata="eyJhIjogMX0="
    )

    response = await storage_pool.send("GET", f"/object/info/authenticated/{bucket}/dir/a.txt")

    found = shown(response)
    assert re.fullmatch(r".{10}T.{12}Z", found.pop("created_at"))
    assert re.fullmatch(r".{10}T.{12}Z", found.pop("last_modified"))
    assert found == {
        "id": answer["Id"],
        "name": "dir/a.txt",
        "version": await storage_pool.version(bucket, "dir/a.txt"),
        "bucket_id": bucket,
        "size": 11,
        "content_type": "text/plain",
        "cache_control": "max-age=60",
        "etag": '"5eb63bbbe01eeed093cb22bb8f5acdc3"',
        "metadata": {"a": 1},
    }
    assert told(response, "etag") == '"5eb63bbbe01eeed093cb22bb8f5acdc3"'
    assert told(response, "cache-control") == "max-age=60"
    assert parsedate_to_datetime(told(response, "last-modified") or "")


async def test_info_without_metadata_has_an_empty_object(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")

    found = await storage_pool.ok("GET", f"/object/info/public/{bucket}/a.txt", None, NOBODY)

    assert found["metadata"] == {}


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_transforms_are_checked_where_there_are_only_headers(
    storage_pool: StoragePool, method: str
) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    area = "object/info/public" if method == "GET" else "object/public"

    assert await storage_pool.refused(method, f"/{area}/{bucket}/a.txt?width=-1") == (
        400,
        "InvalidRequest",
        "querystring/width must be >= 0",
    )
    assert (await storage_pool.send(method, f"/{area}/{bucket}/a.txt?width=10")).status == 200
