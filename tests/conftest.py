"""What all tests share: one Postgres server a run, and the names of what lies beside the repository."""

from collections.abc import AsyncIterator

import pytest

from tests.workers.database.own_server import OwnServer, own_server


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[OwnServer]:
    """A running Postgres server for the whole run; tests make databases of their own in it."""
    async with own_server(wal_level="logical", max_connections="200") as one:
        yield one
