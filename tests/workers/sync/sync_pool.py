"""The service of shapes on a database, a broker and a replication, and a client that keeps rows as the protocol says."""

import asyncio
import json
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from schemas.caller import AnonymousCaller, Caller, ServiceCaller, UserCaller
from schemas.errors import ApiError
from schemas.http import Headers, Request, Response
from schemas.settings.sync import SyncSettings
from schemas.settings.tree import Settings
from schemas.sync import HANDLE, OFFSET
from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.request_context.identity import IdentityResolver
from workers.sync.errors import TokenRejected
from workers.sync.metrics import SyncMetrics
from workers.sync.service import SyncService

ALICE = "a11ce000-0000-4000-8000-000000000001"
BOB = "b0b00000-0000-4000-8000-000000000002"
ANON = AnonymousCaller()
SERVICE = ServiceCaller()
LONGEST_S = 30.0
POLL_S = 0.01
"""Between reads of a client that has nothing new: the service runs on the same event loop."""


def user(subject: str = ALICE, **more: object) -> UserCaller:
    """Return a signed-in caller."""
    return UserCaller(json.dumps({"sub": subject, "role": "authenticated", **more}).encode())


@dataclass
class SyncPoolOfTests:
    """The service with what it works on."""

    replication: ReplicationPool
    service: SyncService
    folder: Path
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def sql(self, text: str, *arguments: object) -> None:
        async with self._writing:
            await self.replication.admin.execute(text, *arguments)

    async def table(self, columns: str, *policies: str, row_security: bool = True) -> str:
        """Create a table in public that all may select; `policies` are expressions for everyone."""
        name = f"t_{uuid.uuid4().hex[:12]}"
        await self.sql(f"create table public.{name} ({columns})")
        await self.sql(f"grant select on public.{name} to anon, authenticated, service_role")
        if row_security:
            await self.sql(f"alter table public.{name} enable row level security")
        for number, policy in enumerate(policies):
            await self.sql(f"create policy p{number} on public.{name} for select using ({policy})")
        return name

    async def ask(
        self,
        query: dict[str, str],
        caller: Caller = SERVICE,
        *,
        method: str = "GET",
        body: bytes = b"",
        path: str = "/shape",
        headers: Headers | None = None,
    ) -> Response:
        """Return the answer to a request, also where it is an error."""
        request = Request(
            "r", method, path, urlencode(query), headers or [], caller=caller, caller_key=str(caller)[:80]
        )
        try:
            return await self.service.worker.answer(request, Inline(body))  # type: ignore[arg-type]  # as Body is read
        except ApiError as error:
            return error.response()

    def client(self, table: str, caller: Caller = SERVICE, **more: str) -> "ShapeClient":
        return ShapeClient(self, {"table": table, **more}, caller)


@dataclass
class ShapeClient:
    """Keeps the rows of a shape as a client does."""

    pool: SyncPoolOfTests
    query: dict[str, str]
    caller: Caller
    handle: str = ""
    offset: str = "-1"
    rows: dict[str, dict[str, str | None]] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    refetches: int = 0
    position: int = 0

    async def step(self) -> bool:
        """Read one part; return whether it ended with up-to-date."""
        query = {**self.query, "offset": self.offset}
        if self.handle and self.offset != "-1":
            query["handle"] = self.handle
        answer = await self.pool.ask(query, self.caller)
        heads = dict(reversed(answer.headers))
        if answer.status == 409:
            self.rows.clear()
            self.handle, self.offset, self.position = "", "-1", 0
            self.refetches += 1
            return False
        assert answer.status == 200, (answer.status, answer.body)
        self.handle, self.offset = heads[HANDLE], heads[OFFSET]
        is_current = False
        for message in msgspec.json.decode(answer.body):
            is_current |= self.take(message)
        return is_current

    def take(self, message: dict[str, object]) -> bool:
        headers = message["headers"]
        assert isinstance(headers, dict)
        if headers.get("control") == "up-to-date":
            position = int(headers["global_last_seen_lsn"])
            assert position >= self.position
            self.position = position
            return True
        if "operation" not in headers:
            return False
        self.messages.append(message)
        key, value = str(message["key"]), message["value"]
        assert isinstance(value, dict)
        if "lsn" in headers:
            assert int(headers["lsn"]) > self.position - 1
        match headers["operation"]:
            case "insert":
                self.rows[key] = value
            case "update":
                self.rows[key] = {**self.rows[key], **value}
            case "delete":
                self.rows.pop(key)
        return False

    async def read(self) -> dict[str, dict[str, str | None]]:
        """Read until up to date; return the rows."""
        while not await self.step():
            pass
        return self.rows

    async def until(self, values: Iterable[object], *columns: str) -> None:
        """Read until some columns (`id` without any) have these values, joined by `/`. Raises: AssertionError with what it had at last."""
        deadline = time.monotonic() + LONGEST_S
        expected = sorted(map(str, values))
        while True:
            rows = (await self.read()).values()
            if sorted("/".join(str(row[name]) for name in columns or ("id",)) for row in rows) == expected:
                return
            assert time.monotonic() < deadline, (self.rows, expected)
            await asyncio.sleep(POLL_S)


def settings_of(**more: object) -> SyncSettings:
    return msgspec.structs.replace(SyncSettings(allow_delete=True), **more)


def _reject(caller: object) -> ApiError:
    return TokenRejected(str(caller))


@asynccontextmanager
async def sync_pool_of(
    replication: ReplicationPool, folder: Path | None = None, settings: SyncSettings | None = None
) -> AsyncIterator[SyncPoolOfTests]:
    """Run the service on a replication; its files stay in `folder`."""
    place = folder or Path(tempfile.mkdtemp(prefix="headwater-test-sync-"))
    identities = IdentityResolver(Settings().api, _reject)
    database = await ConnectionPool.open(replication.values_url, 8)
    service = SyncService(
        replication.broker,
        database,
        place,
        settings or settings_of(),
        lambda: identities,
        lambda _: (),
        SyncMetrics(),
    )
    try:
        await service.open()
        yield SyncPoolOfTests(replication, service, place)
    finally:
        await service.close()
        await database.close()
