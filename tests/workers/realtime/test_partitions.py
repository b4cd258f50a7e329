"""The partitions of realtime.messages."""

import asyncio

from broker.observability import observe
from tests.workers.database.server import connected
from tests.workers.realtime.house import House
from workers.database.connection_pool.pool import ConnectionPool
from workers.realtime.partitions import maintain_once, maintain_partitions


async def partitions(house: House) -> set[str]:
    rows = await house.admin.fetch(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'realtime.messages'::regclass"
    )
    return {row[0].removeprefix("realtime.messages_") for row in rows}


async def days(house: House, first: int, last: int) -> set[str]:
    rows = await house.admin.fetch(
        "select to_char((now() at time zone 'utc')::date + n, 'YYYY_MM_DD') from generate_series($1::int, $2::int) as n",
        first,
        last,
    )
    return {row[0] for row in rows}


async def test_partitions_are_made_ahead_and_old_ones_dropped(house: House) -> None:
    missing, old = (await days(house, 2, 2)).pop(), (await days(house, -4, -4)).pop()
    await house.sql(f"drop table realtime.messages_{missing}")
    await house.sql(
        f"create table realtime.messages_{old} partition of realtime.messages"
        f" for values from ('{old.replace('_', '-')}') to ('{old.replace('_', '-')} 23:00')"
    )
    await house.sql(f"alter table realtime.messages_{old} owner to supabase_realtime_admin")

    assert await maintain_once(house.pool)

    assert await partitions(house) == {"default", *await days(house, -1, 3)}


async def test_only_one_worker_keeps_them(house: House) -> None:
    missing = (await days(house, 2, 2)).pop()
    await house.sql(f"drop table realtime.messages_{missing}")
    async with connected(house.url) as other, other.transaction():
        await other.execute("select pg_advisory_xact_lock(1751474797, 2)")

        assert await maintain_once(house.pool)
        assert missing not in await partitions(house)

    assert await maintain_once(house.pool)
    assert missing in await partitions(house)


async def test_they_are_kept_as_soon_as_the_pool_starts(house: House) -> None:
    missing = (await days(house, 2, 2)).pop()
    await house.sql(f"drop table realtime.messages_{missing}")
    keeping = asyncio.ensure_future(maintain_partitions(house.pool))
    async with asyncio.timeout(20):
        while missing not in await partitions(house):
            await asyncio.sleep(0.01)
    keeping.cancel()


async def test_a_failure_is_told(house: House) -> None:
    pool = await ConnectionPool.open("postgresql://nobody:none@127.0.0.1:1/none", 1, acquire_timeout=0.1)
    try:
        assert not await maintain_once(pool)
    finally:
        await pool.close()
    await house.sql("revoke execute on function realtime.keep_partitions() from authenticator")
    try:
        assert not await maintain_once(house.pool)
    finally:
        await house.sql("grant execute on function realtime.keep_partitions() to authenticator")

    assert b'headwater_observations_total{kind="PartitionsFailed"} ' in observe.exposition()


async def test_callers_of_the_interface_may_not_keep_them(house: House) -> None:
    for role in ("anon", "authenticated"):
        assert not await house.value(
            "select has_function_privilege($1, 'realtime.keep_partitions()', 'execute')", role
        )
        assert not await house.value(
            "select has_function_privilege($1, 'realtime.schema_known()', 'execute')", role
        )
