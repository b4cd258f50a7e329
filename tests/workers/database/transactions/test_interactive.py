"""Transactions whose next statement depends on the last one."""

import asyncio

import msgspec
import pytest

from tests.workers.database.connections import opened, session_database, value
from workers.database.errors import DatabaseError, Disconnected
from workers.database.transactions.interactive import encoded
from workers.database.transactions.model import Statement

AS_MEMBER = (("search_path", "public"), ("role", "session_member"))


class Item(msgspec.Struct):
    id: int
    name: str


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@pytest.fixture
async def pool(database):
    async with opened(database.login, 2) as made:
        yield made


async def numbered(pool, number):
    return await value(pool, f"select name from items where id = {number}")


async def test_a_block_commits_at_its_end(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        made = await transaction.one(
            "insert into items values ($1, $2) returning row_to_json(items)", Item, 501, "first"
        )
        assert made == Item(501, "first")
        await transaction.rows("update items set name = $2 where id = $1", made.id, made.name + " again")

    assert await value(pool, "select name from items where id = 501") == b"first again"
    await value(pool, "delete from items where id = 501 returning 1")


async def test_settings_hold_from_the_first_statement_to_the_last(pool):
    async with pool.transaction((*AS_MEMBER, ("request.jwt.claims", '{"sub":"9"}'))) as transaction:
        first = await transaction.rows("select current_user, current_setting('request.jwt.claims')")
        second = await transaction.rows("select current_user, current_setting('request.jwt.claims')")

    assert first == second == [(b"session_member", b'{"sub":"9"}')]


async def test_an_exception_undoes_the_block_and_passes(pool):
    async def work():
        async with pool.transaction(AS_MEMBER) as transaction:
            await transaction.rows("insert into items values (502, 'undone')")
            raise KeyError

    with pytest.raises(KeyError):
        await work()

    assert await value(pool, "select count(*) from items where id = 502") == b"0"
    assert pool.state.idle == pool.state.open


async def test_an_error_of_the_server_undoes_the_block(pool):
    async def work():
        async with pool.transaction(AS_MEMBER) as transaction:
            await transaction.rows("insert into items values (503, 'a')")
            await transaction.rows("insert into items values (503, 'b')")

    with pytest.raises(DatabaseError) as caught:
        await work()

    assert caught.value.code == "23505"
    assert await value(pool, "select count(*) from items where id = 503") == b"0"


async def test_an_error_that_was_caught_leaves_nothing_to_commit(pool):
    async def work():
        async with pool.transaction(AS_MEMBER) as transaction:
            await transaction.rows("insert into items values (504, 'a')")
            with pytest.raises(DatabaseError):
                await transaction.rows("select 1 / 0")

    with pytest.raises(DatabaseError):
        await work()

    assert await value(pool, "select count(*) from items where id = 504") == b"0"


async def test_nothing_is_sent_and_no_connection_held_before_the_first_statement(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        assert transaction.connection is None
        assert pool.state.idle == pool.state.open

    assert transaction.connection is None


async def test_who_is_cancelled_in_the_middle_leaves_nothing_behind(pool):
    begun = asyncio.Event()

    async def work():
        async with pool.transaction(AS_MEMBER) as transaction:
            await transaction.rows("insert into items values (505, 'half')")
            begun.set()
            await transaction.rows("select pg_sleep(60)")

    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await value(pool, "select count(*) from items where id = 505") == b"0"


async def test_rows_are_read_as_what_they_are_meant_to_be(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        all_of_them = await transaction.all(
            "select json_build_object('id', n, 'name', 'x') from generate_series(1, 3) n", Item
        )
        none = await transaction.one("select row_to_json(items) from items where id = -1", Item)
        with pytest.raises(msgspec.ValidationError):
            await transaction.one('select \'{"id": "text"}\'::json', Item)

    assert all_of_them == [Item(1, "x"), Item(2, "x"), Item(3, "x")]
    assert none is None


async def test_several_statements_are_one_write(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        results = await transaction.run(Statement("select 1"), Statement("select 2"))

    assert results == [[(b"1",)], [(b"2",)]]


async def test_a_lost_connection_is_told_and_given_up(pool):
    async def work():
        async with pool.transaction() as transaction:
            await transaction.rows("select 1")
            await transaction.rows("select pg_terminate_backend(pg_backend_pid())")

    with pytest.raises((Disconnected, DatabaseError)):
        await work()

    assert await value(pool, "select 1") == b"1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, None), (b"raw", b"raw"), ("text", b"text"), (7, b"7"), (True, b"true"), (False, b"false")],
)
def test_parameters_are_texts(given, expected):
    assert encoded(given) == expected


async def test_the_last_statements_commit_in_the_same_write(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        await transaction.rows("insert into items values (510, 'begun')")
        rows = await transaction.run_last(
            Statement("update items set name = 'ended' where id = 510"),
            Statement("select name from items where id = 510"),
        )
        assert await numbered(pool, 510) == b"ended"  # another connection sees it before the block ends

    assert rows == [[], [(b"ended",)]]
    await value(pool, "delete from items where id = 510 returning 1")


async def test_first_statements_may_be_the_last(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        await transaction.run_last(Statement("insert into items values (511, 'one')"))

    assert await numbered(pool, 511) == b"one"
    await value(pool, "delete from items where id = 511 returning 1")


async def test_an_error_of_the_last_statements_undoes_all(pool):
    async def work():
        async with pool.transaction(AS_MEMBER) as transaction:
            await transaction.rows("insert into items values (512, 'undone')")
            await transaction.run_last(
                Statement("insert into items values (513, 'undone too')"), Statement("select 1 / 0")
            )

    with pytest.raises(DatabaseError, match="division by zero"):
        await work()

    assert await value(pool, "select count(*) from items where id in (512, 513)") == b"0"
    assert pool.state.idle == pool.state.open


async def test_an_error_of_the_commit_is_raised(pool):
    async def work():
        async with pool.transaction(AS_MEMBER) as transaction:
            await transaction.rows("select 1")
            await transaction.run_last(
                Statement("create temporary table late (id int unique deferrable initially deferred)"),
                Statement("insert into late values (1), (1)"),
            )

    with pytest.raises(DatabaseError, match="duplicate key"):
        await work()

    async with pool.transaction(AS_MEMBER) as transaction:
        assert await transaction.rows("select 1") == [(b"1",)]


async def test_nothing_follows_the_last_statements(pool):
    async with pool.transaction(AS_MEMBER) as transaction:
        await transaction.rows("select 1")
        await transaction.run_last(Statement("select 2"))

        with pytest.raises(RuntimeError, match="committed"):
            await transaction.rows("select 3")
