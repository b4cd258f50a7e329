"""A worker of the pool management on a database of its own, and requests to it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest

from broker.requests.handler import StreamedResponse
from schemas.database_logins import login_passwords
from schemas.errors import ApiError
from schemas.http import SERVER_ORIGIN, Headers, Request, Response, header_values
from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from tests.workers.database.server import migrated_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.identity.links import new_link
from workers.management.interface.identity.model import Administrator
from workers.management.interface.identity.personal_data import Lookup, Personal
from workers.management.interface.identity.store import fetch_one
from workers.management.interface.rights import Right
from workers.management.worker import ManagementWorker

NOW = 1_800_000_000.0
"""The present time of authenticator apps, which stands still."""
ORIGIN = "http://127.0.0.1:54321"
_SERVER_SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track_utility": "off",
}
"""As the embedded server has them: for the statistics of statements."""


class Body:
    """The body of a request, at hand."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def read(self, limit: int) -> bytes:
        data = b"".join(self._pieces)
        assert len(data) <= limit
        return data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@dataclass
class Client:
    """Sends requests to a worker, with the cookie of a session or a token."""

    worker: ManagementWorker
    superuser_url: str
    cookie: str = ""
    token: str = ""
    address: str = "127.0.0.1"
    headers: dict[str, str] = field(default_factory=lambda: {"origin": ORIGIN})
    server_origin: str = ORIGIN

    async def send(
        self, method: str, path: str, body: object = None, *, query: str = "", upload: tuple[bytes, ...] = ()
    ) -> Response:
        """Send a request and return its response, that of an error too; a streamed one is read to its end."""
        data = b"" if body is None else json.dumps(body).encode()
        headers: Headers = [(SERVER_ORIGIN, self.server_origin), *self.headers.items()]
        if self.cookie:
            headers.append(("cookie", self.cookie))
        if self.token:
            headers.append(("authorization", f"Bearer {self.token}"))
        request = Request(
            "request-1", method, path, query=query, headers=headers, body=data, client=self.address
        )
        try:
            response = await self.worker.answer(request, Body(*(upload or (data,))))  # type: ignore[arg-type]  # no broker
        except ApiError as error:
            return error.response()
        if isinstance(response, StreamedResponse):
            return Response(
                response.status, response.headers, b"".join([part async for part in response.chunks])
            )
        return response

    async def run(self, name: str, /, **arguments: object) -> Any:
        """Run an operation and return its result. It must succeed."""
        response = await self.send("POST", f"/operations/{name}", arguments)
        assert response.status == 200, response
        return json.loads(response.body)

    async def stream(self, name: str, /, **arguments: object) -> bytes:
        """Run an operation whose result is streamed and return all of it. It must succeed."""
        response = await self.send("POST", f"/operations/{name}", arguments)
        assert response.status == 200, response
        return response.body

    async def error(self, name: str, /, **arguments: object) -> dict[str, Any]:
        """Run an operation that fails; return the body of the error."""
        response = await self.send("POST", f"/operations/{name}", arguments)
        assert response.status != 200, response
        body: dict[str, Any] = json.loads(response.body)
        return body

    async def refused(self, name: str, /, **arguments: object) -> tuple[int, str]:
        """Run an operation that fails; return status and code."""
        response = await self.send("POST", f"/operations/{name}", arguments)
        assert response.status != 200, response
        return response.status, json.loads(response.body)["code"]

    async def signed_in(self, email: str, rights: Right) -> "Client":
        """Return a client with a session of a new administrator."""
        own = await self.worker.database.own()
        added = await fetch_one(
            own,
            "add_administrator",
            Administrator,
            Personal(email),
            Lookup(email.lower()),
            rights.value,
            None,
        )
        assert added is not None
        link = await new_link(own, added.id, 60)
        response = await self.send("POST", "/sign-in", {"link": link})
        assert response.status == 200, response
        return replace(self, cookie=cookie_of(response))


def cookie_of(response: Response) -> str:
    """Return the cookie that a response sets, as a browser sends it."""
    [cookie] = header_values(response.headers, "set-cookie")
    return cookie.partition(";")[0]


@pytest.fixture(scope="session")
async def worker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[ManagementWorker, str]]:
    """A worker on a migrated database, and the URL of its superuser; one for the whole run."""
    settings = Settings()
    pools: list[ConnectionPool] = []
    with migrated_server(settings=_SERVER_SETTINGS) as server:
        database = msgspec.structs.replace(settings.db, url=Secret(server.url()))
        # Not the folder of a platform that stands where the tests run.
        backups = msgspec.structs.replace(
            settings.management, backup_folder=str(tmp_path_factory.mktemp("backups"))
        )
        settings = msgspec.structs.replace(settings, db=database, management=backups)
        passwords = login_passwords(settings)

        async def open_pool(login: str) -> ConnectionPool:
            pool = await ConnectionPool.open(url_of(login), 2)
            pools.append(pool)
            return pool

        def url_of(login: str) -> str:
            return server.url(login, passwords[login].reveal())

        database = ManagementDatabase(open_pool, url_of)
        management = ManagementWorker.create(database, settings, PlatformPools(None))
        management.sign_in.keys.clock = lambda: NOW
        yield management, server.url()
        for pool in pools:
            await pool.close()


@pytest.fixture
def visitor(worker: tuple[ManagementWorker, str]) -> Client:
    """A client that is not signed in."""
    return Client(*worker)


@pytest.fixture
async def owner(visitor: Client, request: pytest.FixtureRequest) -> Client:
    """A client of a new owner."""
    return await visitor.signed_in(f"{request.node.name[:100]}@owner.test", Right.OWNER)
