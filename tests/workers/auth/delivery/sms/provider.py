"""A stand-in of an SMS provider: records what it is asked, and answers what it is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web


@dataclass
class ProviderRequest:
    """One request."""

    method: str
    path: str
    authorization: str
    form: dict[str, str]


@dataclass
class Provider:
    """The requests so far, and the answer to the next ones."""

    url: str = ""
    asked: list[ProviderRequest] = field(default_factory=list)
    status: int = 200
    body: object = field(default_factory=dict)

    def answers(self, status: int, body: object) -> None:
        """Set the answer: an object is sent as JSON, a text as it is."""
        self.status, self.body = status, body

    async def handle(self, request: web.Request) -> web.Response:
        """Record a request and answer it."""
        assert request.content_type == "application/x-www-form-urlencoded"
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.asked.append(
            ProviderRequest(request.method, request.raw_path, request.headers.get("authorization", ""), form)
        )
        if isinstance(self.body, str):
            return web.Response(status=self.status, text=self.body, headers={"location": "/elsewhere"})
        return web.json_response(self.body, status=self.status)


@asynccontextmanager
async def running_provider() -> AsyncIterator[tuple[Provider, aiohttp.ClientSession]]:
    """Run a stand-in, with a session to ask it."""
    provider = Provider()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", provider.handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with aiohttp.ClientSession() as session:
            yield provider, session
    finally:
        await runner.cleanup()
