"""Subscribers 1 -> 1,000 -> 20,000 (or as many as a process may open files): memory and CPU of a socket, of a broadcast and of a row change."""

import argparse
import asyncio
import resource
import time

import asyncpg
import uvloop

from tests.bench import realtime_rooms
from tests.bench.growth.slope import Growth, add
from tests.bench.realtime import Bench, clients, write
from tests.bench.table import Figures
from tests.broker.server import running_server
from tests.platform import MANY_CLIENTS, platform

SETTINGS = {
    **MANY_CLIENTS,
    "HEADWATER_GATEWAY_MAX_CONNECTIONS": "0",
    "HEADWATER_REALTIME_MAX_JOINS_PER_SECOND": "1000000",
    "HEADWATER_REALTIME_IDLE_TIMEOUT": "600",
}
_ROOMS, _LISTENERS, _MOST = (1, 1000), (1, 100, 1000), 20_000
_OTHER_FILES = 500
_CHANGES = 500
_WRITERS, _ROWS_OF_A_WRITER = 16, 500


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Measure rooms on a gateway alone, then row changes through a whole platform."""
    del options
    uvloop.run(_rooms(figures, _most_sockets()))
    with platform(environment=SETTINGS) as one:
        uvloop.run(_changes(Bench(one, None, figures), figures))  # type: ignore[arg-type]  # connected inside


def _most_sockets() -> int:
    """Return 20,000, or as many sockets as the system lets a process open: `ulimit -Hn`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _MOST if hard == resource.RLIM_INFINITY else min(_MOST, hard - _OTHER_FILES)


async def _rooms(figures: Figures, most: int) -> None:
    delivery = []
    async with running_server() as server:
        async with realtime_rooms.gateway(server.url, SETTINGS) as (process, port):
            opening, memory, resting = await realtime_rooms.idle(process, port, most)
        async with realtime_rooms.gateway(server.url, SETTINGS) as (process, port):
            for count in (*_ROOMS, most):
                cost = await realtime_rooms.fan_out(process, port, count, max(20_000 // count, 20))
                delivery.append((count, cost))
    figures.add("sockets that were open at once", most // 100 * 100, "")
    figures.add("socket: CPU to open and join", opening, "us")
    figures.add("socket: memory", memory, "KiB")
    figures.add("socket: CPU a second at rest", resting, "us")
    add(figures, Growth("broadcast: CPU of the edge for a delivery", "subscribers", "us", delivery))


async def _changes(bench: Bench, figures: Figures) -> None:
    """Write rows one a transaction; CPU of each process for a change, by the number of sockets that receive it."""
    bench.database = await asyncpg.connect(bench.running_platform.values["DB_URL"])
    groups: dict[str, list[tuple[float, float]]] = {"edge": [], "worker": [], "nats": [], "postgres": []}
    rates = []
    for count in _LISTENERS:
        table, expected = await bench.table(), count * _CHANGES
        port, tokens = bench.running_platform.port, bench.anonymous(count)
        async with clients(bench.running_platform, port, table, tokens, expected) as listening:
            with bench.used() as used:
                began = time.perf_counter()
                await write(bench, table, 1, _CHANGES)
                await listening.heard()
            if len(listening.rows) != expected:
                raise SystemExit(f"{len(listening.rows)} of {expected} deliveries came")
            rates.append((count, expected / (max(listening.times) - began)))
        for group, points in groups.items():
            points.append((count, used.get(group, 0.0) / _CHANGES * 1e6))
    for group, points in groups.items():
        add(figures, Growth(f"row change: CPU of {group}", "subscribers", "us", points))
    add(figures, Growth("row changes: deliveries", "subscribers", "/s", rates))
    await _many_writers(bench, figures)
    await bench.database.close()


async def _many_writers(bench: Bench, figures: Figures) -> None:
    """Insert rows on 16 connections at once, one a transaction: what a change costs beyond its insert, with one subscriber."""
    published, plain, first = await bench.table(), await bench.table(), await bench.table()
    await bench.database.execute(f"alter publication supabase_realtime drop table {plain}, {first}")
    await _insert_at_once(bench, first)  # caches and files grow before anything is measured
    port, tokens = bench.running_platform.port, bench.anonymous(1)
    count = _WRITERS * _ROWS_OF_A_WRITER
    with bench.used() as inserts:
        await _insert_at_once(bench, plain)
    async with clients(bench.running_platform, port, published, tokens, count) as listening:
        with bench.used() as changes:
            began = time.perf_counter()
            await _insert_at_once(bench, published)
            await listening.heard()
    if len(listening.rows) != count:
        raise SystemExit(f"{len(listening.rows)} of {count} changes came")
    for group in ("edge", "worker", "nats", "postgres"):
        cost = (changes.get(group, 0.0) - inserts.get(group, 0.0)) / count * 1e6
        figures.add(f"row change of 16 writers: CPU of {group}", max(0.0, cost), "us")
        print(f"row change of 16 writers, beyond its insert: {cost:.0f} us CPU of {group}", flush=True)
    figures.add("row changes of 16 writers: rate", count / (max(listening.times) - began), "/s")


async def _insert_at_once(bench: Bench, table: str) -> None:
    url = bench.running_platform.values["DB_URL"]
    connections = await asyncio.gather(*(asyncpg.connect(url) for _ in range(_WRITERS)))

    async def insert(number: int) -> None:
        statement = await connections[number].prepare(f"insert into {table} (id, body) values ($1, 'a text')")
        first = number * _ROWS_OF_A_WRITER
        for key in range(first, first + _ROWS_OF_A_WRITER):
            await statement.fetch(key)

    await asyncio.gather(*(insert(number) for number in range(_WRITERS)))
    for connection in connections:
        await connection.close()
