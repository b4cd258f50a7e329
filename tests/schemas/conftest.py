"""A bootstrapped database for the tests of the migrations, on the embedded Postgres and on an outside one if named."""

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.workers.database.server import (
    OUTSIDE,
    TRUSTING,
    Server,
    connected,
    fresh_database,
    temporary_server,
)
from workers.database.migrations.migrate import migrate

PASSWORD = Settings().db.password.reveal()

STAND_INS = {
    "pg_net.control": "default_version = '1'\ntrusted = true\nrelocatable = false\n",
    "pg_net--1.sql": """
        create schema net;
        create function net.http_get(url text) returns bigint language sql as 'select 1::bigint';
        revoke all on function net.http_get(text) from public;
        """,
    "pg_cron.control": "default_version = '1'\ntrusted = true\nrelocatable = false\n",
    "pg_cron--1.sql": """
        create schema cron;
        create table cron.job (jobid bigserial, schedule text);
        create table cron.job_run_details (runid bigserial);
        create function cron.schedule(schedule text) returns bigint language sql as 'select 1::bigint';
        revoke all on function cron.schedule(text) from public;
        """,
    "pg_graphql.control": "default_version = '1'\ntrusted = true\nrelocatable = false\nschema = graphql\n",
    "pg_graphql--1.sql": """
        create function graphql.resolve(query text) returns jsonb language sql as 'select null::jsonb';
        revoke all on function graphql.resolve(text) from public;
        """,
}
"""Extensions by the names that the platform opens after their creation, with the schemas the true ones have."""


@pytest.fixture(scope="session", params=["embedded", "outside"] if OUTSIDE else ["embedded"])
async def migrated_server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """A server whose database `postgres` is bootstrapped."""
    options = {"extensions": STAND_INS} if request.param == "embedded" else {"programs": OUTSIDE}
    with temporary_server(**options) as server:
        await migrate(server.url(), TRUSTING)
        yield server


@pytest.fixture
async def admin(migrated_server: Server) -> AsyncIterator[asyncpg.Connection]:
    """A connection of the superuser, in a transaction that is rolled back."""
    async with connected(migrated_server.url()) as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield connection
        await transaction.rollback()


@pytest.fixture
async def project(migrated_server: Server) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres, as a project's migrations have, in a transaction that is rolled back."""
    async with connected(migrated_server.url("postgres", PASSWORD)) as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield connection
        await transaction.rollback()


@pytest.fixture
async def database_url(migrated_server: Server) -> AsyncIterator[str]:
    """Name of a bootstrapped database of a test's own."""
    async with fresh_database(migrated_server) as name:
        await migrate(migrated_server.url(database=name), TRUSTING)
        yield name


@pytest.fixture(scope="session")
def embedded(migrated_server: Server) -> Iterator[Server]:
    """The server, if it is the embedded one, which has the stand-ins of this file."""
    if not (migrated_server.folder / "extension").exists():
        pytest.skip("an outside server has no extension folder of ours")
    return migrated_server
