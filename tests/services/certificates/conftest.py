"""One authority for these tests, and a broker of its own for each, because edges share certificates through it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from services.certificates import holder
from tests.broker.server import NatsServer, running_server
from tests.services.certificates.pebble import Pebble, running_pebble


@pytest_asyncio.fixture(scope="package")
async def pebble(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pebble]:
    """An authority that anybody may use."""
    async with running_pebble(tmp_path_factory.mktemp("pebble")) as authority:
        yield authority


@pytest_asyncio.fixture
async def broker() -> AsyncIterator[NatsServer]:
    """An empty broker."""
    async with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let holders look every 50 ms instead of every ten seconds."""
    monkeypatch.setattr(holder, "_LOOK_S", 0.05)
