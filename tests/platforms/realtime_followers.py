"""A client of row changes over a socket that comes back where it was, and what the tests with faults need beside it."""

import asyncio
import contextlib
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import asyncpg

from tests.platform import Platform

PATIENCE_S = 90
_BEAT_S = 15
_FAULTS = (aiohttp.ClientError, ConnectionError, TimeoutError)
_DATABASE_FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


@dataclass
class Follower:
    """Joins a channel with one entry of row changes; after every broken socket it resumes after the last change."""

    running_platform: Platform
    entry: dict[str, Any]
    bearer: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    joins: int = 0
    endings: list[int | None] = field(default_factory=list)
    """Close codes of the sockets that ended."""
    position: str = ""
    is_live: asyncio.Event = field(default_factory=asyncio.Event)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    socket: aiohttp.ClientWebSocketResponse | None = None

    @property
    def ids(self) -> list[int]:
        """Give the ids of the rows, in the order of their changes."""
        return [(each.get("record") or each["old_record"])["id"] for each in self.changes]

    async def run(self) -> None:
        """Follow, again and again."""
        async with aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(*_FAULTS):
                    await self._follow(session)
                self.socket = None
                self.is_live.clear()
                await asyncio.sleep(0.05)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds that changes with what is heard."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():
                    self.heard.clear()
                    await self.heard.wait()
        except TimeoutError:
            raise AssertionError(f"{what}: {len(self.changes)} changes, {self.errors[-3:]}") from None

    async def hang_up(self) -> None:
        """Break the connection, if there is one, without a word."""
        if self.socket is not None and self.socket._response.connection is not None:
            transport = self.socket._response.connection.transport
            if transport is not None:
                transport.abort()

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        key = self.running_platform.values["ANON_KEY"]
        url = f"{self.running_platform.url}/realtime/v1/websocket?vsn=2.0.0&apikey={key}"
        async with session.ws_connect(url, timeout=aiohttp.ClientWSTimeout(ws_close=2)) as self.socket:
            config: dict[str, Any] = {"postgres_changes": [self.entry]}
            if self.position:
                config["resume"] = self.position
            payload = {"config": config, "access_token": self.bearer or key}
            await self.socket.send_json(["1", "1", "realtime:follower", "phx_join", payload])
            self.joins += 1
            beating = asyncio.ensure_future(self._beat())
            try:
                async for message in self.socket:
                    if message.type is aiohttp.WSMsgType.TEXT:
                        self._take(*json.loads(message.data)[3:])
                        self.heard.set()
            finally:
                beating.cancel()
                self.endings.append(self.socket.close_code)

    async def _beat(self) -> None:
        """Give signs of life, as every client must: a silent socket is closed after a minute."""
        with contextlib.suppress(*_FAULTS):
            while True:
                await asyncio.sleep(_BEAT_S)
                await self.socket.send_json([None, "beat", "phoenix", "heartbeat", {}])

    def _take(self, event: str, payload: dict[str, Any]) -> None:
        if event == "postgres_changes":
            self.changes.append(payload["data"])
            self.position = payload["data"]["position"]
        elif event == "system" and payload["status"] == "ok":
            if "position" in payload:  # not in the last words of an edge that drains
                self.position = payload["position"]
                self.is_live.set()
        elif event == "system" and payload["message"].startswith("gap: "):
            self.gaps.append(payload["message"])
        elif event == "system":
            self.errors.append(payload["message"])


@contextlib.asynccontextmanager
async def following(*followers: Follower) -> AsyncIterator[None]:
    """Let followers follow until the end of the block; all are live at its beginning."""
    tasks = [asyncio.ensure_future(each.run()) for each in followers]
    try:
        async with asyncio.timeout(PATIENCE_S):
            for each in followers:
                await each.is_live.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def kill(running_platform: Platform, *parts: str) -> None:
    """Kill parts of the platform, all at once; one that is being started again is waited for first."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            children = {
                child["name"]: child
                for child in json.loads((running_platform.data / "state.json").read_text())["children"]
            }
            if all(children[part]["status"] == "running" for part in parts):
                break
            await asyncio.sleep(0.02)
    for part in parts:
        os.kill(children[part]["pid"], signal.SIGKILL)


@dataclass
class Writer:
    """Writes to a database that may go away: what was acknowledged is there, what was underway is there or not."""

    url: str
    connection: asyncpg.Connection | None = None

    async def run(self, sql: str, *arguments: object) -> bool:
        """Run a statement; tell whether it was acknowledged. One that was not is not repeated."""
        if self.connection is None or self.connection.is_closed():
            self.connection = await patiently(lambda: asyncpg.connect(self.url, timeout=60))
        try:
            await self.connection.execute(sql, *arguments, timeout=60)
        except _DATABASE_FAULTS:
            self.connection.terminate()
            return False
        return True

    async def fetch(self, sql: str) -> list[int]:
        """Give the first column of a query."""
        await self.run("select 1")
        assert self.connection is not None
        return [row[0] for row in await self.connection.fetch(sql)]

    async def close(self) -> None:
        """Close its connection."""
        if self.connection is not None:
            await self.connection.close()


async def patiently(attempt: Callable[[], Awaitable[Any]]) -> Any:
    """Try what needs the database until it succeeds."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await attempt()
            except _DATABASE_FAULTS:
                await asyncio.sleep(0.05)


async def published(writer: Writer, *, policy: str = "", extra: str = "") -> str:
    """Make a published table that everybody may read, or whom a policy lets; give its name."""
    name = f"followers_{uuid.uuid4().hex[:10]}"
    await patiently_run(
        writer,
        f"create table public.{name} (id bigint primary key, owner uuid, body text{extra});"
        f"grant select on public.{name} to anon, authenticated;"
        f"alter publication supabase_realtime add table public.{name};"
        + (
            f"alter table public.{name} enable row level security;"
            f"create policy p on public.{name} for select to authenticated using ({policy});"
            if policy
            else f"alter table public.{name} disable row level security;"
        ),
    )
    return name


async def patiently_run(writer: Writer, sql: str) -> None:
    """Run statements that have to succeed."""
    assert await writer.run(sql), "the database refused a statement of the test"
