"""The library, read once for the tests of this folder."""

import pytest

from tests.workers.graphql.library import library_snapshot
from workers.graphql.reflect.rows import Snapshot


@pytest.fixture(scope="session")
async def snapshot(server) -> Snapshot:
    return await library_snapshot(server.url)
