"""The workers that the tests of this folder use, one for each test module."""

from collections.abc import AsyncIterator

import pytest

from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from tests.workers.database.own_server import OwnServer
from tests.workers.graphql.graphql_service import ANON, GRANTS, LOGIN, MEMBER, SCHEMA, SERVICE, GraphQLService
from tests.workers.graphql.shop import open_shop
from workers.database.connection_pool.pool import ConnectionPool


@pytest.fixture(scope="module")
async def service(server: OwnServer) -> AsyncIterator[GraphQLService]:
    roles = login_role(LOGIN, ANON, MEMBER, SERVICE)
    async with fresh_database(server.url, roles, SCHEMA, GRANTS) as url:
        pool = await ConnectionPool.open(as_role(url, LOGIN), 4)
        yield GraphQLService.make(pool)
        await pool.close()


@pytest.fixture
async def fresh_shop(server: OwnServer) -> AsyncIterator[GraphQLService]:
    async for service in open_shop(server.url):
        yield service


@pytest.fixture(scope="module")
async def shop(server: OwnServer) -> AsyncIterator[GraphQLService]:
    async for service in open_shop(server.url):
        yield service
