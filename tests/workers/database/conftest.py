"""Fixtures of the bootstrap's tests: a server as the platform runs it, and empty databases in it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.workers.database.server import Server, fresh_database, temporary_server


@pytest.fixture(scope="session")
def platform_server() -> Iterator[Server]:
    """A server with superuser `supabase_admin` that logs all it is asked; not the `server` of the other tests."""
    loud = {"log_statement": "all", "log_min_duration_statement": "0", "log_line_prefix": "%d: "}
    with temporary_server(settings=loud) as server:
        yield server


@pytest.fixture
async def database(platform_server: Server) -> AsyncIterator[str]:
    """URL of a new, empty database for its superuser."""
    async with fresh_database(platform_server) as name:
        yield platform_server.url(database=name)
