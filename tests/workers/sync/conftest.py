"""A database with a broker and a replication, and the service of shapes on them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.broker.server import running_server
from tests.workers.database.server import OUTSIDE, temporary_server
from tests.workers.replication.replication_pool import ReplicationPool, replication_pool_of
from tests.workers.sync.sync_pool import SyncPoolOfTests, settings_of, sync_pool_of


@pytest.fixture(scope="session")
async def sync_replication() -> AsyncIterator[ReplicationPool]:
    """A replication; tests make tables of their own."""
    with temporary_server(programs=OUTSIDE) as server:
        async with running_server() as nats, replication_pool_of(server.url(), nats) as made:
            yield made


@pytest.fixture(scope="session")
async def sync_pool(
    sync_replication: ReplicationPool, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SyncPoolOfTests]:
    """The service of shapes, which tests share."""
    folder: Path = tmp_path_factory.mktemp("shapes")
    async with sync_pool_of(sync_replication, folder, settings_of(max_shapes_per_caller=10**6)) as pool:
        yield pool
