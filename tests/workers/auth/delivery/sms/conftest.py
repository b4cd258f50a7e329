"""The stand-in of a provider, one for each test."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.workers.auth.delivery.sms.provider import Provider, running_provider


@pytest.fixture
async def stand_in() -> AsyncIterator[tuple[Provider, aiohttp.ClientSession]]:
    """A provider that records, and a session."""
    async with running_provider() as both:
        yield both
