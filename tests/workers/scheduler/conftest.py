"""A bootstrapped database with the extensions of this pool, a nats-server, and schedulers that run in the test's process."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest
from msgspec import Struct

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from schemas.settings.scheduler import Net, Scheduler
from schemas.settings.tree import Settings
from tests.broker.server import NatsServer, running_server
from tests.workers.database.server import Server, connected, fresh_database, temporary_server
from tests.workers.scheduler.scheduler_pool import PASSWORD, SchedulerPool, Service, running_service
from workers.database.migrations.migrate import migrate
from workers.scheduler import function_schedules, functions, jobs, leader_term, net_requests, pool


@pytest.fixture(scope="session")
async def cluster() -> AsyncIterator[Server]:
    """A server as the platform runs it, whose new databases are bootstrapped."""
    with temporary_server() as server:
        await migrate(server.url(database="template1"), Settings())
        yield server


@pytest.fixture(scope="session")
async def broker() -> AsyncIterator[NatsServer]:
    async with running_server() as one:
        yield one


@pytest.fixture(scope="session")
async def template(cluster: Server) -> AsyncIterator[str]:
    """The name of a database with the extensions: copies of it cost a third of making one."""
    async with fresh_database(cluster) as name:
        async with connected(cluster.url(database=name)) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(cluster.url("postgres", PASSWORD, name)) as owner:
            await owner.execute("create extension pg_cron; create extension pg_net")
        yield name


@pytest.fixture
async def scheduler_pool(cluster: Server, template: str, broker: NatsServer) -> AsyncIterator[SchedulerPool]:
    """A database of the test's own, with schedulers that are closed behind it."""
    async with opened_scheduler_pool(cluster, template, broker) as one:
        yield one


@contextlib.asynccontextmanager
async def opened_scheduler_pool(
    cluster: Server, template: str, broker: NatsServer
) -> AsyncIterator[SchedulerPool]:
    """A new database with connections to it."""
    async with copied_database(cluster, template) as name, contextlib.AsyncExitStack() as stack:
        one = SchedulerPool(cluster, name, broker.url)
        one.admin = await stack.enter_async_context(connected(cluster.url(database=name)))
        one.project = await stack.enter_async_context(connected(one.url("postgres")))
        yield one
        await one.close()


@contextlib.asynccontextmanager
async def copied_database(cluster: Server, template: str) -> AsyncIterator[str]:
    """A copy of a database, dropped behind the test."""
    name = f"copy_{secrets.token_hex(6)}"
    async with connected(cluster.url(database="postgres")) as admin:
        await admin.execute(f"create database {name} template {template} owner postgres")
    yield name
    async with connected(cluster.url(database="postgres")) as admin:
        await admin.execute(f"drop database {name} with (force)")


@pytest.fixture
async def project(scheduler_pool: SchedulerPool) -> asyncpg.Connection:
    """A connection of role postgres."""
    return scheduler_pool.project


@pytest.fixture
async def connection(broker: NatsServer) -> AsyncIterator[NatsConnection]:
    one = await NatsConnection.open(broker.url, name="test")
    yield one
    await one.close()


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """A server on loopback that remembers what it was asked."""
    async with running_service() as one:
        yield one


@pytest.fixture
def begin(
    scheduler_pool: SchedulerPool, connection: NatsConnection
) -> Callable[..., pool.SchedulerCandidate]:
    """Begin a scheduler on the test's database."""

    def start(settings: Settings | None = None, **net_settings: object) -> pool.SchedulerCandidate:
        chosen = settings or Settings(net=Net(**net_settings), scheduler=Scheduler())  # type: ignore[arg-type]  # named by the test
        one = pool.SchedulerCandidate(
            scheduler_pool.url("headwater_scheduler"), connection, Calls(connection), chosen
        )
        scheduler_pool.schedulers.append(one)
        one.begin()
        return one

    return start


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Struct]:
    """What is observed."""
    observed: list[Struct] = []
    for module in (function_schedules, functions, jobs, net_requests, pool, leader_term):
        monkeypatch.setattr(module, "observe", observed.append)
    return observed
