"""A foreign issuer for each test."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.services.keys.issuer import Issuer, running_issuer


@pytest_asyncio.fixture
async def issuer() -> AsyncIterator[Issuer]:
    """A foreign issuer that does everything right."""
    async with running_issuer() as one:
        yield one
