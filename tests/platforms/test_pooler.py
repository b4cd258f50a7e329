"""The pooler with PgBouncer itself: many clients on few connections, logins of the project's own, and nothing else."""

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of

_IS_THERE = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None
pytestmark = pytest.mark.skipif(
    not _IS_THERE and os.environ.get("POOLER") != "required", reason="pgbouncer is not installed"
)
_SIZE = 3
_CLIENTS = 20


@pytest.fixture(scope="module")
def pooled() -> Iterator[Platform]:
    settings = {
        "HEADWATER_DB_POOLER_DEFAULT_POOL_SIZE": str(_SIZE),
        "HEADWATER_DB_POOLER_MAX_CLIENT_CONN": str(_CLIENTS),
    }
    with platform("--pooler", environment=settings) as one:
        yield one


def url_of(pooled: Platform, user: str, password: str) -> str:
    parts = urlsplit(pooled.values["POOLER_URL"])
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@127.0.0.1:{parts.port}"))


async def connect(pooled: Platform, user: str = "postgres", password: str = "postgres") -> asyncpg.Connection:
    # Debian's version does not know prepared statements of transaction mode, so none is kept.
    return await asyncpg.connect(url_of(pooled, user, password), statement_cache_size=0, timeout=20)


async def test_clients_share_the_connections_of_the_pool_between_transactions(pooled: Platform) -> None:
    clients = [await connect(pooled) for _ in range(_CLIENTS - 2)]
    try:
        used = await asyncio.gather(
            *(client.fetchval("select pg_backend_pid() from pg_sleep(0.05)") for client in clients)
        )
        users = {await client.fetchval("select current_user") for client in clients[:2]}
    finally:
        await asyncio.gather(*(client.close() for client in clients))

    assert 1 <= len(set(used)) <= _SIZE
    assert users == {"postgres"}


async def test_a_client_beyond_the_limit_is_rejected(pooled: Platform) -> None:
    clients = [await connect(pooled) for _ in range(_CLIENTS)]
    try:
        with pytest.raises(asyncpg.PostgresError, match="no more connections allowed"):
            await connect(pooled)
    finally:
        await asyncio.gather(*(client.close() for client in clients))


async def test_a_login_of_the_project_enters_with_its_present_password_alone(pooled: Platform) -> None:
    pooled.psql("create role clerk login password 'first'")
    client = await connect(pooled, "clerk", "first")
    await client.close()
    pooled.psql("alter role clerk password 'second'")
    with pytest.raises(asyncpg.PostgresError):
        await connect(pooled, "clerk", "first")
    client = await connect(pooled, "clerk", "second")
    who = await client.fetchval("select session_user")
    await client.close()

    assert who == "clerk"


@pytest.mark.parametrize(
    "login", ["supabase_admin", "authenticator", "supabase_auth_admin", "headwater_management"]
)
async def test_the_platforms_own_logins_are_not_reached_through_it(pooled: Platform, login: str) -> None:
    names = {"supabase_admin": "database"}
    own = urlsplit(pooled.login_url(names.get(login, login)))
    with pytest.raises(asyncpg.PostgresError):
        await connect(pooled, login, own.password or "")


async def test_a_tenant_reads_no_verifier_through_what_the_pooler_asks(pooled: Platform) -> None:
    client = await connect(pooled)
    try:
        for statement in (
            "select * from pgbouncer.get_auth('postgres')",
            "set role pgbouncer",
            "grant execute on function pgbouncer.get_auth(text) to postgres",
            "create or replace function pgbouncer.get_auth(name text) returns table (username text, password text) "
            "language sql as 'select 1::text, 2::text'",
            "alter role pgbouncer password 'mine'",
        ):
            with pytest.raises(asyncpg.PostgresError):
                await client.execute(statement)
    finally:
        await client.close()


async def test_a_killed_pooler_comes_back_and_a_killed_database_is_connected_again(pooled: Platform) -> None:
    before = pid_of(pooled, "pooler")
    os.kill(before, signal.SIGKILL)
    answers = [await _until_answered(pooled)]
    os.kill(pid_of(pooled, "postgres"), signal.SIGKILL)
    answers.append(await _until_answered(pooled))
    status = pooled.command("status").stdout

    assert answers == [1, 1]
    assert pid_of(pooled, "pooler") != before
    assert "pooler  running" in status
    assert f"Pooler  {pooled.values['POOLER_URL']}" in status


async def _until_answered(pooled: Platform) -> int:
    async with asyncio.timeout(60):
        while True:
            try:
                client = await connect(pooled)
                try:
                    return int(await client.fetchval("select 1"))
                finally:
                    client.terminate()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await asyncio.sleep(0.1)
