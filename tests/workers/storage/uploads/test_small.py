"""Uploads in one message: row and bytes together or neither, one write without a trial, what falls back to two steps."""

import asyncio
import uuid
from dataclasses import replace

import msgspec
import pytest

from broker.blobs.store import BlobStore
from schemas.caller import Caller
from schemas.http import Request, Response
from schemas.settings.storage import Storage
from schemas.settings.tree import Settings
from schemas.settings.types import Size
from tests.workers.auth.auth_pool import at_role
from tests.workers.storage.storage_pool import ALICE, ALICE_ID, BOB, SERVICE, StoragePool, refusal, request_of
from workers.database.connection_pool.pool import ConnectionPool
from workers.storage.pool import LOGIN

_POLICY = "new row violates row-level security policy"
_TRIALS = "select last_value from storage.events_outbox_id_seq"
"""A sequence counts writes that were rolled back, too."""


def small(target: str, data: bytes = b"hello world", caller: Caller = SERVICE, **headers: str) -> Request:
    """Return the message of a small upload, as the gateway sends it."""
    told = {"content_length": str(len(data)), "content_type": "text/plain", **headers}
    request = request_of("POST", target, None, caller, **told)
    return msgspec.structs.replace(request, object_bytes=data)


async def known_bucket(storage_pool: StoragePool, **changes: object) -> str:
    """Make a bucket whose rules the pool has read."""
    bucket = await storage_pool.bucket(**changes)
    granted = await storage_pool.ask(request_of("POST", f"/object/{bucket}/known", None, content_length="1"))
    assert granted.grant is not None
    return bucket


async def allow_all(storage_pool: StoragePool, bucket: str) -> None:
    for command in ("insert", "select", "update"):
        await storage_pool.policy(bucket, command)


async def test_first_upload_to_a_bucket_is_granted_and_the_next_one_is_stored_at_once(
    storage_pool: StoragePool,
) -> None:
    bucket = await storage_pool.bucket()

    first = await storage_pool.ask(small(f"/object/{bucket}/a"))
    second = await storage_pool.ask(small(f"/object/{bucket}/a"))

    assert first.grant is not None
    assert (second.status, second.grant) == (200, None)
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"hello world"


@pytest.mark.parametrize("size", [0, 1, 64 * 1024])
async def test_bytes_and_row_agree(storage_pool: StoragePool, size: int) -> None:
    bucket, data = await known_bucket(storage_pool), b"x" * size

    assert (await storage_pool.ask(small(f"/object/{bucket}/a", data))).status == 200

    version = await storage_pool.version(bucket, "a")
    assert version in await storage_pool.blob_names()
    assert uuid.UUID(version).version == 4
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == data


@pytest.mark.parametrize(("caller", "trials"), [(SERVICE, 1), (ALICE, 2)])
async def test_policies_are_tried_at_most_once_and_not_for_the_role_that_writes(
    storage_pool: StoragePool, caller: Caller, trials: int
) -> None:
    bucket = await known_bucket(storage_pool)
    await allow_all(storage_pool, bucket)
    before = await storage_pool.value(_TRIALS)

    assert (await storage_pool.ask(small(f"/object/{bucket}/a", caller=caller))).status == 200

    assert await storage_pool.value(_TRIALS) - before == trials


@pytest.mark.parametrize(
    ("check", "key", "is_allowed"),
    [
        ("metadata ->> 'mimetype' = 'text/plain'", "a", True),
        ("metadata ->> 'mimetype' = 'image/png'", "a", False),
        ("(metadata ->> 'contentLength')::int = 11", "a", True),
        ("(metadata ->> 'contentLength')::int < 11", "a", False),
        ("path_tokens[1] = 'mine'", "mine/a", True),
        ("path_tokens[1] = 'mine'", "yours/a", False),
        (f"owner_id = '{ALICE_ID}'", "a", True),
        ("owner_id is null", "a", False),
        ("storage.operation() = 'storage.object.upload'", "a", True),
    ],
)
async def test_policies_that_read_the_new_row_decide_as_in_two_steps(
    storage_pool: StoragePool, check: str, key: str, *, is_allowed: bool
) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.policy(bucket, "insert", check=check)

    at_once = await storage_pool.ask(small(f"/object/{bucket}/{key}", caller=ALICE))
    in_two = request_of(
        "POST", f"/object/{bucket}/{key}2", None, ALICE, content_length="11", content_type="text/plain"
    )
    granted = await storage_pool.ask(in_two)

    assert (at_once.status == 200) is is_allowed
    assert (granted.status == 200) is is_allowed
    if not is_allowed:
        assert refusal(at_once) == refusal(granted) == (403, "AccessDenied", _POLICY)
        assert await storage_pool.count(bucket) == 0


async def _rejected(storage_pool: StoragePool, request: Request) -> Response:
    """Send an upload that must be rejected, and check that nothing of it remains."""
    bucket = request.path.split("/")[2]
    rows, blobs = await storage_pool.count(bucket), await storage_pool.blob_names()
    response = await storage_pool.ask(request)
    assert response.grant is None
    assert (await storage_pool.count(bucket), await storage_pool.blob_names()) == (rows, blobs)
    return response


async def test_a_stranger_stores_no_byte(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)

    response = await _rejected(storage_pool, small(f"/object/{bucket}/a", caller=BOB))

    assert refusal(response) == (403, "AccessDenied", _POLICY)


async def test_bytes_come_first_from_a_caller_whose_last_upload_was_accepted(
    storage_pool: StoragePool,
) -> None:
    bucket = await known_bucket(storage_pool)
    await allow_all(storage_pool, bucket)
    writer = ("authenticated", ALICE_ID, bucket)

    for key in "ab":
        assert (await storage_pool.ask(small(f"/object/{bucket}/{key}", caller=ALICE))).status == 200
        assert writer in storage_pool.store.accepted_writers
    await storage_pool.policy(bucket, "insert", check="name <> 'c'")
    await storage_pool.admin.execute(
        "do $$ declare p text; begin for p in select policyname from pg_policies where tablename = 'objects' and cmd = 'INSERT' "
        f"and with_check like '%{bucket}%' and with_check not like '%<>%' "
        "loop execute format('drop policy %I on storage.objects', p); end loop; end $$"
    )
    response = await _rejected(storage_pool, small(f"/object/{bucket}/c", caller=ALICE))

    assert refusal(response) == (403, "AccessDenied", _POLICY)
    assert writer not in storage_pool.store.accepted_writers


async def test_an_upload_that_gets_no_connection_leaves_no_bytes(
    storage_pool: StoragePool, database: str
) -> None:
    bucket = await known_bucket(storage_pool)
    url = at_role(database, LOGIN, Settings().db.password.reveal())
    busy = await ConnectionPool.open(url, 1, acquire_timeout=0.1)
    pool = replace(storage_pool, store=replace(storage_pool.store, database=busy))
    async with busy.transaction() as transaction:
        await transaction.rows("select 1")
        blobs = await storage_pool.blob_names()
        response = await pool.ask(small(f"/object/{bucket}/a"))
    await busy.close()

    assert response.status == 544
    assert await storage_pool.blob_names() == blobs


async def test_an_existing_name_is_a_duplicate_and_stays(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.ask(small(f"/object/{bucket}/a", b"first"))

    response = await _rejected(storage_pool, small(f"/object/{bucket}/a", b"second"))

    assert refusal(response)[:2] == (409, "KeyAlreadyExists")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"first"


async def test_an_upsert_replaces_bytes_and_buries_the_old_version(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.ask(small(f"/object/{bucket}/a", b"first"))
    old = await storage_pool.version(bucket, "a")

    response = await storage_pool.ask(small(f"/object/{bucket}/a", b"second", x_upsert="true"))

    assert (response.status, response.grant) == (200, None)
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"second"
    assert (
        await storage_pool.value("select reason from storage.tombstones where version = $1", old)
        == "replaced"
    )


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ("file_size_limit = 10", (413, "EntityTooLarge")),
        ("allowed_mime_types = '{image/png}'", (415, "InvalidMimeType")),
    ],
)
async def test_rules_that_changed_since_they_were_read_apply(
    storage_pool: StoragePool, change: str, refused: tuple[int, str]
) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.admin.execute(f"update storage.buckets set {change} where id = '{bucket}'")

    response = await _rejected(storage_pool, small(f"/object/{bucket}/a"))

    assert refusal(response)[:2] == refused


async def test_rules_that_were_lifted_since_they_were_read_reject_nothing(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool, file_size_limit=5)
    await storage_pool.admin.execute("update storage.buckets set file_size_limit = 50 where id = $1", bucket)

    assert (await storage_pool.ask(small(f"/object/{bucket}/a"))).grant is not None


async def test_a_bucket_that_is_gone_is_not_found(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.ok("DELETE", f"/bucket/{bucket}")

    response = await storage_pool.ask(small(f"/object/{bucket}/a"))

    assert refusal(response)[:2] == (404, "NoSuchBucket")


async def test_a_quota_that_is_new_rejects_the_upload_before_its_bytes(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.admin.execute("insert into storage.quotas (bucket_id, size) values ($1, 5)", bucket)

    response = await _rejected(storage_pool, small(f"/object/{bucket}/a"))

    assert refusal(response)[:2] == (413, "QuotaExceeded")


async def test_a_condition_takes_two_steps(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)

    response = await storage_pool.ask(small(f"/object/{bucket}/a", if_none_match="*"))

    assert response.grant is not None


async def test_a_store_without_room_leaves_no_row_and_the_gateway_reports_it(
    storage_pool: StoragePool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bucket = await known_bucket(storage_pool)
    full = BlobStore.open(Storage(staging_limit=Size(1)), tmp_path_factory.mktemp("full"))
    pool = replace(storage_pool, store=replace(storage_pool.store, blobs=full))

    response = await pool.ask(small(f"/object/{bucket}/a"))
    await full.close()

    assert response.grant is not None
    assert await storage_pool.count(bucket) == 0


async def test_an_upload_that_is_under_way_is_completed_for_a_client_that_left(
    storage_pool: StoragePool,
) -> None:
    bucket = await known_bucket(storage_pool)
    holder = storage_pool.admin.transaction()
    await holder.start()
    await storage_pool.value("select pg_advisory_xact_lock(hashtextextended($1 || '/a', 0))::text", bucket)
    asking = asyncio.create_task(storage_pool.ask(small(f"/object/{bucket}/a")))
    waits = "select exists (select from pg_locks where locktype = 'advisory' and not granted)"
    async with asyncio.timeout(60):
        while not await storage_pool.value(waits):
            await asyncio.sleep(0)

    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await holder.rollback()

    async with asyncio.timeout(60):
        while not await storage_pool.count(bucket):
            await asyncio.sleep(0)
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"hello world"


@pytest.mark.parametrize("caller", [SERVICE, ALICE])
async def test_a_commit_that_fails_leaves_neither_row_nor_bytes(
    storage_pool: StoragePool, caller: Caller
) -> None:
    """Whether bytes came first or the row."""
    bucket = await known_bucket(storage_pool)
    await allow_all(storage_pool, bucket)
    name = f"reject_{uuid.uuid4().hex}"
    await storage_pool.admin.execute(f"""
        create function public.{name}() returns trigger language plpgsql as $$
        begin raise insufficient_privilege using message = 'not at the commit'; end $$;
        create constraint trigger {name} after insert on storage.objects deferrable initially deferred
        for each row when (new.bucket_id = '{bucket}' and new.version <> '1') execute function public.{name}()
    """)
    try:
        response = await _rejected(storage_pool, small(f"/object/{bucket}/a", caller=caller))
    finally:
        await storage_pool.admin.execute(f"drop function public.{name}() cascade")

    assert refusal(response) == (403, "AccessDenied", "not at the commit")


async def test_many_at_once_are_counted_and_told_once_each(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    answers = await asyncio.gather(
        *(storage_pool.ask(small(f"/object/{bucket}/{number}", b"x" * number)) for number in range(40))
    )

    assert {answer.status for answer in answers} == {200}
    assert [answer.grant for answer in answers] == [None] * 40
    usage = await storage_pool.row(
        "select sum(size)::int as size, sum(objects)::int as objects from storage.usage where bucket_id = $1",
        bucket,
    )
    assert (usage["size"], usage["objects"]) == (sum(range(40)), 40)
    told = "select count(*) from storage.events_outbox where event like 'Object%' and payload ->> 'bucketId' = $1"
    assert await storage_pool.value(told, bucket) == 40
