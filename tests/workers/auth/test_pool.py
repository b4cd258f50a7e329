"""The accounts pool in a process of its own life, on a real broker and a real database."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from schemas.keys.secret import Secret
from schemas.settings.tree import Broker, Db, Pools, Settings
from tests.broker.server import NatsServer, running_server
from tests.workers.auth.auth_pool import AuthPool
from tests.workers.auth.running_pool import running_auth

LIMIT_S = 60.0


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


def settings_of(nats: NatsServer, database_url: str) -> Settings:
    """Return settings of a pool on this broker and database."""
    return Settings(
        db=Db(url=Secret(database_url), pool_size=2),
        broker=Broker(url=Secret(nats.url)),
        pools=Pools(drain_timeout=10),
    )


def sweepers() -> list[asyncio.Task[object]]:
    """Return the tasks of this process that sweep."""
    found = (each for each in asyncio.all_tasks() if each.get_coro() is not None)
    return [each for each in found if getattr(each.get_coro(), "__name__", "") == "sweep_forever"]


async def test_a_pool_that_starts_sweeps_and_one_that_drains_does_not_any_more(
    auth_pool: AuthPool, nats: NatsServer, database_url: str
):
    await auth_pool.admin.execute(
        "insert into auth.rate_limits (name, updated_at) values"
        " ('pool:old', now() - interval '25 hours'), ('pool:new', now() - interval '23 hours')"
    )

    async with running_auth(settings_of(nats, database_url)):
        async with asyncio.timeout(LIMIT_S):
            while await auth_pool.value("select count(*) from auth.rate_limits where name = 'pool:old'"):
                await asyncio.sleep(0)
        swept_by = len(sweepers())

    assert swept_by == 1
    assert sweepers() == []
    assert await auth_pool.value("delete from auth.rate_limits where name = 'pool:new' returning 1") == 1
