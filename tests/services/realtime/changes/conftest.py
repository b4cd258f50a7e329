"""A broker for each test, a stand-in for the pool on it, a log, and feeds."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest_asyncio

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from schemas.settings.realtime import RealtimeSettings
from services.realtime.changes.feed import ChangeFeed, open_feed
from tests.broker.server import NatsServer, running_server
from tests.services.realtime.changes.log import Log
from tests.services.realtime.changes.pool import Pool, running_pool

OpenFeed = Callable[..., Awaitable[ChangeFeed]]


@pytest_asyncio.fixture
async def broker() -> AsyncIterator[NatsServer]:
    """A broker that nobody else uses."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture
async def pool(broker: NatsServer) -> AsyncIterator[Pool]:
    """What answers the questions."""
    async with running_pool(broker.url) as one:
        yield one


@pytest_asyncio.fixture
async def log(broker: NatsServer) -> AsyncIterator[Log]:
    """What publishes changes."""
    connection = await NatsConnection.open(broker.url, name="test log")
    one = Log(connection)
    await one.make()
    yield one
    await connection.close()


@pytest_asyncio.fixture
async def open_one(broker: NatsServer) -> AsyncIterator[OpenFeed]:
    """Open feeds, each with a connection of its own, as in a process of its own."""
    async with AsyncExitStack() as stack:

        async def open_one(**options: bool) -> ChangeFeed:
            connection = await NatsConnection.open(broker.url, name="test edge")
            stack.push_async_callback(connection.close)
            feed = await open_feed(connection, Calls(connection), RealtimeSettings(**options))  # type: ignore[arg-type]
            stack.push_async_callback(feed.close)
            return feed

        yield open_one


@pytest_asyncio.fixture
async def feed(pool: Pool, log: Log, open_one: OpenFeed) -> ChangeFeed:
    """A feed with the default settings."""
    del pool, log
    return await open_one()
