import asyncio
import contextlib
import random

import msgspec
import pytest

from tests.reference_cycles import no_cycles
from tests.workers.database.connections import opened, session_database, until, work
from workers.database.connection_pool.shared_reads import MAX_GROUP, SharedReads, _SharedRead
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.protocol import backend_reader
from workers.database.transactions.model import Statement

PID = "pg_backend_pid()"
DIVIDED = f"select {PID}, 12 / $1::int"
LOCKED = f"select {PID}, pg_advisory_xact_lock_shared($1::bigint)::text || $1"
BLOCKED_KEY = 7
SIZE = 8
HELD = 2
"""Connections that others use, so that reads share the rest."""


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@pytest.fixture
def all_are_quick(monkeypatch):
    """However slow the machine of the tests is."""
    monkeypatch.setattr("workers.database.connection_pool.shared_reads._QUICK_S", 60.0)


def reading(sql, *params, **options):
    statement = Statement(sql, [str(param).encode() for param in params])
    return msgspec.structs.replace(work(statement, read_only=True, **options), may_share=True)


def row(found):
    results, _ = found
    return results[-1][0]


async def together(pool, *works):
    """Run works in one turn of the event loop; give what each found, or its error."""
    return await asyncio.gather(*(pool.run_long(each) for each in works), return_exceptions=True)


async def warm(pool, sql, *params):
    """Run a statement until reads of it share a connection."""
    async with asyncio.timeout(30):
        while (
            len({row(each)[0] for each in await together(pool, *(reading(sql, one) for one in params))}) > 1
        ):
            pass


@contextlib.asynccontextmanager
async def shared(database, sql, *params, size=SIZE, **options):
    """Give a pool of which two connections are in use and in which reads of a statement share one."""
    async with opened(database.login, size, **options) as pool, contextlib.AsyncExitStack() as held:
        for _ in range(HELD):
            transaction = await held.enter_async_context(pool.transaction())
            await transaction.rows("select 1")
        async with asyncio.timeout(30):
            while pool.state.open < size:  # with fewer, one would be used by one caller after the other
                await asyncio.gather(*(pool.run(work("select pg_sleep(0.05)")) for _ in range(size - HELD)))
        await warm(pool, sql, *params)
        yield pool


@contextlib.asynccontextmanager
async def blocked(database):
    """Hold the lock that `LOCKED` asks for with `BLOCKED_KEY`; give what lets it go."""
    async with opened(database.login, 1) as pool, pool.transaction() as transaction:
        await transaction.rows(f"select pg_advisory_xact_lock({BLOCKED_KEY})")
        yield


async def waiting(database):
    return await database.value(
        "select count(*) from pg_locks where locktype = 'advisory' and not granted"
        " and database = (select oid from pg_database where datname = current_database())"
    )


async def until_waiting(database, *, some):
    async with asyncio.timeout(60):
        while bool(await waiting(database)) != some:
            await asyncio.sleep(0.01)


async def settled(pool):
    """Wait until all connections but those that others use are free again."""
    await until(lambda: pool.state.open - pool.state.idle == HELD)


@pytest.mark.usefixtures("all_are_quick")
async def test_reads_of_one_moment_share_a_connection_and_each_has_its_answer(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4) as pool:
        found = await together(pool, *(reading(DIVIDED, number) for number in (1, 2, 3, 4)))

        assert len({row(each)[0] for each in found}) == 1
        assert [row(each)[1] for each in found] == [b"12", b"6", b"4", b"3"]
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_a_group_is_bounded(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4) as pool:
        pids = list(range(2 * MAX_GROUP))
        async with asyncio.timeout(30):
            # The second connection has to learn the statement too.
            while (
                len(set(pids[:MAX_GROUP])) > 1 or len(set(pids[MAX_GROUP:])) > 1 or pids[0] == pids[MAX_GROUP]
            ):
                found = await together(pool, *(reading(DIVIDED, 1) for _ in pids))
                pids = [row(each)[0] for each in found]

        assert len(set(pids)) == 2


@pytest.mark.usefixtures("all_are_quick")
async def test_each_has_settings_and_a_transaction_of_its_own(database):
    sql = (
        f"select {PID}, current_setting('request.jwt.claims') || $1 || current_user, virtualtransaction from pg_locks"
        f" where pid = {PID} and locktype = 'virtualxid'"
    )
    async with shared(database, sql, 1, 2, 3) as pool:
        async with asyncio.timeout(30):
            while True:  # on a busy machine a read may begin alone
                found = await together(pool, *(reading(sql, number, sub=number) for number in (1, 2, 3)))
                if len({row(each)[0] for each in found}) == 1:
                    break

        assert [row(each)[1] for each in found] == [
            b'{"sub":"%d"}%dsession_member' % (n, n) for n in (1, 2, 3)
        ]
        assert len({row(each)[2] for each in found}) == 3


@pytest.mark.usefixtures("all_are_quick")
async def test_an_error_of_one_is_nothing_to_the_others(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4) as pool:
        first, wrong, unread, last = await together(
            pool, reading(DIVIDED, 1), reading(DIVIDED, 0), reading(DIVIDED, "x"), reading(DIVIDED, 4)
        )

        assert (wrong.code, wrong.statement_index) == ("22012", 0)
        assert (unread.code, unread.statement_index) == ("22P02", 0)
        assert [row(first)[1], row(last)[1]] == [b"12", b"3"]
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_what_cannot_be_sent_keeps_nobody_waiting(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4) as pool:
        unsendable = reading(DIVIDED, 2, settings=(("app.word", "a\0b"),))
        first, wrong, last = await together(pool, reading(DIVIDED, 1), unsendable, reading(DIVIDED, 3))

        assert wrong.code == "22021"
        assert [row(first)[1], row(last)[1]] == [b"12", b"4"]
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_nobody_waits_for_a_read_that_turns_out_slow(database):
    async with shared(database, LOCKED, 1, 2, 3, 4) as pool:
        async with blocked(database):
            slow = asyncio.ensure_future(pool.run_long(reading(LOCKED, BLOCKED_KEY)))
            others = await together(pool, *(reading(LOCKED, number) for number in (1, 2, 3)))

            assert [row(each)[1] for each in others] == [b"1", b"2", b"3"]
            await until_waiting(database, some=True)
            assert not slow.done()
        assert row(await slow)[1] == b"7"
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_a_slow_read_in_the_middle_keeps_only_its_own_caller(database):
    async with shared(database, LOCKED, 1, 2, 3, 4) as pool:
        async with blocked(database):
            tasks = [
                asyncio.ensure_future(pool.run_long(reading(LOCKED, number)))
                for number in (1, BLOCKED_KEY, 3)
            ]
            quick = await asyncio.gather(tasks[0], tasks[2])

            assert [row(each)[1] for each in quick] == [b"1", b"3"]
        assert row(await tasks[1])[1] == b"7"
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_a_caller_who_goes_away_stops_his_read_and_no_other(database):
    async with shared(database, LOCKED, 1, 2, 3, 4) as pool, blocked(database):
        tasks = [
            asyncio.ensure_future(pool.run_long(reading(LOCKED, number))) for number in (BLOCKED_KEY, 2, 3)
        ]
        await until_waiting(database, some=True)
        tasks[0].cancel()

        assert [row(each)[1] for each in await asyncio.gather(*tasks[1:])] == [b"2", b"3"]
        await until_waiting(database, some=False)
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_all_callers_may_go_away(database):
    async with shared(database, LOCKED, 1, 2, 3, 4) as pool, blocked(database):
        tasks = [asyncio.ensure_future(pool.run_long(reading(LOCKED, BLOCKED_KEY))) for _ in range(4)]
        await until_waiting(database, some=True)
        for task in tasks:
            task.cancel()

        assert all(
            isinstance(each, asyncio.CancelledError)
            for each in await asyncio.gather(*tasks, return_exceptions=True)
        )
        await until_waiting(database, some=False)
        await settled(pool)
        assert row(await pool.run_long(reading(DIVIDED, 3)))[1] == b"4"


@pytest.mark.usefixtures("all_are_quick")
async def test_a_lost_connection_is_told_to_those_who_were_on_it(database):
    async with shared(database, LOCKED, 1, 2, 3, 4) as pool, blocked(database):
        tasks = [asyncio.ensure_future(pool.run_long(reading(LOCKED, BLOCKED_KEY))) for _ in range(4)]
        await until_waiting(database, some=True)
        while await waiting(database):
            await database.value(
                "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted"
            )

        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, DatabaseError | Disconnected) for each in answers)
        await settled(pool)


@pytest.mark.parametrize(
    "left_behind",
    ["deallocate all", "set session characteristics as transaction isolation level serializable"],
)
@pytest.mark.usefixtures("all_are_quick")
async def test_what_others_left_in_a_session_spoils_nothing(database, left_behind):
    async with shared(database, DIVIDED, 1, 2, 3, 4) as pool:
        for _ in range(3):
            await pool.run(work(left_behind))
            found = await together(pool, *(reading(DIVIDED, number) for number in (1, 2, 3, 4)))

            assert [row(each)[1] for each in found] == [b"12", b"6", b"4", b"3"]


@pytest.mark.usefixtures("all_are_quick")
async def test_a_long_value_holds_up_nobody(database):
    sql = f"select {PID}, $1::text || repeat('x', $1::text::int)"
    async with shared(database, sql, 1, 2, 3, 4) as pool:
        size = 4 * backend_reader.LONG_VALUE
        first, long, *others = await together(pool, *(reading(sql, each) for each in (1, size, 3, 4)))

        assert row(first)[1] == b"1x"
        assert [row(each)[1] for each in others] == [b"3xxx", b"4xxxx"]
        assert b"".join([piece async for piece in long[1]]) == b"%d" % size + b"x" * size
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_a_group_waits_in_line_and_takes_in_who_comes_meanwhile(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4, size=3) as pool:
        async with pool.transaction() as transaction:
            await transaction.rows("select 1")
            first = [asyncio.ensure_future(pool.run_long(reading(DIVIDED, 1))) for _ in range(2)]
            await until(lambda: pool.state.waiting == 1)
            second = [asyncio.ensure_future(pool.run_long(reading(DIVIDED, 2))) for _ in range(2)]
            await asyncio.sleep(0)
            assert pool.state.waiting == 1

        found = await asyncio.gather(*first, *second)
        assert [row(each)[1] for each in found] == [b"12", b"12", b"6", b"6"]
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_who_waits_too_long_in_a_group_is_told(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4, size=3, acquire_timeout=0.3) as pool:
        async with pool.transaction() as transaction:
            await transaction.rows("select 1")
            refused = await together(pool, *(reading(DIVIDED, 1) for _ in range(6)))

        assert all(isinstance(each, PoolTimeout) for each in refused)
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_a_write_shares_with_nobody(database):
    async with shared(database, DIVIDED, 1, 2, 3, 4) as pool:
        works = [msgspec.structs.replace(reading(DIVIDED, 1), may_share=False) for _ in range(3)]
        found = await together(pool, *works)

        assert len({row(each)[0] for each in found}) == 3


@pytest.mark.usefixtures("all_are_quick")
async def test_without_prepared_statements_nothing_is_shared(database):
    async with opened(database.login, 6, prepared=False) as pool, contextlib.AsyncExitStack() as held:
        for _ in range(HELD):
            transaction = await held.enter_async_context(pool.transaction())
            await transaction.rows("select 1")
        for _ in range(3):
            found = await together(pool, *(reading(DIVIDED, number) for number in (1, 2, 3, 4)))

            assert [row(each)[1] for each in found] == [b"12", b"6", b"4", b"3"]
        await settled(pool)


@pytest.mark.usefixtures("all_are_quick")
async def test_whatever_happens_each_caller_has_his_own_answer(database):
    sql = f"select {PID}, case when $1::int % 50 = 0 then pg_sleep(0.06)::text else '' end || 1000 / ($1::int % 9) || ' ' || $1"
    chance = random.Random(20261121)

    async def one(pool, number):
        task = asyncio.ensure_future(pool.run_long(reading(sql, number)))
        if number % 7 == 0:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            task.cancel()
        try:
            return row(await task)[1]
        except DatabaseError as error:
            return error.code
        except asyncio.CancelledError:
            return None

    async with shared(database, sql, 1, 2, 3, 4) as pool:
        for start in range(0, 600, 30):
            numbers = range(start, start + 30)
            answers = await asyncio.gather(*(one(pool, number) for number in numbers))
            for number, answer in zip(numbers, answers, strict=True):
                expected = "22012" if number % 9 == 0 else b"%d %d" % (1000 // (number % 9), number)
                assert answer == expected or (answer is None and number % 7 == 0)
        await settled(pool)


async def test_a_statement_is_quick_by_its_times_of_late():
    groups, one = SharedReads(None), reading("select 1")
    assert not groups.is_quick(one)

    groups.note(one, 0.001)
    assert groups.is_quick(one)
    assert not groups.is_quick(reading("select 2"))
    assert not groups.is_quick(msgspec.structs.replace(one, may_share=False))
    assert not groups.is_quick(msgspec.structs.replace(one, isolation="serializable"))

    for _ in range(3):
        groups.note(one, 0.010)  # our own being busy counts little
    assert groups.is_quick(one)
    groups.note(one, 1.0)
    assert not groups.is_quick(one)
    for _ in range(12):
        groups.note(one, 0.001)
    assert groups.is_quick(one)


async def test_the_times_of_a_bounded_number_of_statements_are_held():
    groups = SharedReads(None)
    for number in range(1001):
        groups.note(reading(f"select {number}"), 0.001)

    assert not groups.is_quick(reading("select 0"))
    assert groups.is_quick(reading("select 1"))
    assert groups.is_quick(reading("select 1000"))


@pytest.mark.usefixtures("all_are_quick")
async def test_a_shared_read_leaves_no_reference_cycle(database):
    async with shared(database, DIVIDED, 1, 2, 3) as pool, no_cycles(_SharedRead):
        found = await together(pool, *(reading(DIVIDED, number) for number in (1, 2, 3)))

        assert [row(each)[1] for each in found] == [b"12", b"6", b"4"]
        del found
