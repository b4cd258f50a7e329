"""A reverse proxy that serves a platform below a path and removes the path, as nginx and Caddy are often configured."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, web

_HOP_BY_HOP = {"transfer-encoding", "connection", "content-encoding", "content-length", "keep-alive"}


@asynccontextmanager
async def proxy_below(target: str, prefix: str) -> AsyncIterator[str]:
    """Run a proxy; yields the address under which the platform is reached through it."""
    async with ClientSession(auto_decompress=True) as client:

        async def forward(request: web.Request) -> web.Response:
            headers = {
                name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP
            }
            path = request.raw_path.removeprefix(prefix)
            async with client.request(
                request.method,
                target + path,
                headers=headers,
                data=await request.read(),
                allow_redirects=False,
            ) as answer:
                kept = [
                    (name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP
                ]
                return web.Response(status=answer.status, body=await answer.read(), headers=kept)

        application = web.Application()
        application.router.add_route("*", prefix + "/{rest:.*}", forward)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}{prefix}"
        finally:
            await runner.cleanup()
