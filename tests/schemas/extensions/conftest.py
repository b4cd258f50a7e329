"""A server of the embedded kind with the extension folder, and connections to it.

As on the platform, role `postgres` owns the extensions and is no superuser.
"""

import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from schemas.settings.tree import Settings
from services.supervisor.binaries import find_postgres
from tests.workers.database import server as servers
from workers.database.migrations.migrate import migrate

PASSWORD = Settings().db.password.reveal()
"""Password of the login roles of a bootstrapped database."""

_PASSWORD = "owner of the extensions"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: the URLs of its databases, and the programs of its clients."""

    running: servers.Server

    async def connect(self, user: str = "postgres", database: str = "postgres") -> asyncpg.Connection:
        """Open a connection as role postgres or as the superuser."""
        return await asyncpg.connect(self.running.url(user, _PASSWORD, database))

    def client(self, program: str, database: str, *arguments: str) -> None:
        """Run psql or pg_dump on a database, as role postgres."""
        url = self.running.url("postgres", _PASSWORD, database)
        done = subprocess.run(
            [find_postgres() / program, "-d", url, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"{program} failed:\n{done.stdout}\n{done.stderr}")


async def one_row(connection: asyncpg.Connection, query: str, *arguments: object) -> tuple[Any, ...]:
    """Run a query that gives one row, and give that."""
    (found,) = await connection.fetch(query, *arguments)
    return tuple(found)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A new cluster whose extension path begins with a copy of our folder."""
    with servers.temporary_server() as running:
        yield Server(running)


@pytest.fixture(scope="session")
async def owner(server: Server) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection; role postgres and the extensions in schema extensions are made by then."""
    connection = await server.connect("supabase_admin")
    await connection.execute(
        f"""
        create role postgres login createdb createrole password '{_PASSWORD}';
        grant create on database postgres to postgres;
        create schema extensions authorization postgres;
        set role postgres;
        create extension pgcrypto with schema extensions;
        create extension "uuid-ossp" with schema extensions;
        reset role;
        """
    )
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def database(server: Server, owner: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres that finds the extensions as projects do."""
    connection = await server.connect()
    await connection.execute("""set search_path = "$user", public, extensions""")
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def bootstrapped() -> AsyncIterator[servers.Server]:
    """A server whose new databases are bootstrapped as the platform's is."""
    with servers.temporary_server() as running:
        await migrate(running.url(database="template1"), Settings())
        yield running
