"""The pooler with PgBouncer itself: many clients on few connections, logins of the project's own, TLS from outside, and nothing else."""

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from services.supervisor.self_signed_process import ensure_certificate
from tests.own_address import own_address
from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of

_IS_THERE = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None
pytestmark = pytest.mark.skipif(
    not _IS_THERE and os.environ.get("POOLER") != "required", reason="pgbouncer is not installed"
)
_SIZE = 3
_CLIENTS = 20
_PASSWORD = "the-projects-own"
_ADDRESS = own_address()


@pytest.fixture(scope="module")
def certificate() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        pair = (Path(folder, "certificate.pem"), Path(folder, "key.pem"))
        ensure_certificate(*pair, ["localhost", _ADDRESS or "127.0.0.1"])
        yield pair


@pytest.fixture(scope="module")
def pooled(certificate: tuple[Path, Path]) -> Iterator[Platform]:
    settings = {
        "HEADWATER_DB_PASSWORD": _PASSWORD,
        "HEADWATER_DB_TLS_CERT_PATH": str(certificate[0]),
        "HEADWATER_DB_TLS_KEY_PATH": str(certificate[1]),
        "HEADWATER_DB_POOLER_DEFAULT_POOL_SIZE": str(_SIZE),
        "HEADWATER_DB_POOLER_MAX_CLIENT_CONN": str(_CLIENTS),
    }
    with platform("--pooler", "--db-tls", "--db-host", _ADDRESS or "127.0.0.1", environment=settings) as one:
        yield one


def url_of(pooled: Platform, user: str, password: str) -> str:
    parts = urlsplit(pooled.values["POOLER_URL"])
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@127.0.0.1:{parts.port}"))


async def connect(pooled: Platform, user: str = "postgres", password: str = _PASSWORD) -> asyncpg.Connection:
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


def outcome(
    pooled: Platform, certificate: Path, host: str, user: str, mode: str, database: str = "postgres"
) -> str:
    """Return the last line of a real psql through the pooler."""
    done = subprocess.run(
        ["psql", "-Atc", "select current_user"],
        env={
            **os.environ,
            "PGHOST": host,
            "PGPORT": str(urlsplit(pooled.values["POOLER_URL"]).port),
            "PGUSER": user,
            "PGDATABASE": database,
            "PGPASSWORD": _PASSWORD,
            "PGSSLMODE": mode,
            "PGSSLROOTCERT": str(certificate),
            "PGCONNECT_TIMEOUT": "10",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.mark.skipif(not (_ADDRESS and shutil.which("psql")), reason="no address beside loopback, or no psql")
def test_other_machines_connect_by_tls_as_the_listed_logins_alone(
    pooled: Platform, certificate: tuple[Path, Path]
) -> None:
    pooled.psql(f"create role outsider login password '{_PASSWORD}'")
    trusted = certificate[0]
    accepted = [
        outcome(pooled, trusted, host, user, mode)
        for host, user, mode in (
            (_ADDRESS, "postgres", "verify-full"),
            ("localhost", "postgres", "verify-full"),
            ("127.0.0.1", "outsider", "disable"),
        )
    ]
    rejected = [
        outcome(pooled, trusted, _ADDRESS, user, mode, database)
        for user, mode, database in (
            ("postgres", "disable", "postgres"),
            ("outsider", "verify-full", "postgres"),
            ("supabase_admin", "verify-full", "postgres"),
            ("authenticator", "verify-full", "postgres"),
            ("pgbouncer", "verify-full", "postgres"),
            (
                "postgres",
                "verify-full",
                "pgbouncer",
            ),  # ended PgBouncer 1.18 where `auth_user` stood for all databases
        )
    ]
    before = pid_of(pooled, "pooler")
    wrong_name = outcome(pooled, trusted, "127.0.0.1", "postgres", "verify-full")

    assert accepted == ["postgres", "postgres", "outsider"]
    assert all("rejected" in line or "no such user" in line for line in rejected), rejected
    assert "does not match host name" in wrong_name
    assert outcome(pooled, trusted, _ADDRESS, "postgres", "verify-full") == "postgres"
    assert pid_of(pooled, "pooler") == before
    assert " restarts 1" not in pooled.command("status").stdout


async def test_a_renewed_certificate_is_served_without_a_restart(
    pooled: Platform, certificate: tuple[Path, Path]
) -> None:
    before = pid_of(pooled, "pooler")
    for path in certificate:
        path.unlink()
    ensure_certificate(*certificate, ["localhost"])
    async with asyncio.timeout(60):
        while True:
            trusted = ssl.create_default_context(cafile=str(certificate[0]))
            url = url_of(pooled, "postgres", _PASSWORD).replace("127.0.0.1", "localhost")
            try:
                client = await asyncpg.connect(url, ssl=trusted, statement_cache_size=0, timeout=20)
                break
            except ssl.SSLCertVerificationError:
                await asyncio.sleep(0.2)  # until the supervisor has looked at the files again
    user = await client.fetchval("select current_user")
    await client.close()

    assert user == "postgres"
    assert pid_of(pooled, "pooler") == before


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
