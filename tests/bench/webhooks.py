"""Webhooks: how many deliveries a second one receiver gets, and how long after its commit a change arrives.

    python -m tests.bench.webhooks [--rows 5000]

One platform, one receiver on this machine that answers at once. Rows are inserted by one statement (rate), then one by one (delay, by
the clock of this process from before the insert; so the commit is in it).
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.platform import platform
from tests.workers.management.operations.conftest import administrator

_SINGLE = 50


@dataclass(slots=True)
class CountingReceiver:
    """Counts requests; `port` is its own."""

    port: int = 0
    count: int = 0
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, count: int) -> None:
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.count >= count)


@asynccontextmanager
async def counting_receiver() -> AsyncIterator[CountingReceiver]:
    made = CountingReceiver()

    async def take(request: web.Request) -> web.Response:
        await request.read()
        async with made.arrived:
            made.count += 1
            made.arrived.notify_all()
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # of a server that runs
    yield made
    await runner.cleanup()


async def measure(rows: int) -> None:
    """Measure and print."""
    async with counting_receiver() as receiver:
        settings = {"HEADWATER_NET_ALLOW": f"127.0.0.1:{receiver.port}"}
        with platform(environment=settings) as running:
            running.psql(
                "create table public.orders (id bigint generated always as identity primary key, note text)"
            )
            owner = await asyncio.to_thread(administrator, running, "bench", "--rights", "owner", "--write")
            wish = {
                "name": "bench",
                "url": f"http://127.0.0.1:{receiver.port}/",
                "table": "orders",
                "events": ["insert"],
            }
            status, body = await asyncio.to_thread(owner.send, "event_webhooks.add", wish)
            assert status == 200, body
            began = time.monotonic()
            await asyncio.to_thread(
                running.psql, f"insert into public.orders (note) select 'row' from generate_series(1, {rows})"
            )
            committed = time.monotonic()
            await receiver.wait_for(rows)
            ended = time.monotonic()
            print(
                f"{rows} events: {rows / (ended - committed):.0f} a second ({committed - began:.2f} s to insert)"
            )
            delays = []
            for number in range(_SINGLE):
                began = time.monotonic()
                await asyncio.to_thread(running.psql, "insert into public.orders (note) values ('one')")
                await receiver.wait_for(rows + number + 1)
                delays.append((time.monotonic() - began) * 1000)
            print(
                f"one event: {statistics.median(delays):.0f} ms (p50) from before `psql -c insert` to the receiver"
            )


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5000)
    asyncio.run(measure(parser.parse_args().rows))


if __name__ == "__main__":
    main()
