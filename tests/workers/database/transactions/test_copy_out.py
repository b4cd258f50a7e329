"""Rows of a COPY that are read while they arrive."""

from contextlib import aclosing

import pytest

from tests.workers.database.connections import opened, session_database, value
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement

ROWS = 30_000


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@pytest.fixture
async def pool(database):
    async with opened(database.login, 1) as made:
        yield made


def copy(query):
    return Statement(f"copy ({query}) to stdout")


async def test_rows_arrive_whole_and_the_transaction_goes_on(pool):
    lengths = f"select n, repeat('x', case when n % 10000 = 0 then 700000 else n % 300 end) from generate_series(1, {ROWS}) n"
    async with pool.transaction(is_snapshot=True) as transaction:
        await transaction.rows("select 1")
        pages = [page async for page in transaction.copy(copy(lengths))]
        after = await transaction.rows("select 2")

    rows = b"".join(pages).splitlines()
    assert [int(row.split(b"\t")[0]) for row in rows] == list(range(1, ROWS + 1))
    assert all(page.endswith(b"\n") for page in pages)
    assert len(pages) > 1
    assert after == [(b"2",)]


async def test_an_error_among_the_rows_is_raised_behind_them(pool):
    async def work():
        async with pool.transaction() as transaction:
            await transaction.rows("select 1")
            async for _ in transaction.copy(copy("select 1 / (1000 - n) from generate_series(1, 2000) n")):
                pass

    with pytest.raises(DatabaseError, match="division"):
        await work()

    assert await value(pool, "select 3") == b"3"


async def test_a_reader_that_leaves_early_leaves_the_connection_usable(pool):
    endless = copy("select repeat('x', 1000) from (select generate_series(1, 1000000000)) as endless")

    class Left(Exception):
        pass

    async def work():
        async with pool.transaction() as transaction:
            await transaction.rows("select 1")
            async with aclosing(transaction.copy(endless)) as pages:
                async for _ in pages:
                    raise Left

    with pytest.raises(Left):
        await work()

    assert await value(pool, "select 4") == b"4"


async def test_no_other_statement_may_copy(pool):
    async def work():
        async with pool.transaction() as transaction:
            await transaction.run(copy("select 1"))

    with pytest.raises(DatabaseError, match="COPY"):
        await work()
