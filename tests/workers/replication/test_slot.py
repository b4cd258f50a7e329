"""What becomes of the slot and the publications, and what subscribers are told."""

import asyncio

import asyncpg
import pytest

from broker.jetstream.streams import stream_state
from broker.nats.connection import NatsConnection
from broker.subjects import CHANGES_STREAM
from schemas.changes import Gap
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.tree import Settings
from tests.broker.server import running_server
from tests.workers.database.own_server import own_server
from tests.workers.database.server import OUTSIDE, TRUSTING, connected, temporary_server
from tests.workers.replication.replication_pool import ReplicationPool, replication_pool_of
from workers.database.migrations.migrate import migrate
from workers.replication.messages import order
from workers.replication.pool import Replication
from workers.replication.retire import retire
from workers.replication.slot import ReplicationImpossible, read_server, read_slot

SLOT = RealtimeSettings().slot_name


async def _gaps(replication_pool: ReplicationPool, count: int) -> list[Gap]:
    async with asyncio.timeout(60):
        while True:
            found = [
                stored.kept for stored in await replication_pool.stored() if isinstance(stored.kept, Gap)
            ]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.05)


async def test_a_publication_that_is_made_anew_goes_on_with_its_new_tables(own_replication_pool):
    replication_pool = own_replication_pool
    table, other = (
        await replication_pool.table("id int primary key"),
        await replication_pool.table("id int primary key"),
    )
    await replication_pool.admin.execute(f"insert into {table} values (1)")
    await replication_pool.admin.execute("drop publication if exists supabase_realtime")
    await replication_pool.admin.execute(f"insert into {table} values (2)")
    await replication_pool.admin.execute(f"insert into {other} values (2)")
    await replication_pool.admin.execute("select realtime.send('{}', 'meanwhile', 'room', false)")
    await replication_pool.admin.execute("create publication supabase_realtime")
    await replication_pool.admin.execute(f"insert into {table} values (3)")
    await replication_pool.admin.execute(f"alter publication supabase_realtime add table {table}")
    await replication_pool.admin.execute(f"insert into {table} values (4)")

    changes = await replication_pool.changes(table, 2)

    assert [change.new for change in changes] == [[b"1"], [b"4"]]
    assert [
        stored.kept.event
        for stored in await replication_pool.stored()
        if stored.subject.startswith("messages.")
    ] == ["meanwhile"]
    assert len(await _gaps(replication_pool, 1)) == 1


async def test_a_publication_made_anew_in_one_transaction_loses_nothing_of_its_tables(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    for number in range(0, 30, 3):
        await replication_pool.admin.execute(f"insert into {table} values ({number})")
        async with replication_pool.admin.transaction():
            await replication_pool.admin.execute("drop publication if exists supabase_realtime")
            await replication_pool.admin.execute(f"create publication supabase_realtime for table {table}")
        await replication_pool.admin.execute(f"insert into {table} values ({number + 1})")
        await replication_pool.admin.execute(f"insert into {table} values ({number + 2})")

    changes = await replication_pool.changes(table, 30)

    assert [int(change.new[0]) for change in changes] == list(range(30))


async def test_a_publication_for_all_tables_tells_no_room_messages_as_rows(own_replication_pool):
    replication_pool = own_replication_pool
    await replication_pool.admin.execute("create table public.any (id int primary key)")
    await replication_pool.admin.execute(
        "drop publication supabase_realtime; create publication supabase_realtime for all tables"
    )
    await replication_pool.admin.execute("select realtime.send('{}', 'e', 'room', false)")
    await replication_pool.admin.execute("insert into public.any values (1)")

    await replication_pool.changes("any", 1)

    subjects = [stored.subject.split(".")[0] for stored in await replication_pool.stored()]
    assert subjects == ["gaps", "messages", "changes"]


@pytest.mark.timeout(180)
async def test_a_slot_that_the_server_gave_up_is_made_anew_with_a_gap():
    async with (
        own_server(
            wal_level="logical", max_slot_wal_keep_size="8MB", max_wal_size="32MB", min_wal_size="32MB"
        ) as server,
        running_server() as nats,
        replication_pool_of(server.url, nats) as replication_pool,
    ):
        table = await replication_pool.table("id int primary key")
        await replication_pool.admin.execute(f"insert into {table} values (1)")
        await replication_pool.changes(table, 1)
        await replication_pool.replication.close()
        await replication_pool.admin.execute("create table public.much (t text)")
        while not await replication_pool.admin.fetchval(
            "select wal_status = 'lost' from pg_replication_slots"
        ):
            await replication_pool.admin.execute(
                "insert into much select repeat('x', 1000) from generate_series(1, 20000)"
            )
            await replication_pool.admin.execute("checkpoint")
        await replication_pool.admin.execute(f"insert into {table} values (2)")

        again = replication_pool.another()
        again.start()
        first, second = await _gaps(replication_pool, 2)
        await replication_pool.admin.execute(f"insert into {table} values (3)")
        changes = await replication_pool.changes(table, 2)
        await again.close()

        assert [change.new for change in changes] == [[b"1"], [b"3"]]
        assert second.reason == "the replication slot was lost"
        assert first.lsn < second.since < second.lsn
        places = [order(stored.id) for stored in await replication_pool.stored()]
        assert places == sorted(set(places))


async def test_a_slot_that_somebody_dropped_is_made_anew_with_a_gap(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    await replication_pool.replication.close()
    await replication_pool.drop_slot()
    await replication_pool.admin.execute(f"insert into {table} values (1)")

    again = replication_pool.another()
    again.start()
    _, gap = await _gaps(replication_pool, 2)
    await replication_pool.admin.execute(f"insert into {table} values (2)")
    changes = await replication_pool.changes(table, 1)
    await again.close()

    assert [change.new for change in changes] == [[b"2"]]
    assert gap.reason == "the replication slot was lost"


async def test_a_stream_that_is_gone_is_made_anew_with_a_gap(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute(f"insert into {table} values (1)")
    await replication_pool.changes(table, 1)
    await replication_pool.broker.request(f"$JS.API.STREAM.DELETE.{CHANGES_STREAM}", b"")
    await replication_pool.admin.execute(f"insert into {table} values (2)")

    async with asyncio.timeout(30):
        while await stream_state(replication_pool.broker, CHANGES_STREAM) is None:
            await asyncio.sleep(0.05)
    changes = await replication_pool.changes(table, 1)

    assert [change.new for change in changes] == [[b"2"]]
    (gap,) = await _gaps(replication_pool, 1)
    assert gap.reason == "the stream of changes was made anew"


async def test_a_stream_that_was_emptied_goes_on(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute(f"insert into {table} values (1)")
    await replication_pool.changes(table, 1)
    await replication_pool.broker.request(f"$JS.API.STREAM.PURGE.{CHANGES_STREAM}", b"")
    await replication_pool.replication.close()
    await replication_pool.admin.execute(f"insert into {table} values (2)")
    again = replication_pool.another()
    again.start()

    changes = await replication_pool.changes(table, 1)
    await again.close()

    assert [change.new for change in changes] == [[b"2"]]


async def test_the_stream_of_another_database_begins_anew():
    with temporary_server(programs=OUTSIDE) as old, temporary_server(programs=OUTSIDE) as new:
        async with running_server() as nats:
            async with replication_pool_of(old.url(), nats) as replication_pool:
                table = await replication_pool.table("id int primary key")
                await replication_pool.admin.execute(f"insert into {table} values (1)")
                await replication_pool.changes(table, 1)
            async with replication_pool_of(new.url(), nats) as replication_pool:
                table = await replication_pool.table("id int primary key")
                await replication_pool.admin.execute(f"insert into {table} values (2)")

                changes = await replication_pool.changes(table, 1)

                assert [change.new for change in changes] == [[b"2"]]
                assert isinstance((await replication_pool.stored())[0].kept, Gap)


async def test_foreign_changes_let_the_slot_go_on(own_replication_pool):
    replication_pool = own_replication_pool
    await replication_pool.admin.execute("create table public.foreign_rows (id int)")
    before = await replication_pool.admin.fetchval("select confirmed_flush_lsn from pg_replication_slots")
    async with asyncio.timeout(30):
        while (
            await replication_pool.admin.fetchval(
                "select confirmed_flush_lsn from pg_replication_slots where confirmed_flush_lsn > $1", before
            )
            is None
        ):
            await replication_pool.admin.execute("insert into foreign_rows values (1)")
            await asyncio.sleep(0.05)


async def test_while_the_broker_is_away_the_slot_holds_the_changes(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute(f"insert into {table} values (1)")
    await replication_pool.changes(table, 1)
    replication_pool.nats.kill()
    await replication_pool.admin.execute(f"insert into {table} select generate_series(2, 3000)")
    await replication_pool.nats.start()
    await replication_pool.broker.connected()

    changes = await replication_pool.changes(table, 3000)

    assert [int(change.new[0]) for change in changes] == list(range(1, 3001))


async def test_a_server_or_a_role_that_cannot_replicate_is_told_in_words():
    async with own_server(wal_level="replica") as server, connected(server.url) as admin:
        with pytest.raises(ReplicationImpossible, match="wal_level is replica"):
            await read_server(admin.fetch)


async def test_a_role_without_the_right_is_told_in_words(replication_pool):
    async with connected(replication_pool.database) as admin:
        await admin.execute("set role anon")
        with pytest.raises(ReplicationImpossible, match="role anon may not replicate"):
            await read_server(admin.fetch)


async def test_a_slot_of_another_database_is_not_touched(replication_pool):
    with pytest.raises(ReplicationImpossible, match="belongs to something else"):
        await read_slot(replication_pool.admin.fetch, SLOT, "other")


async def test_an_unfit_server_is_tried_again_and_stops_nothing():
    async with own_server(wal_level="replica") as server, running_server() as nats:
        broker = await NatsConnection.open(nats.url, name="test")
        replication = Replication(broker, server.url, RealtimeSettings(), server.url)

        assert await replication._lead_once() > 1
        assert not replication.is_leader
        await replication.close()
        await broker.close()


async def test_a_slot_that_nobody_reads_is_dropped_when_realtime_is_off(own_replication_pool):
    replication_pool = own_replication_pool
    assert not await retire(replication_pool.database, SLOT)  # it is being read

    await replication_pool.replication.close()
    async with asyncio.timeout(60):
        while not await retire(replication_pool.database, SLOT):
            await asyncio.sleep(0.05)

    assert await replication_pool.admin.fetchval("select count(*) from pg_replication_slots") == 0
    assert not await retire(replication_pool.database, SLOT)


async def test_the_login_may_replicate_and_no_more_than_read():
    with temporary_server(programs=OUTSIDE) as server:
        await migrate(server.url(), TRUSTING)
        url = server.url(RealtimeSettings().login, Settings().db.password.reveal())
        async with connected(url) as connection:
            assert (await read_server(connection.fetch)).database == "postgres"
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute("create table public.x (id int)")


async def test_a_broker_is_told_of_a_gap_where_another_one_had_its_slot_meanwhile(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute(f"insert into {table} values (1)")
    (told,) = await replication_pool.batches(table, 1)
    await replication_pool.replication.close()
    async with (
        running_server() as elsewhere,
        replication_pool_of(replication_pool.database, elsewhere) as other,
    ):
        await replication_pool.admin.execute(f"insert into {table} values (2)")
        assert [change.new for change in await other.changes(table, 1)] == [[b"2"]]

    again = replication_pool.another()
    again.start()
    await replication_pool.streams()
    await replication_pool.admin.execute(f"insert into {table} values (3)")

    assert [change.new for change in await replication_pool.changes(table, 2)] == [[b"1"], [b"3"]]
    gap = (await _gaps(replication_pool, 2))[1]
    assert (gap.reason, gap.since) == ("another broker was told of changes meanwhile", told.lsn)
    await again.close()


async def test_a_database_without_a_place_for_it_is_read_all_the_same(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    await replication_pool.replication.close()
    await replication_pool.admin.execute("drop table headwater.streams_of_changes")
    again = replication_pool.another()
    again.start()
    await replication_pool.streams()
    await replication_pool.admin.execute(f"insert into {table} values (1)")

    assert [change.new for change in await replication_pool.changes(table, 1)] == [[b"1"]]
    assert len(await _gaps(replication_pool, 1)) == 1
    await again.close()
