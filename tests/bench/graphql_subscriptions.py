"""Live queries of GraphQL through a whole platform: many on one table that is written to without a pause.

    python -m tests.bench.graphql_subscriptions [--queries 200] [--seconds 8]

    equal       all ask for the same: one run serves all
    different   each asks for rows of its own

Printed: writes a second beside those without any subscription, runs and results a second, milliseconds from a write's answer
to the result that shows it (of the equal queries), CPU by group. Platform, writer and client share this machine.
"""

import argparse
import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from tests.bench import cpu
from tests.platform import MANY_CLIENTS, Platform, platform
from tests.platforms.graphql_socket import Talk, admitted

_A_SOCKET = 100
_SCHEMA = """
create table tick (id int primary key, kind int not null, n bigint not null);
create index on tick (kind);
insert into tick select n, n % 200, 0 from generate_series(1, 2000) n;
grant select on tick to anon; alter table tick disable row level security;
alter publication supabase_realtime add table tick;
comment on table tick is '@graphql({"aggregate": {"enabled": true}})';
"""
_EQUAL = "subscription { tickCollection(filter: {kind: {eq: 1}}) { aggregate { max { n } } } }"
_DIFFERENT = "subscription($k: Int) { tickCollection(filter: {kind: {eq: $k}}) { aggregate { max { n } } } }"


@dataclass
class ReceivedResults:
    """Results as they came: when, and the value in them."""

    times: list[float] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def take(self, told: dict[str, Any]) -> None:
        """Note a result."""
        if told["type"] == "next":
            self.times.append(time.perf_counter())
            found = told["payload"]["data"]["tickCollection"]["aggregate"]["max"]["n"]
            self.values.append(int(found or 0))


class _Listed(list[dict[str, Any]]):
    """A list that tells what is appended."""

    def __init__(self, told: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._told = told

    def append(self, each: dict[str, Any]) -> None:
        super().append(each)
        self._told(each)


@contextlib.asynccontextmanager
async def live(
    running_platform: Platform, queries: int, *, are_equal: bool
) -> AsyncIterator[ReceivedResults]:
    """Open live queries; all have their first result at the beginning of the block."""
    heard = ReceivedResults()
    async with contextlib.AsyncExitStack() as stack:
        talks: list[Talk] = []
        for first in range(0, queries, _A_SOCKET):
            talk = await stack.enter_async_context(admitted(running_platform))
            talk.messages = _Listed(heard.take)
            talks.append(talk)
            for number in range(first, min(first + _A_SOCKET, queries)):
                variables: dict[str, object] | None = None if are_equal else {"k": number}
                await talk.subscribe(str(number), _EQUAL if are_equal else _DIFFERENT, variables)
        async with asyncio.timeout(60):
            while len(heard.times) < queries:
                await asyncio.sleep(0.01)
        yield heard


async def write(database: asyncpg.Connection, seconds: float) -> dict[int, float]:
    """Update rows one by one; give when each value was acknowledged."""
    answered: dict[int, float] = {}
    until, number = time.perf_counter() + seconds, int(time.time() * 1000)
    while time.perf_counter() < until:
        number += 1
        await database.execute("update tick set n = $1 where id = $2", number, number % 2000 + 1)
        answered[number] = time.perf_counter()
    return answered


async def measure(
    running_platform: Platform, database: asyncpg.Connection, queries: int, seconds: float
) -> None:
    """Print a line for each way."""
    alone = len(await write(database, seconds)) / seconds
    print(f"no subscription: {alone:7,.0f} writes/s", flush=True)
    for label, are_equal in (("equal", True), ("different", False)):
        async with live(running_platform, queries, are_equal=are_equal) as heard:
            before, runs = len(heard.times), _metric(running_platform, "headwater_graphql_live_runs")
            pids = cpu.groups_of([running_platform.pid])
            spent = cpu.spent(pids)
            answered = await write(database, seconds)
            used = cpu.difference(spent, cpu.spent(pids), pids)
            results = len(heard.times) - before
            runs = _metric(running_platform, "headwater_graphql_live_runs") - runs
            await asyncio.sleep(0.5)
        delays = sorted(
            (at - answered[value]) * 1000
            for at, value in zip(heard.times, heard.values, strict=True)
            if value in answered
        )
        groups = "  ".join(f"{name} {value / seconds:.2f}" for name, value in sorted(used.items()))
        print(
            f"{queries} {label:9}: {len(answered) / seconds:7,.0f} writes/s  {runs / seconds:6,.0f} runs/s"
            f"  {results / seconds:7,.0f} results/s  p50 {statistics.median(delays):5.0f} ms"
            f"  p99 {delays[int(len(delays) * 0.99)]:5.0f} ms   CPU (cores): {groups}",
            flush=True,
        )


def _metric(running_platform: Platform, name: str) -> float:
    _, body = running_platform.metrics()
    return sum(float(line.rpartition(" ")[2]) for line in body.decode().splitlines() if line.startswith(name))


async def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8)
    asked = parser.parse_args()
    with platform(environment=MANY_CLIENTS) as running_platform:
        running_platform.psql(_SCHEMA)
        running_platform.wait_for_catalog("tick")
        deadline = time.monotonic() + 30
        while b"errors" in running_platform.get("/graphql/v1?query=%7BtickCollection%7B__typename%7D%7D")[1]:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        database = await asyncpg.connect(running_platform.values["DB_URL"])
        await measure(running_platform, database, asked.queries, asked.seconds)
        await database.close()


if __name__ == "__main__":
    asyncio.run(main())
