"""A broker of its own, an empty outbox, and a listener to the stream for the tests of events."""

from collections.abc import AsyncIterator

import pytest
from msgspec import Struct

from broker.nats.connection import NatsConnection
from tests.broker.server import NatsServer, running_server
from tests.workers.storage.events.stream import Stream
from tests.workers.storage.storage_pool import StoragePool
from workers.storage.events import drain, outbox, publish, webhooks


@pytest.fixture
async def nats() -> AsyncIterator[NatsServer]:
    """A nats-server with an empty store that the test may kill."""
    async with running_server() as one:
        yield one


@pytest.fixture
async def connection(nats: NatsServer) -> AsyncIterator[NatsConnection]:
    one = await NatsConnection.open(nats.url, name="test")
    yield one
    await one.close()


@pytest.fixture
async def stream(nats: NatsServer) -> AsyncIterator[Stream]:
    """What the stream keeps, as somebody else reads it."""
    one = Stream(nats.url)
    yield one
    await one.close()


@pytest.fixture
async def quiet(storage_pool: StoragePool) -> StoragePool:
    """A worker whose outbox is empty: buckets that a test makes before it begins are not told."""
    await storage_pool.admin.execute("delete from storage.events_outbox")
    return storage_pool


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Struct]:
    """What is observed of events."""
    observed: list[Struct] = []
    for module in (drain, publish, webhooks):
        monkeypatch.setattr(module, "observe", observed.append)
    assert not hasattr(outbox, "observe")
    return observed
