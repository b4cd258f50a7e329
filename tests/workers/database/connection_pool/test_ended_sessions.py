"""Sessions that the server ended while they were idle: no request fails by them, and nothing runs twice."""

import asyncio
import threading
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.workers.database.connections import Database, opened, session_database, value, work
from tests.workers.database.own_server import OwnServer
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected

END_ALL = """
select count(pg_terminate_backend(pid, 60000)) from pg_stat_activity
where usename = 'session_login' and datname = current_database()
"""


@pytest.fixture(scope="module")
async def database(server: OwnServer) -> AsyncIterator[Database]:
    """A database with a sequence that counts what ran: it is not rolled back."""
    async with session_database(server.url) as made:
        await made.execute(
            "create sequence counted; grant usage on schema public to session_login; grant all on sequence counted to public"
        )
        yield made


def end_sessions(database: Database) -> object:
    """End all sessions of the pools while this event loop stands still, so that it cannot notice."""
    ended: list[object] = []
    thread = threading.Thread(target=lambda: ended.append(asyncio.run(database.value(END_ALL))))
    thread.start()
    thread.join()
    return ended[0]


async def fill(pool: ConnectionPool, count: int) -> None:
    """Have the pool open so many connections."""
    async with asyncio.timeout(60):
        while pool.state.open < count:
            await asyncio.gather(*(pool.run(work("select pg_sleep(0.05)")) for _ in range(count)))


async def test_a_transaction_runs_on_another_connection_and_once(database: Database) -> None:
    async with opened(database.login, 3) as pool:
        await fill(pool, 3)
        before = await database.value("select nextval('counted')")

        assert end_sessions(database) == 3
        await asyncio.gather(*(pool.run(work("select nextval('counted')")) for _ in range(6)))

        assert await database.value("select nextval('counted')") == before + 7


async def test_a_transaction_of_several_steps_begins_on_another_connection(database: Database) -> None:
    async with opened(database.login, 2) as pool:
        await fill(pool, 2)

        assert end_sessions(database) == 2
        async with pool.transaction() as transaction:
            assert await transaction.rows("select 1") == [(b"1",)]
            assert await transaction.rows("select 2") == [(b"2",)]

        assert pool.state.open == pool.state.idle == 1


async def test_reads_are_repeated_alone_or_shared(database: Database) -> None:
    read = msgspec.structs.replace(work("select 'read'", read_only=True), may_share=True)
    async with opened(database.login, 3) as pool:
        for _ in range(4):
            await fill(pool, 3)
            await asyncio.gather(*(pool.run_long(read) for _ in range(30)))

            assert end_sessions(database) == 3
            results = await asyncio.gather(*(pool.run_long(read) for _ in range(30)))

            assert [rows[-1] for rows, _ in results] == [[(b"read",)]] * 30


async def test_what_ends_its_own_session_runs_once_and_fails(database: Database) -> None:
    async with opened(database.login, 1) as pool:
        before = await database.value("select nextval('counted')")

        with pytest.raises(DatabaseError) as failed:
            await pool.run(
                work(
                    "select nextval('counted')", "select pg_terminate_backend(pg_backend_pid())", role="none"
                )
            )

        assert failed.value.code == "57P01"
        assert await database.value("select nextval('counted')") == before + 2
        assert await value(pool, "select 1") == b"1"


async def ended_transaction(pool: ConnectionPool, database: Database) -> None:
    """Run a transaction whose session is ended between two statements."""
    async with pool.transaction() as transaction:
        await transaction.rows("select 1")
        end_sessions(database)
        await transaction.rows("select 2")


async def test_a_session_that_ends_within_a_transaction_fails_it(database: Database) -> None:
    async with opened(database.login, 2) as pool:
        with pytest.raises(Disconnected):
            await ended_transaction(pool, database)

        assert await value(pool, "select 1") == b"1"
