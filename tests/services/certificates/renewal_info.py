"""An authority that tells when to renew (RFC 9773), which Debian's Pebble cannot: its directory with `renewalInfo`, answered here."""

import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.ports import free_port
from tests.services.certificates.pebble import Pebble


@dataclass
class RenewalInfo:
    """What is answered: a window in seconds from now, or an error; and which certificates were asked for."""

    starts_in_s: float = 40 * 86400.0
    ends_in_s: float = 41 * 86400.0
    retry_after: str = "21600"
    fault: int = 0
    asked: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def telling_when(pebble: Pebble, info: RenewalInfo) -> AsyncIterator[Pebble]:
    """Serve the directory of an authority with an address for renewal information."""
    port = free_port()

    async def directory(_request: web.Request) -> web.Response:
        async with aiohttp.ClientSession() as client, client.get(pebble.directory, ssl=False) as answer:
            return web.json_response(
                {**await answer.json(), "renewalInfo": f"https://127.0.0.1:{port}/renewal-info"}
            )

    async def renewal_info(request: web.Request) -> web.Response:
        info.asked.append(request.match_info["certificate"])
        if info.fault:
            return web.json_response({"detail": "no time for it"}, status=info.fault)
        window = {
            name: datetime.fromtimestamp(time.time() + offset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            for name, offset in (("start", info.starts_in_s), ("end", info.ends_in_s))
        }
        return web.json_response({"suggestedWindow": window}, headers={"Retry-After": info.retry_after})

    application = web.Application()
    application.router.add_get("/dir", directory)
    application.router.add_get("/renewal-info/{certificate}", renewal_info)
    runner = web.AppRunner(application)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pebble.ca_file, Path(pebble.ca_file).with_name("key.pem"))
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    try:
        yield replace(pebble, directory=f"https://127.0.0.1:{port}/dir")
    finally:
        await runner.cleanup()
