"""The whole pool in a process of its own life: asked over a real broker, on a real database, as an edge asks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from broker.nats.connection import NatsConnection
from broker.observability.observe import exposition
from broker.processes.lifecycle import ManagedProcess
from broker.requests.call import Calls
from broker.subjects import REALTIME, health
from schemas import realtime
from schemas.http import Request
from schemas.keys.secret import Secret
from schemas.realtime import EveryRow, TableGrant, TableQuery
from schemas.settings.tree import Broker, Db, Settings
from tests.broker.server import NatsServer, running_server
from tests.workers.database.server import Server
from tests.workers.realtime.realtime_pool import RealtimePool
from workers.realtime.pool import serve_pool
from workers.resources import Resources, open_resources


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as one:
        yield one


@contextlib.asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[None]:
    """Run a process that serves the pool; it ends in order after the block."""
    process, ready = ManagedProcess("test", settings), asyncio.Event()

    async def main(process: ManagedProcess) -> None:
        resources: Resources = await open_resources(process, settings)
        await serve_pool(resources)
        process.ready()
        ready.set()
        await process.stopped()

    life = asyncio.create_task(process.run(main))
    either: set[asyncio.Future[Any]] = {life, asyncio.ensure_future(ready.wait())}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set()
    try:
        yield
    finally:
        process.stop("test")
        assert await life == 0


async def test_edges_get_their_answers_over_the_broker(
    realtime_pool: RealtimePool, own_server: Server, nats: NatsServer
) -> None:
    url = Secret(own_server.url("authenticator", Settings().db.password.reveal()))
    settings = Settings(broker=Broker(url=Secret(nats.url)), db=Db(url=url))
    table = await realtime_pool.table("id int primary key", "true")
    async with served(settings):
        connection = await NatsConnection.open(nats.url, name="asking")
        calls = Calls(connection)
        asked = msgspec.msgpack.encode(TableQuery("anon", "public", table))

        answer = (await calls.call(REALTIME, Request("1", "POST", realtime.TABLE, body=asked))).response
        unknown = (await calls.call(REALTIME, Request("2", "POST", "/unknown", body=asked))).response
        well = (await calls.call(health(REALTIME.pool), Request("3", "GET", "/"))).response
        shown = exposition()
        await connection.close()

    found = msgspec.msgpack.decode(answer.body, type=TableGrant)
    assert (answer.status, found.rule, found.is_published) == (200, EveryRow(), True)
    assert (unknown.status, well.status) == (404, 200)
    assert b'headwater_realtime_questions{question="table"} 1.0' in shown
    assert b"headwater_realtime" not in exposition()
