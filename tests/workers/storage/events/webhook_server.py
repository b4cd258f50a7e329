"""A webhook on the loopback address that can be told what to answer, and can go away and come back on its port."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Post:
    """What arrived."""

    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["event"]
        return found


class WebhookServer:
    """Takes posts; `status` is what it answers."""

    def __init__(self) -> None:
        self.status = 200
        self.posts: asyncio.Queue[Post] = asyncio.Queue()
        self.port = 0
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/events?token=hidden"

    async def start(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._answer))
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def next(self) -> Post:
        return await asyncio.wait_for(self.posts.get(), PATIENCE_S)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        assert (request.method, request.path_qs) == ("POST", "/events?token=hidden")
        self.posts.put_nowait(Post(request.headers, json.loads(await request.read())))
        return web.Response(status=self.status)
