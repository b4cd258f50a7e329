"""A hook service on loopback: it verifies every call as a receiver would, and answers what a test wants."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from standardwebhooks import Webhook

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
SECRETS = f"v1,{KEY}"


@dataclass
class HookService:
    """What came, and what is answered next; `answers` go first, then `usual`."""

    url: str = ""
    heard: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    answers: list[Callable[[], web.Response]] = field(default_factory=list)
    usual: Callable[[], web.Response] = field(default=lambda: web.json_response({}))
    hang: asyncio.Event | None = None
    breaks: int = 0
    """Connections that are broken off before an answer."""

    def says(self, value: object, status: int = 200, **more: Any) -> None:
        """Answer every call with a value."""
        self.usual = lambda: web.json_response(value, status=status, **more)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        self.ids.append(request.headers["webhook-id"])
        if self.breaks:
            self.breaks -= 1
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        assert request.content_type == "application/json"
        self.heard.append(Webhook(KEY).verify(text, dict(request.headers)))
        assert self.heard[-1] == json.loads(text)
        if self.hang is not None:
            await self.hang.wait()
        return (self.answers.pop(0) if self.answers else self.usual)()


@asynccontextmanager
async def served(answer: Any, path: str = "/hook") -> AsyncIterator[str]:
    """Serve a handler at a free port of loopback; give its URL."""
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
    finally:
        await runner.cleanup()
