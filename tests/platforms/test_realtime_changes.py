"""Row changes through a whole platform: Postgres, its log, the stream, the edge, and clients on HTTP.

Every committed change reaches every entitled client that resumes, in order, none twice; no row reaches a client that may
not read it, however policies change meanwhile.
"""

import asyncio
import contextlib
import os
import random
import signal
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import asyncpg
import msgspec
import pytest
import pytest_asyncio

from tests.platform import Platform
from tests.platforms.conftest import pid_of, token

PATIENCE_S = 60


@dataclass
class Client:
    """A client that comes back where it was, whatever happens to its connection."""

    running_platform: Platform
    table: str
    bearer: str
    query: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)
    gaps: int = 0
    position: str = ""
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    subscribed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ids(self) -> list[int]:
        return [(each.get("record") or each["old_record"])["id"] for each in self.changes]

    async def run(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
                async with aiohttp.ClientSession() as session:
                    await self._follow(session)
            await asyncio.sleep(0.1)

    async def until(self, id: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while id not in self.ids[-200:]:
                self.heard.clear()
                await self.heard.wait()

    async def count(self, number: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.changes) < number:
                self.heard.clear()
                await self.heard.wait()

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        headers = {
            "apikey": self.running_platform.values["ANON_KEY"],
            "Authorization": f"Bearer {self.bearer}",
        }
        if self.position:
            headers["Last-Event-ID"] = self.position
        url = f"{self.running_platform.url}/realtime/v1/changes?table={self.table}{self.query}"
        async with session.get(url, headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as answer:
            if answer.status != 200:
                return
            event: dict[str, str] = {}
            async for raw in answer.content:
                name, _, value = raw.decode().rstrip("\n").partition(":")
                if name:
                    event[name] = value.removeprefix(" ")
                else:
                    self._take(event)
                    event = {}

    def _take(self, event: dict[str, str]) -> None:
        self.position = event.get("id", self.position)
        match event.get("event", "message" if "data" in event else ""):
            case "subscribed":
                self.subscribed.set()
            case "gap":
                self.gaps += 1
            case "message":
                self.changes.append(msgspec.json.decode(event["data"]))
        self.heard.set()


@pytest_asyncio.fixture
async def database(running_platform: Platform) -> AsyncIterator[asyncpg.Connection]:
    """A connection as the owner of the project's tables."""
    connection = await asyncpg.connect(running_platform.values["DB_URL"])
    yield connection
    await connection.close()


@contextlib.asynccontextmanager
async def following(*clients: Client) -> AsyncIterator[None]:
    """Let clients follow until the end of the block."""
    tasks = [asyncio.ensure_future(client.run()) for client in clients]
    try:
        async with asyncio.timeout(PATIENCE_S):
            for client in clients:
                await client.subscribed.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def published(database: asyncpg.Connection, policy: str | None) -> str:
    """Make a published table with row security; give its name."""
    name = f"changes_{uuid.uuid4().hex[:10]}"
    await database.execute(
        f"create table public.{name} (id bigint primary key, owner uuid, body text default 'b');"
        f"alter table public.{name} enable row level security;"
        f"grant select on public.{name} to anon, authenticated;"
        f"alter publication supabase_realtime add table public.{name};"
    )
    if policy is not None:
        await database.execute(
            f"create policy p on public.{name} for select to authenticated using ({policy})"
        )
    return name


@pytest.mark.parametrize(
    "policy",
    [
        "owner = auth.uid()",
        "exists (select from pg_catalog.pg_class) and owner::text = (select auth.jwt() ->> 'sub')",
    ],
)
async def test_each_user_gets_their_own_rows(
    running_platform: Platform, database: asyncpg.Connection, policy: str
) -> None:
    table = await published(database, policy)
    users = [str(uuid.uuid4()), str(uuid.uuid4())]
    clients = [Client(running_platform, table, token(running_platform, sub=user)) for user in users]

    async with following(*clients):
        for number in range(40):
            await database.execute(f"insert into {table} values ($1, $2)", number, users[number % 2])
        for (
            client
        ) in clients:  # what only SQL knows is judged by the present state: a row that is gone is not shown
            await client.count(20)
        await database.execute(f"update {table} set body = 'new' where id < 4")
        for client in clients:
            await client.count(22)
        await database.execute(f"delete from {table} where id = 0")
        for client in clients:
            await client.count(23)

    for number, client in enumerate(clients):
        assert client.ids == [*range(number, 40, 2), number, number + 2, 0]
        assert client.changes[-1]["old_record"] == {"id": 0}


async def test_no_row_comes_after_a_policy_was_closed_under_load(
    running_platform: Platform, database: asyncpg.Connection
) -> None:
    user = str(uuid.uuid4())
    rules = ["owner = auth.uid()", "true", "id % 1 = 0", "owner = auth.uid() and body <> ''"]
    tables = [await published(database, rule) for rule in rules]
    bearer = token(running_platform, sub=user)
    clients = [Client(running_platform, table, bearer) for table in tables]
    closed_at = {table: random.randrange(40, 120) for table in tables}

    async with following(*clients):
        for number in range(160):
            for table in tables:
                if number == closed_at[table]:
                    await database.execute(f"alter policy p on {table} using (owner = '{uuid.uuid4()}')")
                if number == closed_at[table] + 20:
                    await database.execute(
                        f"alter policy p on {table} using (owner = auth.uid() and body = 'open')"
                    )
                body = "open" if number == 159 else "b"
                await database.execute(f"insert into {table} values ($1, $2, $3)", number, user, body)
        for client in clients:
            await client.until(159)

    for client in clients:
        closed = closed_at[client.table]
        before = [id for id in client.ids if id != 159]
        assert before == sorted(set(before))
        assert all(id < closed for id in before)
        assert client.gaps == 0


async def test_all_rows_come_after_a_policy_was_opened_under_load(
    running_platform: Platform, database: asyncpg.Connection
) -> None:
    user = str(uuid.uuid4())
    tables = [await published(database, None) for _ in range(3)]
    clients = [Client(running_platform, table, token(running_platform, sub=user)) for table in tables]

    async with following(*clients):
        for number in range(90):
            for place, table in enumerate(tables):
                if number == 30 + 10 * place:
                    await database.execute(
                        f"create policy p on {table} for select to authenticated using (owner = auth.uid())"
                    )
                await database.execute(f"insert into {table} values ($1, $2)", number, user)
        for client in clients:
            await client.until(89)

    for place, client in enumerate(clients):
        begin = 30 + 10 * place
        assert [id for id in client.ids if id >= begin] == list(range(begin, 90))
        assert client.ids == sorted(set(client.ids))


@pytest.mark.parametrize("part", ["edges", "nats", "changes"])
async def test_who_resumes_misses_nothing_when_a_part_dies(
    running_platform: Platform, database: asyncpg.Connection, part: str
) -> None:
    table = await published(database, "owner = auth.uid()")
    users = [str(uuid.uuid4()) for _ in range(3)]
    clients = [Client(running_platform, table, token(running_platform, sub=user)) for user in users]

    async with following(*clients):
        for number in range(600):
            if number in (150, 400):
                os.kill(pid_of(running_platform, part), signal.SIGKILL)
            await database.execute(f"insert into {table} values ($1, $2)", number, users[number % 3])
            if number % 10 == 0:
                await asyncio.sleep(0.01)
        for place, client in enumerate(clients):
            await client.until(597 + place)

    for place, client in enumerate(clients):
        assert client.gaps == 0
        assert client.ids == list(range(place, 600, 3))
