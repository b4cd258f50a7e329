"""What the pools of a process share, on a real broker and a real database."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from msgspec import Struct

from broker.codec import decoder
from broker.nats.connection import NatsConnection
from broker.observability.metrics import collect
from broker.observability.observations import DatabaseBack, DatabaseLost
from broker.observability.observe import exposition
from broker.processes.lifecycle import ManagedProcess
from broker.requests.call import Calls
from broker.requests.handler import RequestBody
from broker.subjects import CATALOG_CHANGED, CONFIG_CHANGED, Subject, health
from schemas.errors import Unavailable
from schemas.events import CatalogChanged, ConfigChanged
from schemas.http import Request, Response
from schemas.keys.secret import Secret
from schemas.settings.overlay import SettingsBase
from schemas.settings.tree import Api, Broker, Db, Pools, Settings, SettingsError
from tests.broker.server import NatsServer, running_server
from tests.workers.database.connections import Database, until, value, work
from tests.workers.database.introspection_fixtures import fresh_database
from tests.workers.database.own_server import OwnServer
from workers import observed_pool
from workers import resources as module
from workers.database.connection_pool.open_connections import PoolTimes
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import Disconnected
from workers.database.schema_cache.cache import SchemaCache
from workers.observed_pool import ConnectionDropped, ConnectionLost, PoolObserver
from workers.resources import Resources, open_resources, run_pools
from workers.settings.live_settings import LiveSettings

POOL = Subject("resources.request", "resources")
SLEEPS = "select 1 from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'"
SCHEMA = "create table items (id int primary key);"


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as one:
        yield one


@pytest.fixture
async def database(server: OwnServer) -> AsyncIterator[str]:
    """URL of a database with one table."""
    async with fresh_database(server.url, SCHEMA) as url:
        yield url


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Struct]:
    """What is observed by the resources, the pool's and the schema cache's events included."""
    observed: list[Struct] = []
    for observing in (module, observed_pool):
        monkeypatch.setattr(observing, "observe", observed.append)
    return observed


@pytest.fixture
async def settings(nats: NatsServer, database: str) -> Settings:
    return Settings(
        api=Api(schemas=["public"], extra_search_path=[]),
        db=Db(url=Secret(database), pool_size=2),
        broker=Broker(url=Secret(nats.url)),
        pools=Pools(drain_timeout=10),
    )


@contextlib.asynccontextmanager
async def lives(
    settings: Settings, begin: Callable[[ManagedProcess], Awaitable[Resources]]
) -> AsyncIterator[Resources]:
    """Give the resources of a process that lives in this one; it ends in order after the block."""
    process = ManagedProcess("test", settings)
    begun: asyncio.Future[Resources] = asyncio.get_running_loop().create_future()

    async def main(process: ManagedProcess) -> None:
        resources = await begin(process)
        process.ready()
        begun.set_result(resources)
        await process.stopped()

    life = asyncio.create_task(process.run(main))
    either: set[asyncio.Future[Any]] = {life, begun}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    assert begun.done()
    try:
        yield begun.result()
    finally:
        process.stop("the test is over")
        code = await life
    assert code == 0


@contextlib.asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Resources]:
    async with lives(settings, lambda process: open_resources(process, settings)) as resources:
        yield resources


@contextlib.asynccontextmanager
async def asking(nats: NatsServer) -> AsyncIterator[tuple[NatsConnection, Calls]]:
    """Give a connection and calls of somebody else."""
    connection = await NatsConnection.open(nats.url, name="asking")
    try:
        yield connection, Calls(connection)
    finally:
        await connection.close()


async def execute(url: str, *commands: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for command in commands:
            await connection.execute(command)
    finally:
        await connection.close()


def login_of(settings: Settings) -> str:
    """Give the role that the pool signs in as."""
    assert settings.db.url is not None
    return urlsplit(settings.db.url.reveal()).username or ""


async def state_of(calls: Calls, pool: str) -> tuple[int, bytes]:
    """Ask a pool how it is; 0 means that nobody answers."""
    try:
        answer = await calls.call(health(pool), Request("health", "GET", "/", budget_ms=5_000))
    except Unavailable:
        return 0, b""
    return answer.response.status, answer.response.body


async def until_state(calls: Calls, pool: str, status: int, body: bytes) -> None:
    """Ask a pool how it is until it says this."""
    async with asyncio.timeout(60):
        while await state_of(calls, pool) != (status, body):
            await asyncio.sleep(0.01)


async def until_gone(calls: Calls, subject: Subject) -> None:
    """Ask a pool until it takes nothing more."""
    async with asyncio.timeout(60):
        with contextlib.suppress(Unavailable):
            while True:
                await calls.call(subject, Request("late", "GET", "/late"))


@contextlib.asynccontextmanager
async def barred(server: OwnServer, url: str) -> AsyncIterator[None]:
    """End all connections to a database and let nobody in for a block."""
    name = url.rpartition("/")[2]
    await execute(
        server.url,
        f'alter database "{name}" with allow_connections false',
        f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'",
    )
    try:
        yield
    finally:
        await execute(server.url, f'alter database "{name}" with allow_connections true')


OK = b'{"message":"ok"}'


async def echo(request: Request, body: RequestBody) -> Response:
    return Response(200, [], request.path.encode())


async def test_the_resources_are_connected_and_the_catalog_is_loaded(settings: Settings) -> None:
    async with opened(settings) as resources:
        assert resources.connection.is_connected
        assert await value(resources.database, "select 1", role="tester") == b"1"
        assert ("public", "items") in resources.cache.catalog.relations
        assert resources.api == settings.api

    assert not resources.connection.is_connected
    assert not resources.cache.is_following
    with pytest.raises(Disconnected, match="the pool is closed"):
        await resources.database.run(work("select 1"))


async def test_the_pool_s_numbers_are_shown(settings: Settings) -> None:
    async with opened(settings) as resources:
        await value(resources.database, "select 1", role="tester")
        lines = exposition().decode().splitlines()

    assert f'headwater_database_connections{{login="{login_of(settings)}"}} 1.0' in lines
    assert f'headwater_database_waiting{{login="{login_of(settings)}"}} 0.0' in lines
    assert "headwater_database_connections{" not in exposition().decode()


async def test_metrics_of_the_process_are_collected_with_those_of_every_login(
    settings: Settings, nats: NatsServer
) -> None:
    async with asking(nats) as (asker, _), opened(settings) as resources:
        await resources.connection.flush(5)
        own = await resources.login_as("tester")
        text = await collect(asker)

        assert own.state.waiting == 0

    for login in (login_of(settings), "tester"):
        assert re.search(rf'^headwater_database_connections\{{.*login="{login}"\}} \d', text, re.MULTILINE)


@pytest.mark.parametrize(
    ("broker", "database"),
    [(None, None), (None, "postgresql://127.0.0.1/x"), ("nats://127.0.0.1", None)],
)
async def test_without_addresses_the_settings_are_refused(broker: str | None, database: str | None) -> None:
    settings = Settings(
        broker=Broker(url=Secret(broker) if broker else None),
        db=Db(url=Secret(database) if database else None),
    )

    with pytest.raises(SettingsError, match=r"needs broker\.url and db\.url"):
        await open_resources(ManagedProcess("test", settings), settings)


@pytest.mark.parametrize("url", ["http://u:hidden@127.0.0.1", "nats://u:hid/den@127.0.0.1:4222", ","])
async def test_a_broker_address_that_cannot_be_read_is_refused_without_being_shown(url: str) -> None:
    settings = Settings(broker=Broker(url=Secret(url)), db=Db(url=Secret("postgresql://127.0.0.1/x")))

    with pytest.raises(SettingsError) as caught:
        await open_resources(ManagedProcess("test", settings), settings)

    assert str(caught.value) == "broker.url must be nats://[user:password@]host[:port], or tls://..."


@pytest.mark.parametrize("url", ["nonsense", "http://u:hidden@h/x", "postgresql://u:hid/den@h:1/x"])
async def test_a_database_address_that_cannot_be_read_is_refused_without_being_shown(
    nats: NatsServer, url: str
) -> None:
    settings = Settings(broker=Broker(url=Secret(nats.url)), db=Db(url=Secret(url)))
    process = ManagedProcess("test", settings)
    refusals = []

    async def main(process: ManagedProcess) -> None:
        try:
            await open_resources(process, settings)
        except SettingsError as error:
            refusals.append(str(error))
            raise

    assert await process.run(main) == 2
    assert refusals == ["db.url must be postgresql://user:password@host[:port]/database"]


async def test_requests_and_questions_of_health_are_answered_until_the_process_drains(
    settings: Settings, nats: NatsServer
) -> None:
    async with asking(nats) as (_, calls):
        async with opened(settings) as resources:
            await resources.serve(POOL, echo)
            answer = await calls.call(POOL, Request("1", "GET", "/path"))

            assert answer.response.body == b"/path"
            assert await state_of(calls, POOL.pool) == (200, OK)

        assert await state_of(calls, POOL.pool) == (0, b"")
        with pytest.raises(Unavailable):
            await calls.call(POOL, Request("2", "GET", "/"))


async def test_a_request_in_work_is_answered_before_the_process_ends(
    settings: Settings, nats: NatsServer
) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def wait(request: Request, body: RequestBody) -> Response:
        if request.path == "/":
            begun.set()
            await gate.wait()
        return Response(200, [], b"done")

    async with asking(nats) as (_, calls):
        async with opened(settings) as resources:
            await resources.serve(POOL, wait)
            call = asyncio.ensure_future(calls.call(POOL, Request("1", "GET", "/")))
            await begun.wait()
            resources.process.stop("a signal")
            await until_gone(calls, POOL)
            gate.set()

        assert (await call).response.body == b"done"


async def test_a_pool_is_not_well_before_its_catalog_is_loaded(settings: Settings, nats: NatsServer) -> None:
    async def begin(process: ManagedProcess) -> Resources:
        assert settings.db.url is not None
        connection = await NatsConnection.open(nats.url, name="test")
        database = await ConnectionPool.open(settings.db.url.reveal(), 1)
        cache = SchemaCache(settings.db.url.reveal(), settings.api, lambda _: None)
        for step in (connection.drain, database.close, cache.close):
            process.on_drain(step)
        return Resources(process, LiveSettings(SettingsBase(settings), None), connection, database, cache)

    async with asking(nats) as (_, calls), lives(settings, begin) as resources:
        await resources.serve(POOL, echo)

        assert await state_of(calls, POOL.pool) == (503, b'{"message":"the schema cache is not loaded yet"}')

        await resources.cache.load()

        assert await state_of(calls, POOL.pool) == (200, OK)


async def test_a_lost_database_is_observed_and_told_as_health_and_so_is_its_return(
    settings: Settings, nats: NatsServer, server: OwnServer, database: str, seen: list[Struct]
) -> None:
    async with asking(nats) as (_, calls), opened(settings) as resources:
        await resources.serve(POOL, echo)
        await value(resources.database, "select 1", role="tester")
        before = [type(each) for each in seen]

        async with barred(server, database):
            await until_state(calls, POOL.pool, 503, b'{"message":"the database does not answer"}')
            await until(lambda: [type(each) for each in seen].count(DatabaseLost) == 2)
        await until_state(calls, POOL.pool, 200, OK)
        await until(lambda: [type(each) for each in seen].count(DatabaseBack) == 2)
        assert await value(resources.database, "select 1", role="tester") == b"1"

    assert not {ConnectionLost, DatabaseLost, DatabaseBack} & {*before}
    lost = [each for each in seen if isinstance(each, ConnectionLost)]
    assert lost  # one for each connection that was open: a slow read may have opened another one
    assert all("terminating connection" in each.reason for each in lost)
    reasons = " ".join(each.reason for each in seen if isinstance(each, DatabaseLost))
    assert "not currently accepting connections" in reasons
    assert "tester:" not in f"{seen}"


async def test_health_names_the_database_only_if_requests_cannot_be_answered(
    settings: Settings, nats: NatsServer, database: str
) -> None:
    async with asking(nats) as (_, calls), opened(settings) as resources:
        await resources.serve(POOL, echo)
        await value(resources.database, "select 1", role="tester")

        await execute(
            database,
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name = 'headwater schema cache'",
        )
        await until(lambda: not resources.cache.is_connected)

        assert await state_of(calls, POOL.pool) == (200, OK)
        assert await value(resources.database, "select 1", role="tester") == b"1"


async def test_a_connection_that_breaks_while_others_can_be_made_is_observed(
    settings: Settings, database: str, seen: list[Struct]
) -> None:
    async with opened(settings) as resources:
        process_id = int(await value(resources.database, "select pg_backend_pid()", role="tester") or 0)
        await execute(database, f"select pg_terminate_backend({process_id})")
        await until(lambda: any(isinstance(each, ConnectionLost) for each in seen))

        assert await value(resources.database, "select 1", role="tester") == b"1"

    assert not [each for each in seen if isinstance(each, DatabaseLost)]


async def test_a_connection_that_does_not_settle_is_observed(database: str, seen: list[Struct]) -> None:
    pool = await ConnectionPool.open(database, 1, times=PoolTimes(settle=0.1), on_event=PoolObserver())
    try:
        process_id = int(await value(pool, "select pg_backend_pid()", role="tester") or 0)
        sleeping = asyncio.ensure_future(pool.run(work("select pg_sleep(60)", role="tester")))
        async with asyncio.timeout(60):
            while not await Database(database, "").value(SLEEPS):
                await asyncio.sleep(0.01)
        os.kill(process_id, signal.SIGSTOP)
        try:
            sleeping.cancel()
            await asyncio.wait([sleeping])
            await until(lambda: len(seen) >= 2)
        finally:
            os.kill(process_id, signal.SIGCONT)
    finally:
        await pool.close()

    assert [type(each) for each in seen] == [ConnectionDropped, ConnectionLost]


async def test_everybody_hears_of_a_new_catalog_and_of_changed_options(
    settings: Settings, nats: NatsServer, database: str
) -> None:
    heard: list[Struct] = []
    async with asking(nats) as (listener, _):
        for subject, kind in ((CATALOG_CHANGED, CatalogChanged), (CONFIG_CHANGED, ConfigChanged)):
            read = decoder(kind)
            listener.subscribe(subject.name, lambda message, read=read: heard.append(read(message.payload)))  # type: ignore[misc]  # one reader a kind
        await listener.flush(5)
        async with opened(settings) as resources:
            await until(lambda: heard)
            first = resources.cache.catalog.version
            await execute(
                database,
                "create table more (id int)",
                f'alter role tester in database "{database.rpartition("/")[2]}" set pgrst.max_rows = 7',
                "notify pgrst",
            )
            await until(lambda: ConfigChanged() in heard and CatalogChanged(first + 1) in heard)

            assert resources.api.max_rows == 7
            assert ("public", "more") in resources.cache.catalog.relations

    assert heard[0] == CatalogChanged(first)


async def test_pools_are_served_by_the_modules_named(settings: Settings, nats: NatsServer) -> None:
    process = ManagedProcess("test", settings)
    async with asking(nats) as (_, calls):
        life = asyncio.create_task(process.run(lambda one: run_pools(one, settings, ["workers.rest.pool"])))

        await until_state(calls, "rest", 200, OK)
        process.stop("the test is over")

        assert await life == 0
