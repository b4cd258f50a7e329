"""Two copies of a database with every kind of object: ours answers for one, the reference for the other. Object ids are equal."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.caller import Caller, ServiceCaller
from schemas.database_logins import login_passwords
from schemas.errors import ApiError
from schemas.http import Request, Response
from schemas.settings.tree import Settings
from tests.workers.database.server import Server, connected, migrated_server
from tests.workers.management.spellings.schema_metadata.reference import (
    Reference,
    install_reference,
    reference_server,
)
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.worker import ManagementWorker

HERE = Path(__file__).parent
OURS, THEIRS = "postgres", "theirs"


@dataclass
class Ours:
    """Our interface on one database."""

    worker: ManagementWorker
    superuser_url: str
    caller: Caller = field(default_factory=ServiceCaller)

    async def respond(self, method: str, path: str, body: Any = None, raw: bytes = b"") -> Response:
        """Send a request as the gateway would; return its response, that of an error too."""
        data = raw if body is None else json.dumps(body).encode()
        before, _, query = path.partition("?")
        request = Request(
            "request-1",
            method,
            "/pg" + before,
            query=query,
            caller=self.caller,
            body=data,
            client="127.0.0.1",
        )
        try:
            return await self.worker.answer(request, Inline(data))
        except ApiError as error:
            return error.response()

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return status and decoded body (a text if it is no JSON)."""
        response = await self.respond(method, path, body)
        if "json" in dict(response.headers)["content-type"]:
            return response.status, json.loads(response.body)
        return response.status, response.body.decode()

    async def good(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed; return its body."""
        status, answer = await self.send(method, path, body)
        assert status == 200, answer
        return answer


@pytest.fixture(scope="module")
async def metadata_server() -> AsyncIterator[Server]:
    """A migrated server with the objects, in two databases that are copies."""
    settings = Settings()
    with migrated_server() as server:
        postgres = server.url("postgres", login_passwords(settings)["postgres"].reveal())
        files = (
            (server.url(), "wrapper"),
            (postgres, "objects"),
            (server.url(), "foreign"),
            (server.url(), "superuser"),
        )
        for url, file in files:
            async with connected(url) as connection:
                await connection.execute((HERE / f"{file}.sql").read_text())
        async with connected(server.url(database="template1")) as connection:
            await _copy(connection)
        yield server


async def _copy(connection: Any) -> None:
    """Copy the database once the sessions of others have ended."""
    others = "select count(*) from pg_stat_activity where datname = 'postgres' and pid <> pg_backend_pid()"
    async with asyncio.timeout(30):
        while await connection.fetchval(others):
            await asyncio.sleep(0.02)
    await connection.execute(f"create database {THEIRS} template {OURS} owner postgres")


@pytest.fixture(scope="module")
async def ours(metadata_server: Server) -> AsyncIterator[Ours]:
    """Our interface."""
    settings = Settings()
    settings = msgspec.structs.replace(
        settings, management=msgspec.structs.replace(settings.management, statement_timeout=10)
    )
    passwords = login_passwords(settings)
    pools: list[ConnectionPool] = []

    def url_of(login: str) -> str:
        return metadata_server.url(login, passwords[login].reveal())

    async def open_pool(login: str) -> ConnectionPool:
        pools.append(await ConnectionPool.open(url_of(login), 2))
        return pools[-1]

    worker = ManagementWorker.create(ManagementDatabase(open_pool, url_of), settings, PlatformPools(None))
    yield Ours(worker, metadata_server.url())
    for pool in pools:
        await pool.close()


@pytest.fixture(scope="module")
async def theirs(metadata_server: Server) -> AsyncIterator[Reference]:
    """The reference, as role postgres."""
    install_reference()
    password = login_passwords(Settings())["postgres"].reveal()
    async with reference_server(metadata_server.url("postgres", password, THEIRS)) as reference:
        yield reference


@pytest.fixture(scope="module")
async def theirs_as_superuser(metadata_server: Server) -> AsyncIterator[Reference]:
    """The reference with the rights of a superuser, which some of its statements need."""
    async with reference_server(metadata_server.url(database=THEIRS)) as reference:
        yield reference
