"""Writes that wait for the disk together: none is answered before it is stored, whatever happens to those it waits with."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.workers.database.connections import Database, opened, session_database, until, work
from tests.workers.database.own_server import OwnServer, own_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import ServerSilent
from workers.database.transactions.model import Statement

WRITERS = 24
POOL = 12
MIGRATION = Path("schemas/migrations/platform/0039_shared_commits.sql")
TABLE = "create table kept (n int, waits text); grant all on kept to public; grant usage on schema public to session_login"
WRITE = "insert into kept values ({}, current_setting('synchronous_commit'))"
LEAVE_BEHIND = "select set_config('synchronous_commit', 'off', false) where current_setting('synchronous_commit') = 'off'"
"""A setting of the session by which the next commit on the connection would not wait."""


@pytest.fixture(scope="module")
async def own() -> AsyncIterator[OwnServer]:
    """A server that writes asynchronous commits after ten seconds."""
    async with own_server(wal_writer_delay="10s", max_connections="40") as server:
        yield server


@pytest.fixture(scope="module")
async def database(own: OwnServer) -> AsyncIterator[Database]:
    async with session_database(own.url) as made:
        await made.execute(f"create schema headwater; {MIGRATION.read_text()}; {TABLE}")
        yield made


def write(pool: ConnectionPool, number: int, *settings: tuple[str, str]) -> "asyncio.Task[object]":
    """Write a row in one of the three ways in which a transaction commits."""
    statements = Statement(WRITE.format(number)), Statement(LEAVE_BEHIND)

    async def in_steps() -> None:
        async with pool.transaction(settings, writes=True) as transaction:
            await transaction.run(statements[0])
            await (transaction.run_last if number % 3 == 1 else transaction.run)(statements[1])

    writing = pool.run(work(*statements, settings=settings, writes=True)) if number % 3 == 2 else in_steps()
    return asyncio.get_running_loop().create_task(writing)


async def share(pool: ConnectionPool, database: Database) -> None:
    """Write until transactions of the pool wait together."""
    await database.execute("truncate kept")
    async with asyncio.timeout(60):
        while not await database.value("select exists (select from kept where waits = 'off')"):
            await asyncio.gather(*(write(pool, number) for number in range(WRITERS)))
    await database.execute("truncate kept")


@contextlib.asynccontextmanager
async def nothing_is_stored(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """Hold up storing transactions."""
    connection = await asyncpg.connect(database.admin)
    try:
        async with connection.transaction():
            await connection.execute("alter sequence headwater.commits increment 2")
            yield connection
    finally:
        await connection.close()


async def committed(database: Database, count: int) -> None:
    async with asyncio.timeout(30):
        while await database.value("select count(*) from kept") != count:
            await asyncio.sleep(0.01)  # rows show without an announcement


async def test_what_is_answered_outlives_the_server(own: OwnServer, database: Database) -> None:
    async with opened(database.login, POOL) as pool:
        await share(pool, database)
        await asyncio.gather(*(write(pool, number) for number in range(WRITERS)))
        own.stop()
        await own.start()

    assert await database.value("select count(distinct n) from kept") == WRITERS
    assert await database.value("select count(*) from kept where waits = 'off'") > 0


async def test_a_write_is_answered_when_its_group_is_stored_and_not_before(database: Database) -> None:
    async with opened(database.login, POOL) as pool:
        await share(pool, database)
        async with nothing_is_stored(database):
            writes = [write(pool, number) for number in range(WRITERS)]
            await committed(database, WRITERS)
            waits = {row["n"] for row in await rows(database, "select n from kept where waits = 'off'")}
            await until(lambda: {n for n, each in enumerate(writes) if not each.done()} == waits)
            await asyncio.wait_for(write(pool, 101, ("synchronous_commit", "on")), 30)
            first_waiting = min(waits)
            writes[first_waiting].cancel()
        await asyncio.gather(*(each for n, each in enumerate(writes) if n != first_waiting))

        assert len(waits) > WRITERS // 2
        await until(lambda: pool.state.idle == pool.state.open)


async def test_a_group_whose_storing_transaction_is_lost_is_in_doubt_and_the_next_is_stored(
    database: Database,
) -> None:
    async with opened(database.login, POOL) as pool:
        await share(pool, database)
        async with nothing_is_stored(database) as other:
            writes = [write(pool, number) for number in range(WRITERS)]
            await committed(database, WRITERS)
            async with asyncio.timeout(30):
                while not await other.fetchval(
                    "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like '%setval%' and wait_event_type = 'Lock'"
                ):
                    await asyncio.sleep(0.01)  # a session that waits for a lock announces nothing
        ended = await asyncio.gather(*writes, return_exceptions=True)

        in_doubt = [each for each in ended if isinstance(each, BaseException)]
        assert in_doubt
        assert all(type(each) is ServerSilent and "unknown" in str(each) for each in in_doubt)
        assert await asyncio.gather(*(write(pool, number) for number in range(WRITERS)))


async def test_a_sequence_that_goes_costs_no_group(database: Database) -> None:
    async with opened(database.login, POOL) as pool:
        await share(pool, database)
        await database.execute("revoke update on sequence headwater.commits from public")
        try:
            for _ in range(3):
                assert await asyncio.gather(*(write(pool, number) for number in range(WRITERS)))
        finally:
            await database.execute("grant update on sequence headwater.commits to public")

    assert [row["count"] for row in await rows(database, "select count(*) from kept")] == [3 * WRITERS]


async def test_without_the_sequence_each_write_waits_for_itself(database: Database) -> None:
    await database.execute("truncate kept; alter sequence headwater.commits rename to others")
    try:
        async with opened(database.login, POOL) as pool:
            for _ in range(3):  # the first looks for it
                await asyncio.gather(*(write(pool, number) for number in range(WRITERS)))
    finally:
        await database.execute("alter sequence headwater.others rename to commits")

    assert await rows(database, "select distinct waits from kept") == [("on",)]


async def test_where_commits_wait_for_standbys_each_write_waits_for_itself(own: OwnServer) -> None:
    async with session_database(own.url) as made:
        name = await made.value("select current_database()")
        await made.execute(f"create schema headwater; {MIGRATION.read_text()}; {TABLE}")
        # There is no standby, so commits wait for this server's own disk alone.
        await made.execute(f"alter database {name} set synchronous_commit = local")
        async with opened(made.login, POOL) as pool, opened(made.login, POOL) as later:
            await share(pool, made)
            await made.execute("alter system set synchronous_standby_names = 'none_such'")
            try:
                await made.execute("select pg_reload_conf()")
                async with asyncio.timeout(60):
                    while (
                        await made.value("select exists (select from kept where waits = 'off')") is not False
                    ):
                        await made.execute("truncate kept")
                        await asyncio.gather(*(write(pool, number) for number in range(WRITERS)))
                for _ in range(3):
                    await asyncio.gather(*(write(later, number) for number in range(WRITERS)))
            finally:
                await made.execute("alter system reset synchronous_standby_names")
                await made.execute("select pg_reload_conf()")

        assert await rows(made, "select distinct waits from kept") == [("local",)]


async def rows(database: Database, sql: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(database.admin)
    try:
        return list(await connection.fetch(sql))
    finally:
        await connection.close()
