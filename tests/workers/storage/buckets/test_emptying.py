"""Emptying of full buckets: it ends, whoever began it and whatever became of him, and takes only what was there."""

import asyncio

import pytest

from tests.workers.storage.house import House
from workers.storage.buckets import rows
from workers.storage.buckets.emptying import BATCH, empty_batch, start_emptying, sweep_emptyings


async def fill(house: House, bucket: str, count: int, prefix: str = "n") -> None:
    """Put rows into a bucket, without bytes."""
    await house.admin.execute(
        "insert into storage.objects (bucket_id, name) select $1, $3 || i from generate_series(1, $2::int) i",
        bucket,
        count,
        prefix,
    )


async def left(house: House, bucket: str) -> int:
    return int(await house.value("select count(*) from storage.emptyings where bucket_id = $1", bucket))


async def swept(house: House, bucket: str) -> None:
    """Sweep until nothing is left of a bucket's emptying: what was cut off may hold it for a moment."""
    async with asyncio.timeout(20):
        while await left(house, bucket):
            await sweep_emptyings(house.store.database)


async def test_small_bucket_is_empty_when_the_answer_leaves(house: House) -> None:
    name = await house.bucket()
    await fill(house, name, BATCH + 7)

    await house.ok("POST", f"/bucket/{name}/empty")

    assert (await house.count(name), await left(house, name)) == (0, 0)
    assert await house.ok("DELETE", f"/bucket/{name}") == {"message": "Successfully deleted"}


async def test_another_worker_goes_on_when_the_first_one_dies(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await house.bucket()
    monkeypatch.setattr(rows, "EMPTIED_AT_ONCE", BATCH)
    await fill(house, name, 3 * BATCH)

    await house.ok("POST", f"/bucket/{name}/empty")
    await house.store.tasks.close(grace_s=0)  # what was under way ends as it does when the process is killed
    rest = await house.count(name)
    assert rest > 0
    assert await left(house, name) == 1
    await swept(house, name)

    assert (await house.count(name), await left(house, name)) == (0, 0)


async def test_batch_that_is_cut_off_is_done_again(house: House) -> None:
    name = await house.bucket()
    await fill(house, name, 2 * BATCH)
    emptying = await start_emptying(house.store.database, name, "req-1")

    lock = 'select 1 from storage.objects where bucket_id = $1 order by name collate "C" limit 1 for update'
    async with house.admin.transaction():
        await house.admin.execute(lock.replace("$1", f"'{name}'"))
        batch = asyncio.ensure_future(empty_batch(house.store.database, emptying))
        while not await house.value("select exists (select from pg_locks where not granted)"):
            await asyncio.sleep(0.01)
        batch.cancel()
        await asyncio.gather(batch, return_exceptions=True)
    assert await house.count(name) == 2 * BATCH
    await swept(house, name)

    assert await house.count(name) == 0


async def test_what_was_written_or_moved_in_later_stays(house: House) -> None:
    name, other = await house.bucket(), await house.bucket()
    await house.uploaded(f"/object/{name}/old")
    await house.uploaded(f"/object/{name}/again", b"first")
    await house.uploaded(f"/object/{other}/moved")
    emptying = await start_emptying(house.store.database, name, "req-1")
    await house.uploaded(f"/object/{name}/new")
    await house.put(f"/object/{name}/again", b"second", method="PUT")
    await house.ok(
        "POST",
        "/object/move",
        {"bucketId": other, "sourceKey": "moved", "destinationKey": "moved", "destinationBucket": name},
    )

    assert await empty_batch(house.store.database, emptying)

    names = await house.value(
        "select array_agg(name order by name) from storage.objects where bucket_id = $1", name
    )
    assert names == ["again", "moved", "new"]
    assert await house.got(f"/object/{name}/again") == b"second"


async def test_rows_without_a_name_or_a_date_go_too(house: House) -> None:
    name = await house.bucket()
    await house.admin.execute(
        "insert into storage.objects (bucket_id, name, created_at, updated_at)"
        " values ($1, null, now(), now()), ($1, 'undated', null, null)",
        name,
    )

    await house.ok("POST", f"/bucket/{name}/empty")

    assert await house.count(name) == 0


async def test_workers_that_empty_the_same_bucket_do_not_get_into_each_others_way(house: House) -> None:
    name = await house.bucket()
    await fill(house, name, 4 * BATCH)
    await start_emptying(house.store.database, name, "req-1")
    await start_emptying(house.store.database, name, "req-2")

    await asyncio.gather(*(sweep_emptyings(house.store.database) for _ in range(3)))
    await swept(house, name)

    assert (await house.count(name), await left(house, name)) == (0, 0)


async def test_events_name_the_request_whoever_goes_on(house: House) -> None:
    name = await house.bucket()
    await fill(house, name, 1)
    await start_emptying(house.store.database, name, "req-of-old")

    await swept(house, name)

    told = await house.value(
        "select payload ->> 'reqId' from storage.events_outbox"
        " where event = 'ObjectRemoved:Delete' and payload ->> 'bucketId' = $1",
        name,
    )
    assert told == "req-of-old"
