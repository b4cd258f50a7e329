"""A superuser's connection, a reader, and a table whose statistics are looked at."""

import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.workers.management.conftest import Client
from workers.management.interface.rights import Right


@pytest.fixture
async def admin(visitor: Client) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection. Statements are counted from here on, so lists of them are short."""
    connection = await asyncpg.connect(visitor.superuser_url)
    if not await connection.fetchval(
        "select exists (select from pg_extension where extname = 'pg_stat_statements')"
    ):  # on servers before 18 only a superuser may create it
        await connection.execute("create extension pg_stat_statements schema extensions")
        reset = await connection.fetchval(
            "select oid::regprocedure::text from pg_proc where proname = 'pg_stat_statements_reset'"
        )
        await connection.execute(f"grant execute on function {reset} to postgres")
    await connection.execute("select extensions.pg_stat_statements_reset()")
    yield connection
    await connection.close()


@pytest.fixture
async def reader(visitor: Client) -> Client:
    """A client of a new reader."""
    return await visitor.signed_in(f"{uuid.uuid4().hex}@reader.test", Right.READER)


@pytest.fixture
async def developer(visitor: Client) -> Client:
    """A client of a new developer."""
    return await visitor.signed_in(f"{uuid.uuid4().hex}@developer.test", Right.DEVELOPER)


@pytest.fixture
async def table(admin: asyncpg.Connection) -> AsyncIterator[str]:
    """A table of role postgres with rows, an index and a sequence; dropped at the end, when sessions that lock it are ended."""
    name = f"counted_{uuid.uuid4().hex}"
    await admin.execute(
        f"set role postgres; create table public.{name} (id smallserial primary key, body text) with (autovacuum_enabled = off);"
        f" insert into public.{name} (body) select 'x' from generate_series(1, 20000); analyze public.{name}; reset role"
    )
    yield name
    await admin.execute(
        f"select pg_terminate_backend(pid) from pg_locks where relation = 'public.{name}'::regclass and pid <> pg_backend_pid()"
    )
    await admin.execute(f"reset role; drop table public.{name}")
