"""Databases for the tests of the schema cache: made once a module, and read through a login role without rights."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from workers.database.schema_cache.catalog import Catalog, ComputedRelationship, Relationship
from workers.database.schema_cache.introspect import IntrospectOptions, introspect

CONFORMANCE = Path(__file__).parents[4] / "shared" / "conformance" / "rest" / "fixtures"
"""Beside the repository; absent in a plain checkout."""

PASSWORD = "authenticator"


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Open a connection for a block."""
    connection = await asyncpg.connect(url, timeout=60)
    try:
        yield connection
    finally:
        await connection.close()


def as_role(url: str, role: str, password: str = PASSWORD) -> str:
    """Give the URL with another login."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role)}:{quote(password)}@{host}"))


def in_database(url: str, name: str) -> str:
    """Give the URL with another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@contextlib.asynccontextmanager
async def fresh_database(server_url: str, *scripts: str) -> AsyncIterator[str]:
    """Make a database, run scripts in it, each on a connection of its own; drop it after the block."""
    name = f"introspected_{uuid.uuid4().hex}"
    async with connected(server_url) as connection:
        await connection.execute(f'create database "{name}"')
    url = in_database(server_url, name)
    try:
        for script in scripts:
            async with connected(url) as connection:
                await connection.execute(script)
        yield url
    finally:
        async with connected(server_url) as connection:
            await connection.execute(f'drop database "{name}" with (force)')


def login_role(role: str, *members: str) -> str:
    """Give SQL that makes a login role which may become others, all of them new to the server or not."""
    made = "".join(
        f"""
        do $$ begin
          create role "{each}" {"login noinherit password '" + PASSWORD + "'" if each == role else ""};
        exception when duplicate_object then null; end $$;
        """
        for each in (role, *members)
    )
    return made + "".join(f'grant "{each}" to "{role}";' for each in members)


async def catalog_of(url: str, schemas: Iterable[str], extra: Iterable[str] = ()) -> Catalog:
    """Introspect a database."""
    async with connected(url) as connection:
        return await introspect(connection, IntrospectOptions(tuple(schemas), tuple(extra)), 1)


def described(catalog: Catalog, schema: str, origin: str, target: str | None = None) -> list[str]:
    """Give the relationships of a relation as short texts, for comparison at a glance."""
    found = catalog.relationships.get((schema, origin), ())
    return [_text(each) for each in found if target is None or each.target[1] == target]


def _text(each: Relationship | ComputedRelationship) -> str:
    flags = " self" if each.is_self else ""
    if isinstance(each, ComputedRelationship):
        return f"computed {each.function[1]} to {'one' if each.is_to_one else 'many'} {each.target[1]}{flags}"
    flags += " parent" if each.is_parent else ""
    if each.junction is not None:
        via = each.junction
        legs = ", ".join(
            f"{name}({_pairs(columns)})"
            for name, columns in ((via.constraint1, via.columns1), (via.constraint2, via.columns2))
        )
        return f"{each.cardinality} {each.target[1]} via {via.relation[1]} {legs}{flags}"
    return f"{each.cardinality} {each.target[1]} {each.constraint}({_pairs(each.columns)}){flags}"


def _pairs(columns: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"{one}={other}" for one, other in columns)
