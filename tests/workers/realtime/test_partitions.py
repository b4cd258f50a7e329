"""The partitions of realtime.messages."""

import asyncio

from broker.observability import observe
from tests.workers.database.server import connected
from tests.workers.realtime.realtime_pool import RealtimePool
from workers.database.connection_pool.pool import ConnectionPool
from workers.realtime.partitions import maintain_once, maintain_partitions


async def partitions(realtime_pool: RealtimePool) -> set[str]:
    rows = await realtime_pool.admin.fetch(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'realtime.messages'::regclass"
    )
    return {row[0].removeprefix("realtime.messages_") for row in rows}


async def days(realtime_pool: RealtimePool, first: int, last: int) -> set[str]:
    rows = await realtime_pool.admin.fetch(
        "select to_char((now() at time zone 'utc')::date + n, 'YYYY_MM_DD') from generate_series($1::int, $2::int) as n",
        first,
        last,
    )
    return {row[0] for row in rows}


async def test_partitions_are_made_ahead_and_old_ones_dropped(realtime_pool: RealtimePool) -> None:
    missing, old = (await days(realtime_pool, 2, 2)).pop(), (await days(realtime_pool, -4, -4)).pop()
    await realtime_pool.sql(f"drop table realtime.messages_{missing}")
    await realtime_pool.sql(
        f"create table realtime.messages_{old} partition of realtime.messages"
        f" for values from ('{old.replace('_', '-')}') to ('{old.replace('_', '-')} 23:00')"
    )
    await realtime_pool.sql(f"alter table realtime.messages_{old} owner to supabase_realtime_admin")

    assert await maintain_once(realtime_pool.pool)

    assert await partitions(realtime_pool) == {"default", *await days(realtime_pool, -1, 3)}


async def test_only_one_worker_keeps_them(realtime_pool: RealtimePool) -> None:
    missing = (await days(realtime_pool, 2, 2)).pop()
    await realtime_pool.sql(f"drop table realtime.messages_{missing}")
    async with connected(realtime_pool.url) as other, other.transaction():
        await other.execute("select pg_advisory_xact_lock(1751474797, 2)")

        assert await maintain_once(realtime_pool.pool)
        assert missing not in await partitions(realtime_pool)

    assert await maintain_once(realtime_pool.pool)
    assert missing in await partitions(realtime_pool)


async def test_they_are_kept_as_soon_as_the_pool_starts(realtime_pool: RealtimePool) -> None:
    missing = (await days(realtime_pool, 2, 2)).pop()
    await realtime_pool.sql(f"drop table realtime.messages_{missing}")
    keeping = asyncio.ensure_future(maintain_partitions(realtime_pool.pool))
    async with asyncio.timeout(60):
        while missing not in await partitions(realtime_pool):
            await asyncio.sleep(0.01)
    keeping.cancel()


async def test_a_failure_is_told(realtime_pool: RealtimePool) -> None:
    pool = await ConnectionPool.open("postgresql://nobody:none@127.0.0.1:1/none", 1, acquire_timeout=0.1)
    try:
        assert not await maintain_once(pool)
    finally:
        await pool.close()
    await realtime_pool.sql("revoke execute on function realtime.keep_partitions() from authenticator")
    try:
        assert not await maintain_once(realtime_pool.pool)
    finally:
        await realtime_pool.sql("grant execute on function realtime.keep_partitions() to authenticator")

    assert b'headwater_observations_total{kind="PartitionsFailed"} ' in observe.exposition()


async def test_callers_of_the_interface_may_not_keep_them(realtime_pool: RealtimePool) -> None:
    for role in ("anon", "authenticated"):
        assert not await realtime_pool.value(
            "select has_function_privilege($1, 'realtime.keep_partitions()', 'execute')", role
        )
        assert not await realtime_pool.value(
            "select has_function_privilege($1, 'realtime.schema_known()', 'execute')", role
        )
