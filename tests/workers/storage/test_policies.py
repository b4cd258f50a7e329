"""Every call against policies: which ones each needs, and what each of four callers gets without them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from schemas.caller import Caller
from schemas.http import Response
from tests.workers.storage.storage_pool import (
    ALICE,
    ALICE_ID,
    ANON,
    BOB,
    SERVICE,
    StoragePool,
    error_of,
    refusal,
)

Act = Callable[[StoragePool, str, Caller], Awaitable[Response]]
DENIED = (403, "AccessDenied", "new row violates row-level security policy")
GONE = (404, "NoSuchKey", "Object not found")


async def insert(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.put(f"/object/{bucket}/new", caller=caller)


async def upsert(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.put(f"/object/{bucket}/new", caller=caller, x_upsert="true")


async def overwrite(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.put(f"/object/{bucket}/there", caller=caller, method="PUT")


async def sign_upload(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("POST", f"/object/upload/sign/{bucket}/new", {}, caller)


async def sign_upsert(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("POST", f"/object/upload/sign/{bucket}/there", {}, caller, x_upsert="true")


async def download(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("GET", f"/object/authenticated/{bucket}/there", None, caller)


async def head(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("HEAD", f"/object/{bucket}/there", None, caller)


async def info(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("GET", f"/object/info/authenticated/{bucket}/there", None, caller)


async def sign(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("POST", f"/object/sign/{bucket}/there", {"expiresIn": 60}, caller)


async def copy(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    body = {"bucketId": bucket, "sourceKey": "there", "destinationKey": "new"}
    return await storage_pool.send("POST", "/object/copy", body, caller)


async def copy_over(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    body = {"bucketId": bucket, "sourceKey": "there", "destinationKey": "new"}
    return await storage_pool.send("POST", "/object/copy", body, caller, x_upsert="true")


async def copy_onto(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    await storage_pool.uploaded(f"/object/{bucket}/source", x_upsert="true")
    body = {"bucketId": bucket, "sourceKey": "source", "destinationKey": "there"}
    response = await storage_pool.send("POST", "/object/copy", body, caller, x_upsert="true")
    await storage_pool.ok("DELETE", f"/object/{bucket}/source")
    return response


async def move(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    body = {"bucketId": bucket, "sourceKey": "there", "destinationKey": "new"}
    return await storage_pool.send("POST", "/object/move", body, caller)


async def delete(storage_pool: StoragePool, bucket: str, caller: Caller) -> Response:
    return await storage_pool.send("DELETE", f"/object/{bucket}/there", None, caller)


NEEDS: dict[Act, tuple[str, ...]] = {
    insert: ("insert",),
    upsert: (
        "insert",
        "select",
    ),  # what is new meets no policy for update: Postgres asks it of a row that is there
    overwrite: ("insert", "select", "update"),
    sign_upload: ("insert",),
    sign_upsert: ("insert", "select", "update"),
    download: ("select",),
    head: ("select",),
    info: ("select",),
    sign: ("select",),
    copy: ("select", "insert"),
    copy_over: ("select", "insert"),
    copy_onto: ("select", "insert", "update"),
    move: ("select", "update"),
    delete: ("select", "delete"),
}


@pytest.mark.parametrize("act", NEEDS, ids=lambda act: act.__name__)
async def test_call_needs_each_of_its_policies_and_no_other(storage_pool: StoragePool, act: Act) -> None:
    needed = NEEDS[act]
    for missing in (None, *needed):
        bucket = await storage_pool.bucket()
        await storage_pool.uploaded(f"/object/{bucket}/there")
        for command in needed:
            if command != missing:
                await storage_pool.policy(bucket, command, using=f"auth.uid() = '{ALICE_ID}'")

        response = await act(storage_pool, bucket, ALICE)

        assert (response.status == 200) == (missing is None), (missing, response)
        if missing is not None:
            assert refusal(response)[0] in (403, 404)


@pytest.mark.parametrize("act", NEEDS, ids=lambda act: act.__name__)
async def test_policy_of_one_user_lets_in_nobody_else(storage_pool: StoragePool, act: Act) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/there")
    for command in NEEDS[act]:
        await storage_pool.policy(bucket, command, "public", using=f"auth.uid() = '{ALICE_ID}'")

    version = await storage_pool.version(bucket, "there")
    for caller in (BOB, ANON):
        found = refusal(await act(storage_pool, bucket, caller))
        assert found in (DENIED, GONE, (403, "AccessDenied", "Access denied"))
    assert await storage_pool.version(bucket, "there") == version
    assert await storage_pool.count(bucket) == 1
    assert (await act(storage_pool, bucket, ALICE)).status == 200


@pytest.mark.parametrize("act", NEEDS, ids=lambda act: act.__name__)
async def test_service_role_needs_no_policy(storage_pool: StoragePool, act: Act) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/there")

    assert (await act(storage_pool, bucket, SERVICE)).status == 200


@pytest.fixture(name="storage_pool")
def both_ways(upload_pool: StoragePool) -> StoragePool:
    """The worker, once with uploads in two steps and once in one message."""
    return upload_pool


async def test_refusal_of_a_policy_has_the_known_shape(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    response = await insert(storage_pool, bucket, ALICE)

    assert (
        error_of(response)
        == "400 403 Unauthorized: new row violates row-level security policy (AccessDenied)"
    )


@pytest.mark.parametrize(
    ("check", "headers", "is_taken"),
    [
        ("metadata ->> 'mimetype' like 'image/%'", {"content_type": "image/png"}, True),
        ("metadata ->> 'mimetype' like 'image/%'", {"content_type": "text/plain"}, False),
        ("(metadata ->> 'contentLength')::int <= 11", {}, True),
        ("(metadata ->> 'contentLength')::int <= 10", {}, False),
        ("user_metadata ->> 'department' = 'x'", {"x_metadata": "eyJkZXBhcnRtZW50IjogIngifQ=="}, True),
        ("user_metadata ->> 'department' = 'x'", {}, False),
        ("(storage.foldername(name))[1] = auth.uid()::text", {}, False),
        ("owner_id = auth.uid()::text and owner = auth.uid()", {}, True),
        ("storage.extension(name) = 'new'", {}, True),
        ("auth.role() = 'authenticated'", {}, True),
    ],
)
async def test_policies_look_at_what_is_declared(
    storage_pool: StoragePool, check: str, headers: dict[str, Any], is_taken: bool
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert", check=check)

    response = await storage_pool.put(f"/object/{bucket}/new", caller=ALICE, **headers)

    assert (response.status == 200) == is_taken


async def test_conflict_is_told_only_to_who_may_insert(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/new")

    assert refusal(await insert(storage_pool, bucket, ALICE)) == DENIED
    await storage_pool.policy(bucket, "insert")
    assert refusal(await insert(storage_pool, bucket, ALICE))[:2] == (409, "KeyAlreadyExists")


async def test_probe_leaves_no_trace(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/there")
    traces = (
        "select (select count(*) from storage.objects where bucket_id = $1)"
        " + (select count(*) from storage.tombstones where bucket_id = $1)"
        " + (select count(*) from storage.events_outbox where payload ->> 'bucketId' = $1)"
    )
    before = await storage_pool.value(traces, bucket)

    await sign_upload(storage_pool, bucket, SERVICE)
    await sign_upsert(storage_pool, bucket, SERVICE)

    assert await storage_pool.value(traces, bucket) == before


async def test_events_are_told_once_and_as_what_they_were(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await insert(storage_pool, bucket, SERVICE)
    await storage_pool.put(f"/object/{bucket}/new", method="PUT")
    await storage_pool.ok(
        "POST", "/object/copy", {"bucketId": bucket, "sourceKey": "new", "destinationKey": "b"}
    )
    await storage_pool.ok(
        "POST", "/object/move", {"bucketId": bucket, "sourceKey": "b", "destinationKey": "c"}
    )
    await storage_pool.ok("DELETE", f"/object/{bucket}/c")

    rows = await storage_pool.admin.fetch(
        "select event, payload ->> 'reqId' as id from storage.events_outbox where payload ->> 'bucketId' = $1 order by events_outbox.id",
        bucket,
    )

    assert [row["event"] for row in rows] == [
        "Bucket:Created", "ObjectCreated:Post", "ObjectCreated:Put", "ObjectCreated:Copy", "ObjectRemoved:Move",
        "ObjectCreated:Move", "ObjectRemoved:Delete",
    ]  # fmt: skip
    assert {row["id"] for row in rows} == {"req-1"}


async def test_quota_by_a_policy(storage_pool: StoragePool) -> None:
    """As docs/storage-additions.md shows it."""
    bucket = await storage_pool.bucket()
    await storage_pool.admin.execute(
        """
        create or replace function public.bytes_in(bucket text) returns bigint
        language sql stable security definer set search_path = '' as $$
          select coalesce(sum((metadata ->> 'size')::bigint), 0) from storage.objects where bucket_id = bucket
        $$
        """
    )
    await storage_pool.policy(
        bucket, "insert", check="public.bytes_in(bucket_id) + (metadata ->> 'contentLength')::bigint <= 20"
    )

    assert (await storage_pool.put(f"/object/{bucket}/a", b"x" * 15, ALICE)).status == 200
    assert refusal(await storage_pool.put(f"/object/{bucket}/b", b"x" * 6, ALICE)) == DENIED
    assert (await storage_pool.put(f"/object/{bucket}/b", b"x" * 5, ALICE)).status == 200


async def test_direct_deletion_is_refused_and_our_own_is_not(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/there")

    with pytest.raises(Exception, match="Direct deletion from storage tables is not allowed"):
        await storage_pool.admin.execute("delete from storage.objects where bucket_id = $1", bucket)
    assert (await delete(storage_pool, bucket, SERVICE)).status == 200
