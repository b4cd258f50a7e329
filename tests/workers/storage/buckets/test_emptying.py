"""Emptying of full buckets: it ends, whoever began it and whatever became of him, and takes only what was there."""

import asyncio

import pytest

from tests.workers.storage.storage_pool import StoragePool
from workers.database.errors import DatabaseError
from workers.storage.buckets import rows
from workers.storage.buckets.emptying import BATCH, BucketEmptying, empty_batch, sweep_emptyings


async def fill(storage_pool: StoragePool, bucket: str, count: int, prefix: str = "n") -> None:
    """Put rows into a bucket, without bytes."""
    await storage_pool.admin.execute(
        "insert into storage.objects (bucket_id, name) select $1, $3 || i from generate_series(1, $2::int) i",
        bucket,
        count,
        prefix,
    )


async def begun(storage_pool: StoragePool, bucket: str, request_id: str) -> BucketEmptying:
    """Record an emptying that a worker has left before its first batch."""
    id = await storage_pool.value(
        "insert into storage.emptyings (bucket_id, before, request_id) values ($1, clock_timestamp(), $2) returning id",
        bucket,
        request_id,
    )
    return BucketEmptying(int(id), bucket, request_id)


async def left(storage_pool: StoragePool, bucket: str) -> int:
    return int(
        await storage_pool.value("select count(*) from storage.emptyings where bucket_id = $1", bucket)
    )


async def swept(storage_pool: StoragePool, bucket: str) -> None:
    """Sweep until nothing is left of a bucket's emptying: what was cut off may hold it for a moment."""
    async with asyncio.timeout(60):
        while await left(storage_pool, bucket):
            await sweep_emptyings(storage_pool.store.database)


async def test_small_bucket_is_empty_when_the_answer_leaves(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await fill(storage_pool, name, BATCH + 7)

    await storage_pool.ok("POST", f"/bucket/{name}/empty")

    assert (await storage_pool.count(name), await left(storage_pool, name)) == (0, 0)
    assert await storage_pool.ok("DELETE", f"/bucket/{name}") == {"message": "Successfully deleted"}


async def test_another_worker_goes_on_when_the_first_one_dies(
    storage_pool: StoragePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await storage_pool.bucket()
    monkeypatch.setattr(rows, "EMPTIED_AT_ONCE", BATCH)
    await fill(storage_pool, name, 3 * BATCH)

    await storage_pool.ok("POST", f"/bucket/{name}/empty")
    await storage_pool.store.tasks.close(
        grace_s=0
    )  # what was under way ends as it does when the process is killed
    rest = await storage_pool.count(name)
    assert rest > 0
    assert await left(storage_pool, name) == 1
    await swept(storage_pool, name)

    assert (await storage_pool.count(name), await left(storage_pool, name)) == (0, 0)


async def test_bucket_that_must_not_be_emptied_does_not_keep_others_waiting(
    storage_pool: StoragePool,
) -> None:
    stuck, other = await storage_pool.bucket(), await storage_pool.bucket()
    for name in (stuck, other):
        await fill(storage_pool, name, 1)
        await begun(storage_pool, name, "req-1")
    await storage_pool.admin.execute(
        f"create table public.pins_{stuck.replace('-', '_')} (id uuid references storage.objects);"
        f"insert into public.pins_{stuck.replace('-', '_')} select id from storage.objects where bucket_id = '{stuck}'"
    )

    with pytest.raises(DatabaseError):
        await sweep_emptyings(storage_pool.store.database)
    await storage_pool.refused("POST", f"/bucket/{stuck}/empty")
    assert await left(storage_pool, stuck) == 1  # what was refused is not done later
    await storage_pool.admin.execute(f"drop table public.pins_{stuck.replace('-', '_')}")

    assert (await storage_pool.count(stuck), await storage_pool.count(other)) == (1, 0)
    await swept(storage_pool, stuck)


async def test_batch_that_is_cut_off_is_done_again(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await fill(storage_pool, name, 2 * BATCH)
    emptying = await begun(storage_pool, name, "req-1")

    lock = 'select 1 from storage.objects where bucket_id = $1 order by name collate "C" limit 1 for update'
    async with storage_pool.admin.transaction():
        await storage_pool.admin.execute(lock.replace("$1", f"'{name}'"))
        batch = asyncio.ensure_future(empty_batch(storage_pool.store.database, emptying))
        while not await storage_pool.value("select exists (select from pg_locks where not granted)"):
            await asyncio.sleep(0.01)
        batch.cancel()
        await asyncio.gather(batch, return_exceptions=True)
    assert await storage_pool.count(name) == 2 * BATCH
    await swept(storage_pool, name)

    assert await storage_pool.count(name) == 0


async def test_what_was_written_or_moved_in_later_stays(storage_pool: StoragePool) -> None:
    name, other = await storage_pool.bucket(), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{name}/old")
    await storage_pool.uploaded(f"/object/{name}/again", b"first")
    await storage_pool.uploaded(f"/object/{other}/moved")
    emptying = await begun(storage_pool, name, "req-1")
    await storage_pool.uploaded(f"/object/{name}/new")
    await storage_pool.put(f"/object/{name}/again", b"second", method="PUT")
    await storage_pool.ok(
        "POST",
        "/object/move",
        {"bucketId": other, "sourceKey": "moved", "destinationKey": "moved", "destinationBucket": name},
    )

    assert await empty_batch(storage_pool.store.database, emptying)

    names = await storage_pool.value(
        "select array_agg(name order by name) from storage.objects where bucket_id = $1", name
    )
    assert names == ["again", "moved", "new"]
    assert await storage_pool.got(f"/object/{name}/again") == b"second"


async def test_rows_without_a_name_or_a_date_go_too(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await storage_pool.admin.execute(
        "insert into storage.objects (bucket_id, name, created_at, updated_at)"
        " values ($1, null, now(), now()), ($1, 'undated', null, null)",
        name,
    )

    await storage_pool.ok("POST", f"/bucket/{name}/empty")

    assert await storage_pool.count(name) == 0


async def test_workers_that_empty_the_same_bucket_do_not_get_into_each_others_way(
    storage_pool: StoragePool,
) -> None:
    name = await storage_pool.bucket()
    await fill(storage_pool, name, 4 * BATCH)
    await begun(storage_pool, name, "req-1")
    await begun(storage_pool, name, "req-2")

    await asyncio.gather(*(sweep_emptyings(storage_pool.store.database) for _ in range(3)))
    await swept(storage_pool, name)

    assert (await storage_pool.count(name), await left(storage_pool, name)) == (0, 0)


async def test_events_name_the_request_whoever_goes_on(storage_pool: StoragePool) -> None:
    name = await storage_pool.bucket()
    await fill(storage_pool, name, 1)
    await begun(storage_pool, name, "req-of-old")

    await swept(storage_pool, name)

    told = await storage_pool.value(
        "select payload ->> 'reqId' from storage.events_outbox"
        " where event = 'ObjectRemoved:Delete' and payload ->> 'bucketId' = $1",
        name,
    )
    assert told == "req-of-old"
