"""A bootstrapped database and a broker with a replication of their own, and a reader of what it publishes."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.server import running_server
from tests.workers.database.server import OUTSIDE, temporary_server
from tests.workers.replication.replication_pool import ReplicationPool, replication_pool_of


@pytest.fixture(scope="session")
async def replication_pool() -> AsyncIterator[ReplicationPool]:
    """A replication that no test disturbs; tests make tables of their own."""
    with temporary_server(programs=OUTSIDE) as server:
        async with running_server() as nats, replication_pool_of(server.url(), nats) as made:
            yield made


@pytest.fixture
async def own_replication_pool() -> AsyncIterator[ReplicationPool]:
    """A replication whose servers the test may stop and start."""
    with temporary_server(programs=OUTSIDE) as server:
        async with running_server() as nats, replication_pool_of(server.url(), nats) as made:
            yield made
