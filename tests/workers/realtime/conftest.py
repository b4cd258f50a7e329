"""One bootstrapped database for the tests of the realtime pool, and the worker on it."""

from collections.abc import AsyncIterator

import pytest

from schemas.settings.tree import Settings
from tests.workers.database.server import Server, connected, migrated_server
from tests.workers.realtime.realtime_pool import RealtimePool
from workers.database.connection_pool.pool import ConnectionPool
from workers.realtime.metrics import RealtimeMetrics


@pytest.fixture(scope="session")
async def own_server() -> AsyncIterator[Server]:
    """A server with a bootstrapped database."""
    with migrated_server() as server:
        yield server


@pytest.fixture(scope="session")
async def realtime_pool(own_server: Server) -> AsyncIterator[RealtimePool]:
    """The worker, logged in as in a platform; tests make tables of their own."""
    pool = await ConnectionPool.open(own_server.url("authenticator", Settings().db.password.reveal()), 8)
    async with connected(own_server.url()) as admin:
        yield RealtimePool(own_server.url(), pool, admin, RealtimeMetrics())
    await pool.close()
