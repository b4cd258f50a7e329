"""A bootstrapped database and a broker with a replication of their own, and a reader of what it publishes."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.server import running_server
from tests.workers.database.server import OUTSIDE, temporary_server
from tests.workers.replication.house import House, house_of


@pytest.fixture(scope="session")
async def house() -> AsyncIterator[House]:
    """A replication that no test disturbs; tests make tables of their own."""
    with temporary_server(programs=OUTSIDE) as server:
        async with running_server() as nats, house_of(server.url(), nats) as made:
            yield made


@pytest.fixture
async def own_house() -> AsyncIterator[House]:
    """A replication whose servers the test may stop and start."""
    with temporary_server(programs=OUTSIDE) as server:
        async with running_server() as nats, house_of(server.url(), nats) as made:
            yield made
