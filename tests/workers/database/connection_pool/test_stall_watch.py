"""The watch that ends a process whose pool opens no connection although Postgres takes connections."""

import asyncio
import contextlib

import pytest

from broker.observability.faults import FAULTS
from broker.processes.lifecycle import CRASHED, ManagedProcess
from schemas.settings.tree import Settings
from services.doctor.finding import FindingLevel
from services.doctor.readiness import read_readiness
from tests.workers.database.connections import opened, session_database, until, value
from tests.workers.database.own_server import own_server
from workers.database.connection_pool.connect_state import Connecting
from workers.database.connection_pool.stall_watch import StallWatch
from workers.database.errors import DatabaseError, Disconnected

_QUICK = {"every_s": 0.02, "stalled_after_s": 0.1}


async def test_a_process_ends_when_its_pool_is_stalled_while_postgres_takes_connections(server):
    """The state is one that no event leads to: as if an attempt had been forgotten."""

    async def main(process):
        async with session_database(server.url) as database, opened(database.login, 2, name="rest") as pool:
            process.ready()
            await value(pool, "select 1")
            connections = pool._connections
            connections._retire(connections.idle[0])
            connections._state = Connecting(1, Disconnected("refused"))
            with pytest.raises(Disconnected):
                await value(pool, "select 1")

            watch = asyncio.ensure_future(StallWatch(pool, database.login, process.fail, **_QUICK).run())
            await process.stopped()
            await watch

    try:
        code = await asyncio.wait_for(ManagedProcess("test", Settings()).run(main), 30)
        (fault,) = FAULTS.present
    finally:
        FAULTS.clear("database pool rest")

    assert code == CRASHED
    assert fault.part == "database pool rest"
    body = f'{{"status":"not ready","parts":{{"{fault.part}":"{fault.reason}"}}}}'.encode()
    (finding,) = read_readiness(body)
    assert finding.level is FindingLevel.ERROR
    assert "PoolStalled" in finding.cure


async def test_a_pool_whose_server_is_away_is_not_stalled():
    stalled = []
    async with own_server() as server, opened(server.url, 2) as pool:
        watch = StallWatch(pool, server.url, stalled.append, **_QUICK)
        watching = asyncio.ensure_future(watch.run())
        server.stop()

        while not pool.is_starved:
            with contextlib.suppress(Disconnected, DatabaseError):
                await value(pool, "select 1", role="tester")
        await until(lambda: watch.attempts >= 10)
        watching.cancel()  # its limit is shorter here than the pool's pause before it connects again
        await server.start()
        await until(lambda: pool.state.open)
        assert await value(pool, "select 1", role="tester") == b"1"

    assert stalled == []
