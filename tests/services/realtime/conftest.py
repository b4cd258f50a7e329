"""One broker, one pool and one edge for these tests."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.broker.server import NatsServer, running_server
from tests.services.realtime.edges import RealtimeEdges, running_edge
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
async def realtime_edges(nats: NatsServer, pool: Pool) -> AsyncIterator[RealtimeEdges]:
    """An edge with the default settings."""
    del pool
    async with running_edge(nats.url) as one:
        yield one


@pytest_asyncio.fixture(scope="package")
async def second_realtime_edges(
    nats: NatsServer, realtime_edges: RealtimeEdges
) -> AsyncIterator[RealtimeEdges]:
    """Another edge on the same broker."""
    del realtime_edges
    async with running_edge(nats.url) as one:
        yield one
