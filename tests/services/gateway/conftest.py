"""One broker, one pool and one gateway for these tests; and gateways with settings of a test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import pytest
import pytest_asyncio

from schemas.settings.tree import Gateway
from services.gateway.connections import listener
from tests.broker.server import NatsServer, running_server
from tests.services.gateway.direct.direct_counts import Counts, watch
from tests.services.gateway.pool import Pool, running_pool
from tests.services.gateway.running_gateway import RunningGateway, running_gateway

OpenGateway = Callable[..., AbstractAsyncContextManager[RunningGateway]]


@pytest_asyncio.fixture(scope="package")
async def nats() -> AsyncIterator[NatsServer]:
    """A broker with a pool on it."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture(scope="package")
async def lonely_nats() -> AsyncIterator[NatsServer]:
    """A broker on which nobody serves anything, but what a test brings."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture(scope="package")
async def pool(nats: NatsServer) -> AsyncIterator[Pool]:
    """The pool behind the gateways."""
    async with running_pool(nats.url) as one:
        yield one


@pytest_asyncio.fixture(scope="package")
async def gateway(nats: NatsServer, pool: Pool) -> AsyncIterator[RunningGateway]:
    """A gateway with the default settings."""
    del pool
    async with running_gateway(nats.url) as one:
        yield one


@pytest_asyncio.fixture(scope="package")
async def strict(nats: NatsServer, pool: Pool) -> AsyncIterator[RunningGateway]:
    """A gateway with narrow limits and little patience for bodies and for what comes behind a refusal."""
    del pool
    limits = Gateway(max_url=1000, max_headers=2000, max_body=600 * 1024, body_timeout=0.2)
    async with AsyncExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(listener, "_LINGER_S", 1.0)
            one = await stack.enter_async_context(running_gateway(nats.url, limits))
        yield one


@pytest_asyncio.fixture
async def lonely(lonely_nats: NatsServer) -> AsyncIterator[RunningGateway]:
    """A gateway without a pool."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(running_gateway(lonely_nats.url))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Count what the connections of a gateway in this process do."""
    return watch(monkeypatch)
