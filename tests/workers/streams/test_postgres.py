"""Rows in another Postgres, with two real servers' worth of databases and a real broker."""

import asyncio
from typing import Any

import pytest

from tests.workers.database.server import connected
from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.running_streams import states, stream, streaming, until
from workers.streams import table_copy
from workers.streams.model import CopyPlace
from workers.streams.table_state import TableState

TABLE = """
create table public.copied (
  id int generated always as identity, part text, price numeric(10,2), made timestamptz, raw bytea, tags text[], data jsonb, secret text,
  primary key (part, id)
)
"""


async def test_rows_follow_into_another_database_once_over_restarts(replication_pool: ReplicationPool):
    admin = replication_pool.admin
    await admin.execute(TABLE)
    await admin.execute("grant select on public.copied to service_role")
    await admin.execute("""
        insert into public.copied (part, price, made, raw, tags, data, secret) select
          'p' || n % 2, n + 0.25, '2026-01-02 03:04:05.678+00', '\\x00ff', '{a,"b c"}', '{"a": [1, null]}', 's'
        from generate_series(1, 300) as n
    """)
    await admin.execute("create database copies")
    url = replication_pool.database.rsplit("/", 1)[0] + "/copies"
    streams = {"copy": stream(url, "copied", without={"copied": ["secret"]}, closed_network=True)}

    async with connected(url) as target:

        async def rows(connection: Any) -> list[Any]:
            columns = "id, part, price, made, raw, tags, data::text"
            return [
                tuple(row)
                for row in await connection.fetch(f"select {columns} from public.copied order by id")
            ]

        async def has_all() -> bool:
            return await rows(target) == await rows(admin)

        async def is_rejected() -> bool:
            state = (await states(replication_pool)).get("copied", {})
            return str(state.get("problem")).startswith("the target has no such table")

        async with streaming(replication_pool, **streams) as candidate:
            await until(is_rejected)
            await target.execute(TABLE)
            candidate.change()
            await until(has_all)
            await admin.execute(
                "update public.copied set price = 1, part = 'q' where id < 10; delete from public.copied where id > 290"
            )
            await until(has_all)
        place = await target.fetchval("select place from public.headwater_streams")
        await admin.execute(
            "delete from public.copied where id = 20; insert into public.copied (part) values ('new')"
        )
        async with streaming(replication_pool, **streams):
            await until(has_all)
            await admin.execute("truncate public.copied; insert into public.copied (part) values ('last')")
            await until(has_all)
        assert await target.fetchval("select place from public.headwater_streams") != place
        assert not await target.fetchval("select exists (select from public.copied where secret is not null)")
    assert (await states(replication_pool))["copied"]["snapshots"] == 1


async def test_rows_that_exchange_unique_values_follow_into_a_deferrable_constraint(
    replication_pool: ReplicationPool,
):
    admin = replication_pool.admin
    table = "create table public.places (id int primary key, name text constraint name unique)"
    await admin.execute(table)
    await admin.execute(
        "grant select on public.places to service_role; insert into public.places values (1, 'a'), (2, 'b')"
    )
    await admin.execute("create database exchanged")
    url = replication_pool.database.rsplit("/", 1)[0] + "/exchanged"

    async with connected(url) as target:
        await target.execute(table)

        async def names() -> list[str]:
            return [
                str(row["name"]) for row in await target.fetch("select name from public.places order by id")
            ]

        async def is_first() -> bool:
            return await names() == ["a", "b"]

        async def is_refused() -> bool:
            problem = str((await states(replication_pool)).get("places", {}).get("problem"))
            return "make it a deferrable constraint" in problem

        async def is_exchanged() -> bool:
            return await names() == ["b", "a"]

        settings = {"copy": stream(url, "places", closed_network=True)}
        async with streaming(replication_pool, **settings) as candidate:
            await until(is_first)
            await admin.execute(
                "update public.places set name = 'x' where id = 1; update public.places set name = 'a' where id = 2;"
                " update public.places set name = 'b' where id = 1"
            )
            await until(is_refused)
            await target.execute(
                "alter table public.places drop constraint name, add constraint name unique (name) deferrable"
            )
            candidate.change()
            await until(is_exchanged)


async def test_what_arrived_during_a_write_is_not_taken_for_written_when_the_process_dies(
    replication_pool: ReplicationPool, monkeypatch: pytest.MonkeyPatch
):
    admin = replication_pool.admin
    table = "create table public.dying (id int primary key)"
    await admin.execute(
        f"{table}; grant select on public.dying to service_role; insert into public.dying values (1)"
    )
    await admin.execute("create database dying_copies")
    url = replication_pool.database.rsplit("/", 1)[0] + "/dying_copies"
    streams = {"dying": stream(url, "dying", closed_network=True)}
    died = asyncio.Event()
    idle = TableState.idle

    async def die(state: TableState, place: CopyPlace, seq: int, lsn: int) -> None:
        await idle(state, place, seq, lsn)
        if not died.is_set():
            died.set()
            await asyncio.Event().wait()

    async with connected(url) as target, connected(url) as locker:
        await target.execute(table)

        async def copied() -> list[int]:
            return [row["id"] for row in await target.fetch("select id from public.dying order by id")]

        async def is_waiting() -> bool:
            waiting = "select exists (select from pg_locks where not granted and relation = 'public.dying'::regclass)"
            return bool(await target.fetchval(waiting))

        async def has(*expected: int) -> bool:
            return await copied() == list(expected)

        async with streaming(replication_pool, **streams):
            await until(lambda: has(1))
            async with locker.transaction():
                await locker.execute("lock table public.dying in share mode")
                await admin.execute("insert into public.dying values (2)")
                await until(is_waiting)
                monkeypatch.setattr(table_copy, "_KEEP_S", 0.0)
                monkeypatch.setattr(TableState, "idle", die)
                await admin.execute("insert into public.dying values (3)")
                await replication_pool.changes("dying", 2)
            await died.wait()
        async with streaming(replication_pool, **streams):
            await until(lambda: has(1, 2, 3))
