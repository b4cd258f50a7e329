import asyncio
import contextlib
import json
import os
import random
import signal
from types import SimpleNamespace
from urllib.parse import urlsplit

import asyncpg
import msgspec
import pytest
import uvloop

from broker.requests.current_request import CURRENT
from tests.workers.database.connections import Events, backend, opened, session_database, until, value, work
from tests.workers.database.own_server import own_server
from workers.database.connection_pool.open_connections import PoolTimes
from workers.database.connection_pool.pool import ConnectionPool, PoolState
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.database.transactions.model import TransactionEnd

SLEEP = "select pg_sleep(60)"


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@contextlib.asynccontextmanager
async def busy(pool, database, count=1, **options):
    """Keep connections busy for a block; give the tasks."""
    tasks = [asyncio.ensure_future(pool.run(work(SLEEP, **options))) for _ in range(count)]
    await sleepers(database, count)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def sleepers(database, count):
    """Wait until so many backends of the database sleep."""
    async with asyncio.timeout(60):
        while await sleeping(database) != count:
            await asyncio.sleep(0.02)


async def sleeping(database):
    return await database.value(
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and query like 'select pg_sleep%' and state = 'active'"
    )


async def test_connections_are_made_when_they_are_needed(database):
    async with opened(database.login, 3) as pool:
        assert pool.state == PoolState(open=1, idle=1, waiting=0)

        await asyncio.gather(*(value(pool, "select pg_sleep(0.05)") for _ in range(9)))

        assert pool.state == PoolState(open=3, idle=3, waiting=0)


async def test_the_connection_used_last_is_used_first(database):
    async with opened(database.login, 3) as pool:
        await asyncio.gather(*(value(pool, "select pg_sleep(0.05)") for _ in range(3)))

        assert len({await backend(pool) for _ in range(9)}) == 1


async def test_callers_are_served_in_the_order_they_came(database):
    async with opened(database.login, 1) as pool:
        served = []

        async def caller(number):
            served.append(await value(pool, f"select {number}"))

        await asyncio.gather(*(caller(number) for number in range(20)))

    assert served == [b"%d" % number for number in range(20)]


async def test_a_caller_who_waits_too_long_is_told(database):
    async with opened(database.login, 1, acquire_timeout=0.05) as pool, busy(pool, database):
        with pytest.raises(PoolTimeout, match="Timed out acquiring connection"):
            await value(pool, "select 1")

        assert pool.state == PoolState(open=1, idle=0, waiting=0)


async def test_the_line_is_bounded(database):
    async with opened(database.login, 1, max_waiting=2) as pool, busy(pool, database):
        waiting = [asyncio.ensure_future(value(pool, "select 1")) for _ in range(2)]
        await asyncio.sleep(0)

        with pytest.raises(PoolTimeout):
            await value(pool, "select 1")
        assert pool.state.waiting == 2
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        assert pool.state.waiting == 0


@contextlib.contextmanager
def serving(caller_key, deadline=float("inf")):
    """Let what begins in the block be for a request of this caller."""
    token = CURRENT.set(SimpleNamespace(caller_key=caller_key, deadline=deadline, sql_s=0.0, request_id="r"))
    try:
        yield
    finally:
        CURRENT.reset(token)


async def test_one_callers_slow_statements_leave_a_connection_to_another(database):
    async with opened(database.login, 4) as pool:
        with serving("slow"):
            slow = [asyncio.ensure_future(pool.run(work(SLEEP))) for _ in range(9)]
        await sleepers(database, 3)

        with serving("another"):
            assert [await value(pool, "select 1") for _ in range(5)] == [b"1"] * 5

        assert await sleeping(database) == 3
        assert pool.state.waiting == 6
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        await until(lambda: pool.state.waiting == 0 and pool.state.idle == pool.state.open)
        assert pool._shares.used == 0


async def test_callers_get_connections_in_turn(database):
    async with opened(database.login, 1) as pool:
        served = []

        async def caller(name, number):
            with serving(name):
                await value(pool, f"select {number}")
            served.append(f"{name}{number}")

        held = await pool._shares.lend_later("")
        waiting = [
            asyncio.ensure_future(caller(name, number))
            for name, count in (("a", 4), ("b", 2))
            for number in range(count)
        ]
        await until(lambda: pool.state.waiting == 6)
        pool._shares.take_back(held)
        await asyncio.gather(*waiting)

    assert served == ["a0", "b0", "a1", "b1", "a2", "a3"]


async def test_a_request_that_would_not_be_done_before_its_deadline_does_not_wait(database):
    now = asyncio.get_running_loop().time()
    async with opened(database.login, 1) as pool, busy(pool, database):
        with serving("a", now - 1), pytest.raises(PoolBusy, match="in time") as refused:
            await value(pool, "select 1")

    assert refused.value.reason == "late"
    assert refused.value.retry_after_s >= 1


async def test_reads_that_share_a_connection_wait_in_the_share_of_their_caller(database):
    async with opened(database.login, 4) as pool:
        read = msgspec.structs.replace(work("select 1", read_only=True), may_share=True)
        with serving("slow"):
            slow = [asyncio.ensure_future(pool.run(work(SLEEP))) for _ in range(3)]
            await sleepers(database, 3)
            own = [asyncio.ensure_future(pool.run_long(read)) for _ in range(6)]
        await asyncio.sleep(0)
        with serving("another"):
            for _ in range(3):
                await asyncio.gather(*(pool.run_long(read) for _ in range(6)))

        assert not any(task.done() for task in own)
        slow[0].cancel()
        assert len(await asyncio.gather(*own)) == 6
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


@pytest.mark.parametrize("end", [TransactionEnd.COMMIT, TransactionEnd.ROLLBACK])
async def test_cancelling_the_caller_cancels_the_statement(database, end):
    events = Events()
    async with opened(database.login, 1, on_event=events.append) as pool:
        before = await backend(pool)
        async with busy(pool, database, end=end) as (task,):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

            await sleepers(database, 0)
        assert await backend(pool) == before
    assert events.kinds() == ["connected", "cancelled", "retired"]


async def test_a_cancelled_write_is_rolled_back(database):
    async with opened(database.login, 1) as pool:
        task = asyncio.ensure_future(pool.run(work("delete from items", SLEEP)))
        await sleepers(database, 1)

        task.cancel()
        await asyncio.wait([task])

        assert task.cancelled()
        assert await value(pool, "select count(*) from items") == b"100"


async def test_a_caller_cancelled_in_the_line_takes_nothing_along(database):
    async with opened(database.login, 1) as pool:
        async with busy(pool, database):
            waiting = asyncio.ensure_future(value(pool, "select 1"))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert await value(pool, "select 2") == b"2"
        assert pool.state == PoolState(open=1, idle=1, waiting=0)


async def test_a_caller_cancelled_when_its_connection_comes_gives_it_back(database):
    async with opened(database.login, 1) as pool:
        held = await pool._shares.lend_later("")
        waiting = asyncio.ensure_future(value(pool, "select 1"))
        await asyncio.sleep(0)

        pool._shares.take_back(held)
        waiting.cancel()
        await asyncio.wait([waiting])

        assert waiting.cancelled()
        assert pool.state == PoolState(open=1, idle=1, waiting=0)


async def test_a_connection_that_does_not_stop_is_dropped(database):
    events = Events()
    async with opened(database.login, 1, times=PoolTimes(settle=0.1), on_event=events.append) as pool:
        process_id = int(await backend(pool))
        async with busy(pool, database) as (task,):
            os.kill(process_id, signal.SIGSTOP)
            try:
                task.cancel()
                await asyncio.wait([task])

                assert int(await backend(pool)) != process_id
            finally:
                os.kill(process_id, signal.SIGCONT)
    assert events.kinds()[:3] == ["connected", "dropped", "lost"]


@pytest.mark.parametrize("runner", ["asyncio", "uvloop"])
async def test_callers_get_their_own_answers_while_others_are_cancelled(database, runner):
    async def storm():
        chance = random.Random(7)
        async with opened(database.login, 3, acquire_timeout=600) as pool:

            async def caller(number):
                text = "select json_agg(owner) from notes, pg_sleep(0.002)"
                task = asyncio.ensure_future(value(pool, text, sub=number % 9))
                if number % 3 == 0:
                    await asyncio.sleep(chance.random() / 50)
                    task.cancel()
                try:
                    found = await task
                except asyncio.CancelledError:
                    return True
                return json.loads(found) == [number % 9] * 10

            answers = await asyncio.gather(*(caller(number) for number in range(300)))
            await until(lambda: pool.state.idle == pool.state.open)
            return all(answers)

    if runner == "uvloop":
        assert await asyncio.to_thread(uvloop.run, storm())
    else:
        assert await storm()


async def test_a_backend_that_is_terminated_fails_its_caller_and_no_other(database):
    events = Events()
    async with opened(database.login, 2, on_event=events.append) as pool, busy(pool, database) as (task,):
        await database.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and query like 'select pg_sleep%'"
        )

        with pytest.raises(DatabaseError) as caught:
            await task
        assert caught.value.code == "57P01"
        assert await value(pool, "select 1") == b"1"
    assert "lost" in events.kinds()


async def test_idle_connections_that_end_are_replaced(database):
    events = Events()
    async with opened(database.login, 2, on_event=events.append) as pool:
        before = await backend(pool)
        await database.execute(f"select pg_terminate_backend({before.decode()})")
        await until(lambda: events.kinds() == ["connected", "lost", "connected"])

        assert await backend(pool) != before


async def test_old_connections_are_replaced(database):
    async with opened(database.login, 1, times=PoolTimes(lifetime=0.0)) as pool:
        assert len({await backend(pool) for _ in range(3)}) == 3


async def test_idle_connections_are_closed_but_one(database):
    # Long enough that none is closed while a busy machine opens the others.
    async with opened(database.login, 3, times=PoolTimes(idle=4.0)) as pool:
        holder = await asyncpg.connect(database.admin)
        await holder.execute("select pg_advisory_lock(1)")
        waiting = [asyncio.ensure_future(value(pool, "select pg_advisory_lock_shared(1)")) for _ in range(3)]
        await until(lambda: pool.state.open == 3)
        await holder.close()
        await asyncio.gather(*waiting)

        await until(lambda: pool.state == PoolState(open=1, idle=1, waiting=0))


async def test_the_last_connection_is_closed_later_and_the_next_request_opens_one(database):
    async with opened(database.login, 3, times=PoolTimes(idle=0.3, last_idle=0.3)) as pool:
        before = await backend(pool)

        await until(lambda: pool.state == PoolState(open=0, idle=0, waiting=0))

        assert await backend(pool) != before


async def test_closing_lets_the_running_finish_and_refuses_the_rest(database):
    async with opened(database.login, 1) as pool:
        running = asyncio.ensure_future(value(pool, "select 'done' from pg_sleep(0.2)"))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(value(pool, "select 1"))
        await asyncio.sleep(0)

        await pool.close()

        assert await running == b"done"
        with pytest.raises(Disconnected, match="closed"):
            await waiting
        with pytest.raises(Disconnected, match="closed"):
            await value(pool, "select 1")
        assert pool.state == PoolState(0, 0, 0)


async def test_closing_does_not_wait_for_ever(database):
    async with opened(database.login, 1) as pool, busy(pool, database) as (task,):
        await pool.close(grace=0.05)

        with pytest.raises(Disconnected, match="closed"):
            await task


async def test_two_pools_know_nothing_of_each_other(database):
    async with opened(database.login, 1) as one, opened(database.login, 1) as other:
        await one.run(work("select leave_settings()"))
        await one.close()

        assert await value(other, "select current_setting('app.tenant', true)") is None
        assert await value(other, "select 1") == b"1"


async def test_callers_wait_when_the_server_takes_no_more_connections(database):
    events = Events()
    name = urlsplit(database.login).path.lstrip("/")
    async with opened(database.login, 4, on_event=events.append) as pool:
        await database.execute(f"alter database {name} connection limit 1")
        try:
            found = await asyncio.gather(*(value(pool, "select 1 from pg_sleep(0.02)") for _ in range(12)))
        finally:
            await database.execute(f"alter database {name} connection limit -1")

    assert found == [b"1"] * 12
    assert 1 <= events.kinds().count("refused") < 12


async def test_a_refused_login_reaches_the_callers_with_its_code():
    async with own_server() as server, opened(server.url.replace(":tester@", ":wrong-word@"), 2) as pool:
        with pytest.raises(Disconnected) as caught:
            await value(pool, "select 1")

    assert caught.value.code == "28P01"
    assert "wrong-word" not in str(caught.value)


async def test_a_url_that_cannot_be_read_opens_no_pool():
    with pytest.raises(ValueError, match="cannot be read"):
        await ConnectionPool.open("mysql://localhost/x", 1)


async def test_a_pool_needs_room_for_one():
    with pytest.raises(ValueError, match="at least one"):
        await ConnectionPool.open("postgresql://localhost/x", 0)


async def test_a_pool_outlives_its_server():
    events = Events()
    async with (
        own_server() as server,
        session_database(server.url) as database,
        opened(database.login, 3, on_event=events.append) as pool,
    ):
        async with busy(pool, database, 2) as tasks:
            server.stop()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(200):
            with pytest.raises(Disconnected):
                await value(pool, "select 1")
        refused = events.kinds().count("refused")
        await server.start()
        await until(lambda: pool.state.open)

        found = await asyncio.gather(*(value(pool, "select 1") for _ in range(10)))

    assert all(isinstance(each, Disconnected | DatabaseError) for each in ends)
    assert refused < 20
    assert found == [b"1"] * 10


async def test_a_pool_may_be_opened_before_its_server():
    async with own_server() as server:
        server.stop()
        async with opened(server.url, 2) as pool:
            with pytest.raises(Disconnected):
                await value(pool, "select 1", role="tester")
            await server.start()

            await until(lambda: pool.state.open)
            assert await value(pool, "select 1", role="tester") == b"1"
