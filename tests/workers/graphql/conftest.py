"""The worker that the tests of this folder ask, one a module."""

from collections.abc import AsyncIterator

import pytest

from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from tests.workers.database.own_server import OwnServer
from tests.workers.graphql.house import ANON, GRANTS, LOGIN, MEMBER, SCHEMA, SERVICE, House
from tests.workers.graphql.shop import open_shop
from workers.database.connection_pool.pool import ConnectionPool


@pytest.fixture(scope="module")
async def house(server: OwnServer) -> AsyncIterator[House]:
    roles = login_role(LOGIN, ANON, MEMBER, SERVICE)
    async with fresh_database(server.url, roles, SCHEMA, GRANTS) as url:
        pool = await ConnectionPool.open(as_role(url, LOGIN), 4)
        yield House.make(pool)
        await pool.close()


@pytest.fixture
async def fresh_shop(server: OwnServer) -> AsyncIterator[House]:
    async for house in open_shop(server.url):
        yield house


@pytest.fixture(scope="module")
async def shop(server: OwnServer) -> AsyncIterator[House]:
    async for house in open_shop(server.url):
        yield house
