import asyncio

from schemas.changes import ChangeKind, Gap, Tick
from tests.workers.replication.replication_pool import operations
from workers.replication import term
from workers.replication.messages import order


async def test_changes_of_a_row_are_published_in_order(replication_pool):
    table = await replication_pool.table("id int primary key, note text")
    await replication_pool.admin.execute(f"insert into {table} values (1, 'a')")
    await replication_pool.admin.execute(f"update {table} set note = 'b'")
    await replication_pool.admin.execute(f"delete from {table}")

    changes = await replication_pool.changes(table, 3)

    assert operations(changes) == [ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.DELETE]
    assert (changes[0].old, changes[0].new) == (None, [b"1", b'"a"'])
    assert (changes[1].old, changes[1].new) == ([b"1", None], [b"1", b'"b"'])
    assert (changes[2].old, changes[2].new) == ([b"1", None], None)


async def test_a_stream_begins_with_a_gap(replication_pool):
    first = (await replication_pool.stored())[0]

    assert isinstance(first.kept, Gap)
    assert first.kept.reason == "replication begins"


async def test_a_place_is_told_now_and_then_though_nothing_of_ours_happens(own_replication_pool, monkeypatch):
    replication_pool = own_replication_pool
    await replication_pool.replication.close()
    monkeypatch.setattr(term, "_TICK_S", 0.05)
    again = replication_pool.another()
    again.start()
    await replication_pool.streams()
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute("create table public.foreign_one (id int)")
    ticks = []
    async with asyncio.timeout(60):
        while len(ticks) < 5:
            await replication_pool.admin.execute(
                f"insert into foreign_one values (1); insert into {table} values ({len(ticks)})"
                " on conflict do nothing"
            )
            everything = await replication_pool.everything()
            ticks = [each for each in everything if isinstance(each.kept, Tick)]
    await again.close()

    places = [order(each.id) for each in everything]
    assert places == sorted(set(places))
    assert [(each.kept.lsn, each.kept.number) for each in ticks] == [order(each.id) for each in ticks]
