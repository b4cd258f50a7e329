"""A standby takes over: what both servers know is told once, and what only the lost one knew is told as a gap."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from broker.jetstream.streams import stream_state
from broker.subjects import CHANGES_STREAM
from schemas.changes import Gap
from schemas.settings.realtime import RealtimeSettings
from tests.broker.server import running_server
from tests.workers.database.own_server import OwnServer, own_server
from tests.workers.database.server import connected
from tests.workers.database.standby import PRIMARY, Address, Standby, address_of, standby_of
from tests.workers.replication.replication_pool import ReplicationPool, replication_pool_of
from tests.workers.replication.writers import check, write
from workers.replication.failover import ends_before, is_common, parse_history

SLOT = RealtimeSettings().slot_name
ROWS = "writer int, number int, primary key (writer, number)"
_LONGEST_S = 60
_HISTORY = """
# a comment
1\t0/3000148\tno recovery target specified

2\t16/B374D848\tno recovery target specified
"""


def test_a_history_says_where_each_timeline_was_left():
    assert parse_history(_HISTORY) == {1: 0x3000148, 2: 0x16B374D848}
    assert parse_history("") == {}


def test_what_was_told_before_a_timeline_was_left_is_known_to_those_behind_it():
    ends = {1: 100, 2: 200}

    assert is_common(99, 1, ends)
    assert not is_common(100, 1, ends)
    assert is_common(150, 2, ends)
    assert not is_common(1, 7, ends)  # a timeline that is no ancestor


async def test_a_server_that_never_failed_over_has_no_history(own_replication_pool):
    assert await ends_before(own_replication_pool.url, 1) == {}


async def test_a_slot_of_before_is_kept_on_standbys_too(own_replication_pool):
    replication_pool = own_replication_pool
    if await replication_pool.admin.fetchval("select current_setting('server_version_num')::int < 170000"):
        pytest.skip("before Postgres 17 standbys keep no slots")
    asked = "select failover from pg_replication_slots where slot_name = $1"
    assert await replication_pool.admin.fetchval(asked, SLOT)
    await replication_pool.replication.close()
    await replication_pool.drop_slot()
    await replication_pool.admin.execute("select pg_create_logical_replication_slot($1, 'pgoutput')", SLOT)
    assert not await replication_pool.admin.fetchval(asked, SLOT)

    again = replication_pool.another()
    again.start()
    await replication_pool.streams()

    assert await replication_pool.admin.fetchval(asked, SLOT)
    await again.close()


@contextlib.asynccontextmanager
async def _pair(primary: OwnServer) -> AsyncIterator[tuple[ReplicationPool, Standby, Address]]:
    """Return a pool replication whose database has a standby that keeps its slot, and the address by which all reach it."""
    async with (
        running_server() as nats,
        address_of(primary) as address,
        replication_pool_of(
            f"postgresql://tester:tester@127.0.0.1:{address.port}/postgres", nats
        ) as replication_pool,
        standby_of(primary) as standby,
    ):
        async with asyncio.timeout(_LONGEST_S):
            while not await standby.has_slot(SLOT):  # it is kept for good when the slot has moved on
                await replication_pool.admin.execute("select pg_log_standby_snapshot()")
                await asyncio.sleep(0.1)
        yield replication_pool, standby, address


async def _set(server: OwnServer, **settings: str) -> None:
    async with connected(server.url) as admin:
        for name, value in settings.items():
            await admin.execute(f"alter system set {name} = '{value}'")
        await admin.execute("select pg_reload_conf()")


async def _fail_over(primary: OwnServer, standby: Standby, address: Address) -> None:
    primary.stop()
    address.point(None)
    await standby.promote()
    address.point(standby.port)


async def test_a_failover_under_load_loses_and_doubles_nothing():
    async with own_server(**PRIMARY) as primary, _pair(primary) as (replication_pool, standby, address):
        await _set(primary, synchronous_standby_names=standby.name, synchronized_standby_slots=standby.slot)
        table = await replication_pool.table(ROWS)
        writing = asyncio.gather(*(write(replication_pool, table, writer, 500) for writer in range(4)))
        await replication_pool.changes(table, 200)

        await _fail_over(primary, standby, address)
        await writing
        await write(replication_pool, table, 4, 10)

        await check(replication_pool, table, 2010)
        state = await stream_state(replication_pool.broker, CHANGES_STREAM)
        assert state is not None
        assert state.notes["headwater-timeline"] == "2"


async def test_a_server_that_takes_the_reader_for_its_standby_still_commits():
    async with (
        own_server(**PRIMARY) as server,
        running_server() as nats,
        replication_pool_of(server.url, nats) as replication_pool,
    ):
        await _set(server, synchronous_standby_names="*")
        table = await replication_pool.table(ROWS)

        await write(replication_pool, table, 0, 5)

        await check(replication_pool, table, 5)


async def test_what_a_lost_server_had_told_alone_is_a_gap_and_no_change_behind_it_is_missed():
    async with own_server(**PRIMARY) as primary, _pair(primary) as (replication_pool, standby, address):
        table = await replication_pool.table(ROWS)
        await write(replication_pool, table, 0, 20)
        await replication_pool.changes(table, 20)
        await standby.catch_up(primary)
        await standby.cut_off()
        await write(replication_pool, table, 1, 200)
        await replication_pool.changes(table, 220)

        await _fail_over(primary, standby, address)
        await write(replication_pool, table, 2, 300)

        await replication_pool.changes(table, 300)
        stored = [each.kept for each in await replication_pool.stored()]
        assert [each.reason for each in stored if isinstance(each, Gap)] == [
            "a standby took over that did not have all that was told"
        ]
        rows = [change.new for each in stored[1:] for change in each.changes if each.table == table]
        assert [(row[0], int(row[1])) for row in rows] == [(b"2", number) for number in range(300)]
