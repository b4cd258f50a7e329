"""A database, a broker and a replication between them, whose changes streams copy."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.server import running_server
from tests.workers.database.server import OUTSIDE, migrated_server
from tests.workers.replication.replication_pool import ReplicationPool, replication_pool_of


@pytest.fixture(scope="session")
async def replication_pool() -> AsyncIterator[ReplicationPool]:
    """A replication that no test disturbs; tests make tables of their own."""
    with migrated_server(programs=OUTSIDE) as server:
        async with running_server() as nats, replication_pool_of(server.url(), nats) as made:
            yield made
