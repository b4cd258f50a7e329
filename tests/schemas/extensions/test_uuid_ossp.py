"""uuid-ossp: all versions, against the standard library."""

import itertools
import uuid
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tests.schemas.extensions.conftest import Server, one_row

NAMES = ["www.example.com", "", "http://example.com/ä?ö=€", "x" * 200]
GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)


async def test_constants_are_those_of_the_standard(database: asyncpg.Connection) -> None:
    row = await one_row(
        database, "select uuid_nil(), uuid_ns_dns(), uuid_ns_url(), uuid_ns_oid(), uuid_ns_x500()"
    )

    namespaces = (uuid.NAMESPACE_DNS, uuid.NAMESPACE_URL, uuid.NAMESPACE_OID, uuid.NAMESPACE_X500)
    assert row == (uuid.UUID(int=0), *namespaces)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("space", [uuid.NAMESPACE_DNS, uuid.NAMESPACE_URL])
async def test_versions_3_and_5_agree_with_the_standard_library(
    database: asyncpg.Connection, space: uuid.UUID, name: str
) -> None:
    row = await one_row(database, "select uuid_generate_v3($1, $2), uuid_generate_v5($1, $2)", space, name)

    assert row == (uuid.uuid3(space, name), uuid.uuid5(space, name))


async def test_the_well_known_names_of_versions_3_and_5(database: asyncpg.Connection) -> None:
    row = await one_row(
        database,
        "select uuid_generate_v3(uuid_ns_dns(), 'www.example.com')::text,"
        " uuid_generate_v5(uuid_ns_dns(), 'www.example.com')::text",
    )

    assert row == ("5df41881-3aed-3515-88a7-2f4a814cf09e", "2ed6657d-e927-568b-95e1-2665a8aea6a2")


async def test_version_4_is_random(database: asyncpg.Connection) -> None:
    rows = await database.fetch("select uuid_generate_v4() as id from generate_series(1, 100)")

    assert {row["id"].version for row in rows} == {4}
    assert len({row["id"] for row in rows}) == 100


@pytest.mark.parametrize("function", ["uuid_generate_v1", "uuid_generate_v1mc"])
async def test_version_1_carries_the_present_time(database: asyncpg.Connection, function: str) -> None:
    before, id_, after = await one_row(
        database, f"select clock_timestamp() as before, {function}() as id, clock_timestamp() as after"
    )

    when = GREGORIAN + timedelta(microseconds=id_.time // 10)
    assert (id_.version, id_.variant) == (1, uuid.RFC_4122)
    assert before <= when <= after


@pytest.mark.parametrize("function", ["uuid_generate_v1", "uuid_generate_v1mc"])
async def test_each_version_1_of_a_statement_is_later_than_the_one_before(
    database: asyncpg.Connection, function: str
) -> None:
    rows = await database.fetch(f"select {function}() as id from generate_series(1, 20000)")

    times = [row["id"].time for row in rows]
    assert all(earlier < later for earlier, later in itertools.pairwise(times))


async def test_version_1_keeps_its_node_in_a_session_and_marks_it_as_made_up(
    database: asyncpg.Connection,
) -> None:
    rows = await database.fetch("select uuid_generate_v1() as id from generate_series(1, 50)")

    (node,) = {row["id"].node for row in rows}
    assert node >> 40 & 1 == 1


async def test_another_session_has_another_node(database: asyncpg.Connection, server: Server) -> None:
    other = await server.connect()
    try:
        theirs = await other.fetchval("select extensions.uuid_generate_v1()")
    finally:
        await other.close()

    assert theirs.node != (await database.fetchval("select uuid_generate_v1()")).node


async def test_version_1mc_has_a_new_multicast_node_each_time(database: asyncpg.Connection) -> None:
    rows = await database.fetch("select uuid_generate_v1mc() as id from generate_series(1, 50)")

    nodes = {row["id"].node for row in rows}
    assert len(nodes) == 50
    assert all(node >> 40 & 3 == 3 for node in nodes)


async def test_version_1_serves_as_a_default(database: asyncpg.Connection) -> None:
    async with database.transaction():
        await database.execute(
            "create temporary table notes (id uuid primary key default uuid_generate_v1(), n integer) on commit drop"
        )
        await database.execute("insert into notes (n) select generate_series(1, 5000)")

        assert await database.fetchval("select count(*) from notes") == 5000
