"""Whatever is killed: the stream holds each change once, in the order of the commits."""

import asyncio
import contextlib
import sys
from asyncio.subprocess import DEVNULL, PIPE, create_subprocess_exec
from collections.abc import AsyncIterator

import pytest

from tests.broker.server import running_server
from tests.workers.database.own_server import own_server
from tests.workers.replication.replication_pool import ReplicationPool, replication_pool_of
from tests.workers.replication.writers import check, write

_WRITERS = 4
_KILLS = 10


@contextlib.asynccontextmanager
async def _worker(replication_pool: ReplicationPool) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await create_subprocess_exec(
        sys.executable, "-m", "tests.workers.replication.worker", replication_pool.url, replication_pool.nats.url,
        stdout=PIPE, stderr=DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.mark.timeout(240)
async def test_a_worker_killed_many_times_loses_and_doubles_nothing(own_replication_pool):
    replication_pool, each = own_replication_pool, 5000
    await replication_pool.replication.close()
    table = await replication_pool.table("writer int, number int, primary key (writer, number)")
    writing = asyncio.gather(*(write(replication_pool, table, writer, each) for writer in range(_WRITERS)))
    written = 0
    for kill in range(1, _KILLS + 1):
        async with _worker(replication_pool):
            while not writing.done() and written < kill * each * _WRITERS // (_KILLS + 1):
                await asyncio.sleep(0.01)
                written = await replication_pool.admin.fetchval(f"select count(*) from {table}")
    async with _worker(replication_pool):
        await writing
        await check(replication_pool, table, each * _WRITERS)


async def test_a_broker_that_is_restarted_many_times_gets_everything_once(own_replication_pool):
    replication_pool, each = own_replication_pool, 800
    table = await replication_pool.table("writer int, number int, primary key (writer, number)")
    writing = asyncio.gather(*(write(replication_pool, table, writer, each) for writer in range(_WRITERS)))
    for restart in range(4):
        await replication_pool.changes_or_away(table, restart * 500 + 100)
        replication_pool.nats.kill()
        await asyncio.sleep(0.1 * restart)
        await replication_pool.nats.start()
    await writing

    await replication_pool.broker.connected()
    await check(replication_pool, table, each * _WRITERS)


async def test_a_database_that_is_restarted_loses_nothing():
    async with (
        own_server(wal_level="logical", fsync="off") as server,
        running_server() as nats,
        replication_pool_of(server.url, nats) as replication_pool,
    ):
        table = await replication_pool.table("writer int, number int, primary key (writer, number)")
        writing = asyncio.gather(*(write(replication_pool, table, writer, 500) for writer in range(_WRITERS)))
        for number in range(1, 3):
            await replication_pool.changes(table, number * 300)
            server.stop()
            await server.start()
        await writing

        await check(replication_pool, table, 500 * _WRITERS)


async def test_of_two_leaders_the_second_takes_over_when_the_first_ends(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("writer int, number int, primary key (writer, number)")
    second = replication_pool.another()
    second.start()
    await write(replication_pool, table, 0, 50)
    await replication_pool.changes(table, 50)
    assert not second.is_leader

    await replication_pool.replication.close()
    await write(replication_pool, table, 1, 50)
    await check(replication_pool, table, 100)
    assert second.is_leader
    await second.close()


async def test_a_leader_whose_session_is_ended_steps_down_and_another_goes_on(own_replication_pool):
    replication_pool = own_replication_pool
    table = await replication_pool.table("writer int, number int, primary key (writer, number)")
    second = replication_pool.another()
    second.start()
    for writer in range(4):
        writing = asyncio.create_task(write(replication_pool, table, writer, 200))
        await replication_pool.admin.execute(
            "select pg_terminate_backend(l.pid) from pg_locks l where l.locktype = 'advisory' and l.granted"
            " and l.classid = 1752654696"
        )
        await writing
    await check(replication_pool, table, 800)
    await second.close()


async def test_two_who_both_hold_themselves_for_the_leader_double_nothing(own_replication_pool):
    """As when one is cut off from the lock's session but not from the broker: each ends the other's reading again and again."""
    replication_pool = own_replication_pool
    table = await replication_pool.table("writer int, number int, primary key (writer, number)")
    usurper = replication_pool.another()
    usurper._lock = (usurper._lock[0], 1)
    usurper.start()
    writing = asyncio.gather(*(write(replication_pool, table, writer, 300) for writer in range(_WRITERS)))
    readers: set[int] = set()
    while not writing.done() or len(readers) < 6:
        readers |= {
            row[0]
            for row in await replication_pool.admin.fetch(
                "select pid from pg_stat_replication where state = 'streaming'"
            )
        }
        await asyncio.sleep(0.01)
    await writing

    await replication_pool.replication.close()
    await check(replication_pool, table, 300 * _WRITERS)
    await usurper.close()
