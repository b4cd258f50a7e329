"""One broker, one pool and one edge for these tests."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.broker.server import NatsServer, running_server
from tests.services.realtime.edges import House, running_edge
from tests.services.realtime.pool import Pool, running_pool


@pytest_asyncio.fixture(scope="package")
async def nats() -> AsyncIterator[NatsServer]:
    """A broker."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture(scope="package")
async def pool(nats: NatsServer) -> AsyncIterator[Pool]:
    """The pool behind the edges."""
    async with running_pool(nats.url) as one:
        yield one


@pytest_asyncio.fixture(scope="package")
async def house(nats: NatsServer, pool: Pool) -> AsyncIterator[House]:
    """An edge with the default settings."""
    del pool
    async with running_edge(nats.url) as one:
        yield one


@pytest_asyncio.fixture(scope="package")
async def second_house(nats: NatsServer, house: House) -> AsyncIterator[House]:
    """Another edge on the same broker."""
    del house
    async with running_edge(nats.url) as one:
        yield one
