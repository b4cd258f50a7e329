"""The accounts pool in a process of its own life, on a real broker and a real database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from broker.processes.lifecycle import OK, ManagedProcess
from schemas.keys.secret import Secret
from schemas.settings.tree import Broker, Db, Pools, Settings
from tests.broker.server import NatsServer, running_server
from tests.workers.auth.auth_pool import AuthPool
from workers.auth.pool import serve_pool
from workers.resources import open_resources

LIMIT_S = 20.0


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


@asynccontextmanager
async def living_pool(nats: NatsServer, database_url: str) -> AsyncIterator[None]:
    """Run the pool in a process that lives in this one; it drains in order after the block."""
    settings = Settings(
        db=Db(url=Secret(database_url), pool_size=2),
        broker=Broker(url=Secret(nats.url)),
        pools=Pools(drain_timeout=10),
    )
    process, is_ready = ManagedProcess("auth", settings), asyncio.Event()

    async def main(process: ManagedProcess) -> None:
        await serve_pool(await open_resources(process, settings))
        process.ready()
        is_ready.set()
        await process.stopped()

    life, ready = asyncio.create_task(process.run(main)), asyncio.create_task(is_ready.wait())
    await asyncio.wait({life, ready}, return_when=asyncio.FIRST_COMPLETED)
    assert is_ready.is_set()
    try:
        yield
    finally:
        process.stop("the test is over")
        code = await life
    assert code == OK


def sweepers() -> list[asyncio.Task[object]]:
    """Give the tasks of this process that sweep."""
    found = (each for each in asyncio.all_tasks() if each.get_coro() is not None)
    return [each for each in found if getattr(each.get_coro(), "__name__", "") == "sweep_forever"]


async def test_a_pool_that_starts_sweeps_and_one_that_drains_does_not_any_more(
    auth_pool: AuthPool, nats: NatsServer, database_url: str
):
    await auth_pool.admin.execute(
        "insert into auth.rate_limits (name, updated_at) values"
        " ('pool:old', now() - interval '25 hours'), ('pool:new', now() - interval '23 hours')"
    )

    async with living_pool(nats, database_url):
        async with asyncio.timeout(LIMIT_S):
            while await auth_pool.value("select count(*) from auth.rate_limits where name = 'pool:old'"):
                await asyncio.sleep(0)
        swept_by = len(sweepers())

    assert swept_by == 1
    assert sweepers() == []
    assert await auth_pool.value("delete from auth.rate_limits where name = 'pool:new' returning 1") == 1
