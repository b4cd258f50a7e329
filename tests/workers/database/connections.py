"""Databases and short words for the tests of sessions and pools."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from workers.database.connection_pool.open_connections import PoolEvent
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec

_SCHEMA = Path(__file__).with_name("session.sql")


@dataclass(frozen=True, slots=True)
class Database:
    """A database by two URLs: as the superuser, and as the login role of the pools."""

    admin: str
    login: str

    async def value(self, sql: str, *args: object) -> object:
        """Give one value, on a connection of its own."""
        connection = await asyncpg.connect(self.admin)
        try:
            return await connection.fetchval(sql, *args)
        finally:
            await connection.close()

    async def execute(self, sql: str) -> None:
        """Run commands, on a connection of their own."""
        connection = await asyncpg.connect(self.admin)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def session_database(server_url: str) -> AsyncIterator[Database]:
    """Make a database with the schema of `session.sql`; drop it after the block."""
    name = f"session_{uuid.uuid4().hex}"
    server = Database(server_url, "")
    await server.execute(f"create database {name}")
    parts = urlsplit(server_url)
    admin = parts._replace(path=f"/{name}").geturl()
    host = parts.netloc.rpartition("@")[2]
    login = parts._replace(netloc=f"session_login:session@{host}", path=f"/{name}").geturl()
    database = Database(admin, login)
    try:
        await database.execute(_SCHEMA.read_text(encoding="utf-8"))
        yield database
    finally:
        await server.execute(f"drop database {name} with (force)")


@contextlib.asynccontextmanager
async def opened(url: str, size: int = 4, **options: object) -> AsyncIterator[ConnectionPool]:
    """Give an open pool; it is closed after the block."""
    pool = await ConnectionPool.open(url, size, **options)  # type: ignore[arg-type]  # the tests name the pool's own options
    try:
        yield pool
    finally:
        await pool.close()


class Events(list[PoolEvent]):
    """The events of a pool, kept."""

    def kinds(self) -> list[str]:
        return [event.kind.value for event in self]


def work(
    *statements: str | Statement,
    role: str = "session_member",
    sub: int = 0,
    settings: tuple[tuple[str, str], ...] = (),
    read_only: bool = False,
    isolation: str | None = None,
    end: TransactionEnd = TransactionEnd.COMMIT,
    writes: bool = False,
) -> TransactionSpec:
    """Give a work as a caller of the interface would have it run."""
    own = (("search_path", "public"), ("role", role), ("request.jwt.claims", f'{{"sub":"{sub}"}}'), *settings)
    listed = [Statement(each) if isinstance(each, str) else each for each in statements]
    return TransactionSpec(own, listed, read_only, isolation, end, writes=writes)


async def value(pool: ConnectionPool, sql: str, *params: bytes | None, **options: object) -> bytes | None:
    """Give the first value of one statement."""
    rows: Rows = (await pool.run(work(Statement(sql, params), **options)))[0]  # type: ignore[arg-type]  # as in `work`
    return rows[0][0]


async def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    """Wait for a condition; give up after a time."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def backend(pool: ConnectionPool) -> bytes:
    """Give the process id of the backend the pool gives out next."""
    found = await value(pool, "select pg_backend_pid()")
    assert found is not None
    return found
