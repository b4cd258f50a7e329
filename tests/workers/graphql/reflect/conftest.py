"""The catalogs of the library database, read once for the tests of this folder."""

import pytest

from tests.workers.graphql.library import library_snapshot
from workers.graphql.reflect.rows import CatalogSnapshot


@pytest.fixture(scope="session")
async def snapshot(server) -> CatalogSnapshot:
    return await library_snapshot(server.url)
