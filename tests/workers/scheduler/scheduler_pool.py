"""What the tests of the scheduler share: their database, a service to send to, and waiting for what is to come."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
from aiohttp import web

from schemas.settings.tree import Settings
from tests.workers.database.server import Server
from workers.scheduler.pool import SchedulerCandidate

PASSWORD = Settings().db.password.reveal()


class SchedulerPool:
    """A database with its schedulers."""

    admin: asyncpg.Connection
    """The superuser's connection."""
    project: asyncpg.Connection
    """A connection of role postgres."""

    def __init__(self, server: Server, name: str, nats_url: str) -> None:
        self.server, self.name, self.nats_url = server, name, nats_url
        self.schedulers: list[SchedulerCandidate] = []

    def url(self, role: str) -> str:
        return self.server.url(role, PASSWORD, self.name)

    async def close(self) -> None:
        while self.schedulers:
            await self.schedulers.pop().close()

    async def run_of(self, job: str) -> asyncpg.Record:
        """Give the first run of a job, once it has ended."""
        rows = await self.until(
            "select * from cron.job_run_details join cron.job using (jobid) where jobname = $1 and end_time is not null"
            " order by runid",
            job,
        )
        return rows[0]

    async def until(self, query: str, *values: object) -> list[asyncpg.Record]:
        """Ask until there is a row."""
        async with asyncio.timeout(30):
            while not (rows := await self.admin.fetch(query, *values)):
                await asyncio.sleep(0.02)
        return list(rows)


class Service:
    """What a server on loopback was asked, and what it answers by path."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, dict[str, str], bytes]] = []
        self.hang = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.heard.append((request.method, request.path_qs, dict(request.headers), await request.read()))
        match request.path:
            case "/hang":
                await self.hang.wait()
            case "/long":
                return web.Response(body=b"x" * 5000)
            case "/nul":
                return web.Response(body=b"a\0b\xff", content_type="application/octet-stream")
            case "/to-metadata":
                return web.Response(status=307, headers={"location": "http://169.254.169.254/latest"})
            case "/to-echo":
                return web.Response(status=307, headers={"location": "/echo"})
        return web.json_response({"path": request.path})

    def bodies(self) -> list[Any]:
        return [json.loads(body) for *_, body in self.heard]


@contextlib.asynccontextmanager
async def running_service() -> AsyncIterator[Service]:
    """Give a running service."""
    one = Service()
    runner = web.ServerRunner(web.Server(one.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    one.port = runner.addresses[0][1]
    yield one
    one.hang.set()
    await runner.cleanup()
