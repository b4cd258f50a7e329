"""A superuser's connection, a reader, and a table whose statistics are looked at."""

import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.workers.management.conftest import Client
from workers.management.rights import Right


@pytest.fixture
async def admin(visitor: Client) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection."""
    connection = await asyncpg.connect(visitor.superuser_url)
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
        f"set role postgres; create table public.{name} (id smallserial primary key, body text);"
        f" insert into public.{name} (body) select 'x' from generate_series(1, 20000); analyze public.{name}; reset role"
    )
    yield name
    await admin.execute(
        f"select pg_terminate_backend(pid) from pg_locks where relation = 'public.{name}'::regclass and pid <> pg_backend_pid()"
    )
    await admin.execute(f"reset role; drop table public.{name}")
