"""New objects of one moment: one transaction, own answers, and what each falls back to alone."""

import asyncio
import json
import uuid
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from schemas.http import Response
from schemas.settings.tree import Settings
from tests.workers.auth.auth_pool import at_role
from tests.workers.storage.storage_pool import Clock, StoragePool, refusal
from tests.workers.storage.uploads.test_small import known_bucket, small
from workers.database.connection_pool.pool import ConnectionPool
from workers.storage.objects.rows import SQL
from workers.storage.pool import LOGIN

_TRANSACTIONS = "select count(distinct xmin::text) from storage.objects where bucket_id = $1"


async def at_once(storage_pool: StoragePool, bucket: str, keys: Sequence[str]) -> list[Response]:
    """Upload objects at once, each with its key as bytes and in the id of its request."""
    requests = (
        msgspec.structs.replace(small(f"/object/{bucket}/{key}", key.encode()), id=f"req-{key}")
        for key in keys
    )
    return await asyncio.gather(*(storage_pool.ask(request) for request in requests))


async def test_uploads_of_one_moment_share_a_transaction_and_keep_their_own_answers_and_events(
    storage_pool: StoragePool,
) -> None:
    bucket, keys = await known_bucket(storage_pool), ["a", "bb", "folder/ccc"]

    answers = await at_once(storage_pool, bucket, keys)

    assert await storage_pool.value(_TRANSACTIONS, bucket) == 1
    for key, answer in zip(keys, answers, strict=True):
        row = await storage_pool.row(
            "select id::text, version, metadata ->> 'size' as size from storage.objects where bucket_id = $1 and name = $2",
            bucket,
            key,
        )
        assert (answer.status, json.loads(answer.body)) == (200, {"Id": row["id"], "Key": f"{bucket}/{key}"})
        assert int(row["size"]) == len(key)
        assert await storage_pool.got(f"/object/authenticated/{bucket}/{key}") == key.encode()
        event = "select payload ->> 'reqId' from storage.events_outbox where payload ->> 'version' = $1"
        assert await storage_pool.value(event, row["version"]) == f"req-{key}"


async def test_a_trigger_of_the_project_sees_the_request_of_each_row(storage_pool: StoragePool) -> None:
    bucket, name = await known_bucket(storage_pool), f"note_{uuid.uuid4().hex}"
    await storage_pool.admin.execute(f"""
        create function public.{name}() returns trigger language plpgsql as $$
        begin
          new.user_metadata := jsonb_build_object('path', current_setting('request.path'));
          return new;
        end $$;
        create trigger {name} before insert on storage.objects
        for each row when (new.bucket_id = '{bucket}') execute function public.{name}()
    """)
    try:
        answers = await at_once(storage_pool, bucket, "abc")
    finally:
        await storage_pool.admin.execute(f"drop function public.{name}() cascade")

    assert [answer.status for answer in answers] == [200] * 3
    for key in "abc":
        path = "select user_metadata ->> 'path' from storage.objects where bucket_id = $1 and name = $2"
        assert await storage_pool.value(path, bucket, key) == f"/object/{bucket}/{key}"


async def test_after_a_group_of_which_no_row_was_written_none_is_formed_for_a_while(
    storage_pool: StoragePool,
) -> None:
    bucket = await known_bucket(storage_pool)
    await at_once(storage_pool, bucket, "ab")
    assert {refusal(answer)[0] for answer in await at_once(storage_pool, bucket, "ab")} == {409}
    for key in "cd":  # rules are known again, which the rejections made unknown
        await storage_pool.ask(small(f"/object/{bucket}/{key}"))

    await at_once(storage_pool, bucket, ["e", "f"])
    apart = await storage_pool.value(f"{_TRANSACTIONS} and name in ('e', 'f')", bucket)
    await at_once(storage_pool.at(Clock(61)), bucket, ["g", "h"])

    assert apart == 2
    assert await storage_pool.value(f"{_TRANSACTIONS} and name in ('g', 'h')", bucket) == 1


async def test_an_error_of_one_row_keeps_no_other_row_back(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    await storage_pool.admin.execute("insert into storage.quotas (bucket_id, size) values ($1, 7)", bucket)

    answers = await at_once(storage_pool, bucket, ["aaa", "bbb", "ccc"])

    assert sorted(answer.status for answer in answers) == [200, 200, 400]
    (rejected,) = (answer for answer in answers if answer.status == 400)
    assert refusal(rejected)[:2] == (413, "QuotaExceeded")
    assert await storage_pool.count(bucket) == 2


async def test_a_name_that_another_writer_holds_keeps_no_other_upload_waiting(
    storage_pool: StoragePool,
) -> None:
    bucket = await known_bucket(storage_pool)
    holder = storage_pool.admin.transaction()
    await holder.start()
    await storage_pool.value("select pg_advisory_xact_lock(hashtextextended($1 || '/b', 0))::text", bucket)

    asking = asyncio.create_task(at_once(storage_pool, bucket, "abc"))
    async with asyncio.timeout(60):
        while await storage_pool.count(bucket) < 2:
            await asyncio.sleep(0)
    is_done_before = asking.done()
    await holder.rollback()
    answers = await asking

    assert not is_done_before
    assert [answer.status for answer in answers] == [200] * 3


async def test_of_two_uploads_of_one_name_one_is_a_duplicate(storage_pool: StoragePool) -> None:
    bucket = await known_bucket(storage_pool)
    blobs = await storage_pool.blob_names()

    answers = await at_once(storage_pool, bucket, "aab")

    assert [answer.status for answer in answers].count(200) == 2
    (rejected,) = (answer for answer in answers if answer.status != 200)
    assert refusal(rejected)[:2] == (409, "KeyAlreadyExists")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"a"
    assert len(await storage_pool.blob_names() - blobs) == 2


async def test_a_group_that_gets_no_connection_leaves_no_bytes(
    storage_pool: StoragePool, database: str
) -> None:
    bucket = await known_bucket(storage_pool)
    url = at_role(database, LOGIN, Settings().db.password.reveal())
    busy = await ConnectionPool.open(url, 1, acquire_timeout=0.1)
    pool = replace(storage_pool, store=replace(storage_pool.store, database=busy))
    async with busy.transaction() as transaction:
        await transaction.rows("select 1")
        blobs = await storage_pool.blob_names()
        answers = await at_once(pool, bucket, "abc")
    await busy.close()

    assert [answer.status for answer in answers] == [544] * 3
    assert await storage_pool.blob_names() == blobs


async def test_where_policies_apply_the_statement_writes_nothing(storage_pool: StoragePool) -> None:
    """The role of a service without `bypassrls`: a policy may read the request, which the group does not have."""
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert")
    await storage_pool.policy(bucket, "select")
    rules = {"file_size_limit": None, "allowed_mime_types": None}
    rows = json.dumps([{"name": "a", "version": "2", "metadata": {}, "rules": rules}])
    statement = SQL["insert_several"]

    async with storage_pool.admin.transaction():
        await storage_pool.admin.execute("set local search_path = storage")
        await storage_pool.admin.execute(
            "grant select on storage.buckets to service_role; set local role service_role"
        )
        as_service = await storage_pool.admin.fetch(statement, bucket, rows.replace('"a"', '"b"'))
        await storage_pool.admin.execute("set local role authenticated")
        as_user = await storage_pool.admin.fetch(statement, bucket, rows)

    assert (len(as_service), len(as_user)) == (1, 0)
