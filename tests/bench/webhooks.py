"""Webhooks: how many deliveries a second one receiver gets, and how long after its commit a change arrives.

    python -m tests.bench.webhooks [--rows 5000]
    python -m tests.bench.webhooks --cost [--rows 1000]

`--cost`: processor time of the writer's side (edges, and the sessions of the pools in Postgres) for REST inserts, in 20 pairs without and with
five webhooks that follow the table, in turns.

One platform, one receiver on this machine that answers at once. Rows are inserted by one statement (rate), then one by one (delay, by
the clock of this process from before the insert; so the commit is in it).
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import asyncpg
from aiohttp import web

from tests.bench.cpu import spent
from tests.platform import Platform, platform
from tests.workers.management.operations.conftest import administrator

_SINGLE = 50
_WEBHOOKS, ROUNDS, _CLIENTS = 5, 20, 8


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


async def measure_cost(rows: int) -> None:
    """Measure and print what five webhooks cost a writer."""
    async with counting_receiver() as receiver:
        settings = {"HEADWATER_NET_ALLOW": f"127.0.0.1:{receiver.port}"}
        with platform(environment=settings) as running:
            running.psql(
                "create table public.orders (id bigint generated always as identity primary key, note text);"
                "grant insert on public.orders to service_role; alter publication supabase_realtime add table public.orders"
            )
            running.wait_for_catalog("orders")
            owner = await asyncio.to_thread(administrator, running, "bench", "--rights", "owner", "--write")
            costs: dict[bool, list[float]] = {False: [], True: []}
            await write_rows(running, rows)  # warms up
            for number_of_round in range(ROUNDS):
                for has_webhooks in (False, True) if number_of_round % 2 else (True, False):
                    for number in range(_WEBHOOKS if has_webhooks else 0):
                        wish = {
                            "name": f"bench {number}",
                            "url": f"http://127.0.0.1:{receiver.port}/",
                            "table": "orders",
                        }
                        status, body = await asyncio.to_thread(owner.send, "event_webhooks.add", wish)
                        assert status == 200, body
                    # The table has another trigger now: caches of the schema and plans are made again, which is no cost of a write.
                    before, few = receiver.count, rows // 2 // _CLIENTS * _CLIENTS
                    await write_rows(running, few)
                    await receiver.wait_for(before + (_WEBHOOKS * few if has_webhooks else 0))
                    before = receiver.count
                    costs[has_webhooks].append(await write_rows(running, rows) / rows * 1e6)
                    if has_webhooks:
                        await receiver.wait_for(before + _WEBHOOKS * rows)
                        for number in range(_WEBHOOKS):
                            name = {"name": f"bench {number}"}
                            status, body = await asyncio.to_thread(owner.send, "event_webhooks.remove", name)
                            assert status == 200, body
            print(
                f"CPU of the writer's side for an insert, with {_WEBHOOKS} webhooks to without: {ratio(costs[False], costs[True])}"
            )


def ratio(without: Sequence[float], following: Sequence[float]) -> str:
    """Return the ratio of pairs that were measured in turns, with quartiles, and the medians in microseconds (pure)."""
    ratios = [there / here for here, there in zip(without, following, strict=True)]
    low, _, high = statistics.quantiles(ratios, n=4)
    return (
        f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}) in {len(ratios)} pairs;"
        f" {statistics.median(without):.0f} and {statistics.median(following):.0f} us"
    )


async def write_rows(running: Platform, rows: int) -> float:
    """Insert rows through REST, and return the processor time of the writer's side in seconds."""
    key = running.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}", "prefer": "return=minimal"}
    before = spent(await _writers(running))
    async with aiohttp.ClientSession(headers=headers) as session:

        async def insert(count: int) -> None:
            for _ in range(count):
                async with session.post(f"{running.url}/rest/v1/orders", json={"note": "row"}) as answer:
                    assert answer.status == 201, await answer.text()

        await asyncio.gather(*(insert(rows // _CLIENTS) for _ in range(_CLIENTS)))
    after = spent(await _writers(running))
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())  # sessions come and go


async def _writers(running: Platform) -> dict[int, str]:
    """Return the process ids, and groups, of the edges and of the pools' sessions in Postgres."""
    state = json.loads((running.data / "state.json").read_text())
    edges = [int(child["pid"]) for child in state["children"] if child["name"] == "edges"]
    connection = await asyncpg.connect(running.login_url("authenticator"))
    try:
        sessions = await connection.fetch(
            "select pid from pg_stat_activity where usename = 'authenticator' and pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()
    return dict.fromkeys(edges, "edge") | {int(row[0]): "postgres" for row in sessions}


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--cost", action="store_true", help="what five webhooks cost a writer")
    arguments = parser.parse_args()
    asyncio.run((measure_cost if arguments.cost else measure)(arguments.rows))


if __name__ == "__main__":
    main()
