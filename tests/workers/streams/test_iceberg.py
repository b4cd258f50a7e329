"""Rows and changes in Iceberg tables, with a real Postgres and a real broker, read by DuckDB."""

import asyncio
from pathlib import Path

from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.running_streams import rows_in, states, stream, streaming, until


async def test_a_merged_table_has_the_rows_of_the_source_over_changes_and_restarts(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("""
        create table public.orders (
          id int primary key, status text, price numeric(10,2), at timestamptz, day date, tags text[], data jsonb, raw bytea,
          ratio float8, many numeric, secret text, long text
        );
        grant select on public.orders to service_role;
        alter table public.orders alter long set storage external;
        insert into public.orders select
          n, 'new', n + 0.25, '2026-01-02 03:04:05.678+00', '2026-01-02', '{a,"b c"}', '{"a": [1, null]}', '\\x00ff', 0.5, 1e20, 'hidden',
          repeat('x', 5000)
        from generate_series(1, 2500) as n
    """)
    lake = str(tmp_path / "lake" / "public" / "orders")
    lakes = {"lake": stream(f"file://{tmp_path}/lake", "orders", without={"orders": ["secret"]})}

    names = ("id", "status", "price", "many", "long", "raw", "ratio")

    async def has_all() -> bool:
        expected = await admin.fetch(
            "select id, status, price, at, day, tags::text, data::text, upper(encode(raw, 'hex')) as raw, ratio, many::text, length(long) as long from orders order by id"
        )
        columns = 'id, status, price::text as price, epoch_us("at") as "at", day::text as day, tags, data, hex(raw) as raw, ratio, many, length(long) as long'
        read = rows_in(lake, columns, "order by id")
        return [[str(r[name]) for name in names] for r in read] == [
            [str(r[name]) for name in names] for r in expected
        ]

    async with streaming(replication_pool, **lakes):
        await until(has_all)
        first = rows_in(lake, '* replace (epoch_us("at") as "at")', "where id = 1")[0]
        assert first["tags"] == '["a", "b c"]'
        assert first["data"] == '{"a": [1, null]}'
        assert first["at"] == 1767323045678000
        assert first["day"] == "2026-01-02"
        assert "secret" not in first
        await admin.execute(
            "update orders set status = 'paid' where id % 7 = 0; delete from orders where id between 100 and 200"
        )
        await admin.execute(
            "update orders set id = 9000 where id = 3; insert into orders (id, status) values (9001, 'x')"
        )
        await until(has_all)
    await admin.execute("insert into orders (id) values (9002); update orders set price = 1 where id = 1")
    async with streaming(replication_pool, **lakes):
        await until(has_all)
        await admin.execute(
            "alter table orders add column note text; update orders set note = 'n' where id = 2"
        )
        await until(lambda: _is(rows_in, lake, "note", "where id = 2", [{"note": "n"}]))
        await admin.execute("alter table orders rename column note to remark")
        await admin.execute("update orders set remark = 'r' where id = 4")
        await until(
            lambda: _is(
                rows_in, lake, "remark", "where id in (2, 4) order by id", [{"remark": "n"}, {"remark": "r"}]
            )
        )
        assert (await states(replication_pool))["orders"]["snapshots"] == 1
        await admin.execute(
            "alter table orders add column level int default 3; delete from orders where id = 5"
        )
        await until(lambda: _is(rows_in, lake, "level", "where id = 2", [{"level": 3}]))
        await admin.execute(
            "alter table orders alter column level type text using level || ' up'; delete from orders where id = 6"
        )
        await until(lambda: _is(rows_in, lake, "level", "where id = 2", [{"level": "3 up"}]))
        await admin.execute("truncate orders; insert into orders (id) values (1)")
        await until(has_all)
    assert (await states(replication_pool))["orders"]["snapshots"] == 3


async def _is(read, lake: str, columns: str, more: str, expected: list) -> bool:
    await asyncio.sleep(0)
    return read(lake, columns, more) == expected


async def test_a_key_that_iceberg_cannot_hold_is_refused_before_it_takes_other_rows_along(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("""
        create table public.moments (at timestamptz primary key, n int); grant select on public.moments to service_role;
        insert into public.moments values ('2026-01-02', 1)
    """)
    lake = str(tmp_path / "lake" / "public" / "moments")

    async def numbers() -> list[int]:
        return [row["n"] for row in rows_in(lake, "n", "order by n")]

    async def problem() -> str:
        return str((await states(replication_pool)).get("moments", {}).get("problem"))

    async def is_refused() -> bool:
        return "key column 'at' has a value that the target cannot hold" in await problem()

    async def has_one() -> bool:
        return await numbers() == [1]

    async def has_both() -> bool:
        return await numbers() == [1, 3]

    async with streaming(replication_pool, lake=stream(f"file://{tmp_path}/lake", "moments")) as candidate:
        await until(has_one)
        await admin.execute("insert into public.moments values ('infinity', 2)")
        await until(is_refused)
        assert await numbers() == [1]
        await admin.execute(
            "delete from public.moments where n = 2; insert into public.moments values ('2026-01-03', 3)"
        )
        await replication_pool.changes("moments", 3)
        candidate.change()
        await until(has_both)
