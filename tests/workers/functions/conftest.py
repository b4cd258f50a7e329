"""One broker for these tests, and a site of functions on it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from schemas.settings.functions import EdgeRuntime, FunctionSettings
from tests.broker.server import NatsServer, running_server
from tests.workers.functions.site import Site, site

TIGHT = FunctionSettings(memory_mb=96, cpu_ms=500, timeout_s=5, max_instances=1)


@pytest_asyncio.fixture(scope="package")
async def nats() -> AsyncIterator[NatsServer]:
    """A nats-server that no test stops."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module")
async def place(nats: NatsServer) -> AsyncIterator[Site]:
    """A site that is shared by the tests of a module."""
    named = {name: TIGHT for name in ("loop", "heap", "buffers", "slow", "background", "patient")}
    named["gigabyte"] = FunctionSettings(cpu_ms=60_000)  # reading it takes 2 s of a busy machine
    async with site(nats.url, runtime=EdgeRuntime(watch=0, max_instances=1), functions=named) as one:
        yield one


@pytest_asyncio.fixture
async def own_nats() -> AsyncIterator[NatsServer]:
    """A nats-server of one test: two sites on one server would share their requests."""
    async with running_server() as server:
        yield server
