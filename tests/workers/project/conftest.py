"""A platform's server and folders of projects."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from schemas.settings.tree import Settings
from tests.workers.database.server import Server, connected, fresh_database, temporary_server
from workers.database.migrations.migrate import migrate
from workers.project.project_connection import ProjectUrls, open_project_connection
from workers.project.script_runner import ProjectConnection

Copies = Callable[[], AbstractAsyncContextManager[str]]


@pytest.fixture(scope="package")
def project_server() -> Iterator[Server]:
    """A server of its own: resets rename its databases."""
    with temporary_server() as server:
        yield server


@pytest.fixture(scope="package")
async def platform_copies(project_server: Server) -> AsyncIterator[Copies]:
    """Databases with the platform's schemas: copies of one that is made once."""
    async with fresh_database(project_server) as name:
        await migrate(project_server.url(database=name), Settings())
        yield partial(_copy, project_server, name)


@contextlib.asynccontextmanager
async def _copy(server: Server, original: str) -> AsyncIterator[str]:
    name = f"copy_{uuid.uuid4().hex}"
    async with connected(server.url()) as connection:
        await connection.execute(f"create database {name} template {original} strategy file_copy")
        await connection.execute(f"alter database {name} owner to postgres")
    try:
        yield name
    finally:
        async with connected(server.url()) as connection:
            await connection.execute(f"drop database {name} with (force)")


@pytest.fixture
async def links(project_server: Server, platform_copies: Copies) -> AsyncIterator[ProjectUrls]:
    """The URLs of a fresh database with the platform's schemas."""
    async with platform_copies() as name:
        yield ProjectUrls(
            project_server.url("postgres", Settings().db.password.reveal(), name),
            project_server.url(database=name),
        )


@pytest.fixture
async def project(links: ProjectUrls) -> AsyncIterator[ProjectConnection]:
    """A connection as role postgres."""
    async with open_project_connection(links.project) as one:
        yield one


@pytest.fixture
def folder(tmp_path):
    """A project folder to write files in: `folder(path, text)`."""

    class Folder:
        path = tmp_path / "supabase"

        def write(self, name: str, text: str | bytes) -> None:
            """Write a file of the folder."""
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode() if isinstance(text, str) else text)

    return Folder()


async def value(url: str, sql: str, *arguments: object) -> object:
    """Give one value, on a connection of its own."""
    async with connected(url) as connection:
        return await connection.fetchval(sql, *arguments)
