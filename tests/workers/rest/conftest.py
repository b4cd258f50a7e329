"""The worker that the tests of this folder ask, one a module."""

from collections.abc import AsyncIterator

import pytest

from schemas.settings.tree import Api
from tests.workers.database.introspection_fixtures import as_role, catalog_of, fresh_database, login_role
from tests.workers.rest.rest_pool import GRANTS, LOGIN, OPTIONS, SCHEMA, RestPool
from workers.database.connection_pool.pool import ConnectionPool
from workers.rest.state import RestState


@pytest.fixture(scope="module")
async def rest_pool(server) -> AsyncIterator[RestPool]:
    roles = login_role(LOGIN, "rest_anon", "rest_user", "rest_service")
    async with fresh_database(server.url, roles, SCHEMA, GRANTS) as url:
        catalog = await catalog_of(as_role(url, LOGIN), ["public"])
        pool = await ConnectionPool.open(as_role(url, LOGIN), 4)
        api = Api(**OPTIONS)  # type: ignore[arg-type]  # names and values of the settings
        yield RestPool(pool, RestState(api, catalog), api)
        await pool.close()


@pytest.fixture
def trial(rest_pool: RestPool) -> RestPool:
    """The same with every write rolled back."""
    return rest_pool.with_options(tx_end="rollback", aggregates_enabled=True)
