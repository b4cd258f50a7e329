"""A restored database is checked before anyone relies on it."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from services.supervisor.drill import differences
from tests.workers.database.own_server import OwnServer, own_server
from workers.branches.check_database import check_database, count_rows

_PAGE = 8192
_TABLES = """
create role postgres; create schema headwater;
create table public.kept (id int primary key, name text); insert into public.kept select n, 'name ' || n from generate_series(1, 5000) n;
create table public.closed (id int); revoke all on public.closed from public;
grant select on public.kept to postgres; grant usage on schema public to postgres;
"""


@pytest.fixture
async def server() -> AsyncIterator[OwnServer]:
    async with own_server() as one:
        connection = await asyncpg.connect(one.url)
        await connection.execute(_TABLES)
        await connection.close()
        yield one


async def test_rows_are_counted_as_the_projects_role_and_a_damaged_index_is_named(server: OwnServer) -> None:
    counted = await count_rows(server.url)
    whole = await check_database(server.url)
    connection = await asyncpg.connect(server.url)
    await connection.execute("checkpoint")  # so that the recovery does not write the page again
    path = server.data / str(await connection.fetchval("select pg_relation_filepath('public.kept_pkey')"))
    await connection.close()

    await asyncio.to_thread(server.stop)
    with path.open("r+b") as file:  # the second page of the index, without its own head
        file.seek(2 * _PAGE)
        file.write(bytes([7]) * 512)
    await server.start()
    damaged = await check_database(server.url)

    assert counted.rows == {"public.kept": 5000}
    assert whole.faults == []
    assert whole.counted.rows == counted.rows
    assert whole.indexes > 50
    assert [fault for fault in damaged.faults if "index public.kept_pkey" in fault], damaged.faults


def test_a_table_that_nobody_wrote_meanwhile_has_all_its_rows_again() -> None:
    before = {"a": 10, "b": 20, "c": 5, "gone": 1, "new": 3}
    after = {"a": 10, "b": 25, "c": 5, "new": 3}
    restored = {"a": 10, "b": 22, "c": 4}

    assert list(differences(before, after, restored)) == ["table c has 4 rows, not 5", "table new is missing"]
