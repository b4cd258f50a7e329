"""Roles 1 -> 50 -> 200: requests of many roles in turn."""

import argparse
import asyncio

import asyncpg
import jwt

from tests.bench import cpu
from tests.bench.growth.slope import Growth, add
from tests.bench.load import drive, http
from tests.bench.rest import prepare
from tests.bench.table import Figures, medians, run
from tests.platform import Platform, platform

_COUNTS = (1, 50, 200)


async def _make(one: Platform) -> None:
    connection = await asyncpg.connect(one.values["DB_URL"])
    for number in range(max(_COUNTS)):
        await connection.execute(
            f"create role bench_{number} nologin; grant bench_{number} to authenticator;"
            f" grant usage on schema public to bench_{number}; grant select on public.items to bench_{number}"
        )
    await connection.close()


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Read by key as one role, as 50 and as 200 in turn."""
    with platform() as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        asyncio.run(_make(one))
        one.wait_for_catalog("items")
        address, cost, rate, memory = ("127.0.0.1", one.port), [], [], []
        for count in _COUNTS:
            requests = [_request(one, f"bench_{n % count}", n % 2000 + 1) for n in range(max(_COUNTS))]
            drive(address, requests, 32, 1.0)
            line = medians([run(one, address, requests, 32, options.seconds) for _ in range(options.repeat)])
            cost.append((count, line.cpu_ms))
            rate.append((count, line.per_second))
            memory.append((count, cpu.resident_mb([one.pid])["worker"]))
        add(figures, Growth("by_pk at 32 of roles in turn: CPU", "roles", "ms", cost))
        add(figures, Growth("by_pk at 32 of roles in turn: rate", "roles", "/s", rate))
        add(figures, Growth("memory of workers", "roles", "MB", memory))


def _request(one: Platform, role: str, key: int) -> bytes:
    token = jwt.encode({"role": role}, one.values["JWT_SECRET"], algorithm="HS256")
    headers = {"apikey": one.values["ANON_KEY"], "Authorization": f"Bearer {token}"}
    return http("GET", f"/rest/v1/items?id=eq.{key}", f"127.0.0.1:{one.port}", headers)
