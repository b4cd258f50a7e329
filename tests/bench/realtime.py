"""Realtime through a whole platform: row changes and broadcasts to many sockets.

    python -m tests.bench.realtime [--only latency,ceiling,...] [--idle-sockets 5000]

    latency   one-row transactions on a quiet platform: milliseconds from the commit's answer to 1, 100, 1,000 sockets
    ceiling   1,000 sockets on one table, changes as fast as they come: deliveries a second
    rls       1,000 subscribers who see their own rows (user_id = auth.uid()): changes judged a second
    edges     a second edge process, and twice the sockets
    rooms     a broadcast to 1,000 sockets; memory of a socket; sockets that rest (see realtime_rooms)
    rest      CPU of all processes when nothing happens

Platform, writer and clients share this machine; the clients' CPU is printed beside.
"""

import argparse
import asyncio
import contextlib
import json
import resource
import secrets
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import jwt
import psutil
import uvloop

from tests.bench import cpu, realtime_rooms
from tests.bench.table import Budget, Figures, add_record_option
from tests.child_environment import environment_of
from tests.platform import MANY_CLIENTS, Platform, free_port, platform
from tests.platforms.conftest import pid_of

_KINDS = ("latency", "ceiling", "rls", "edges", "rooms", "rest")
_PATIENCE_S = 60
BUDGETS = (
    Budget("latency to 1 socket: p50", 1),
    Budget("latency to 1 socket: p99", 3),
    Budget("deliveries to 1000 sockets, one row a transaction", 100_000, is_least=True),
    Budget("deliveries to 1000 sockets, 100 rows a transaction", 100_000, is_least=True),
    Budget("changes judged for 1000 users, owner = auth.uid()", 5_000, is_least=True),
)


@dataclass
class Clients:
    """A process of sockets that listen to one table."""

    process: asyncio.subprocess.Process
    opened_s: float = 0.0
    rows: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    async def heard(self) -> None:
        """Wait until all came, and take what was heard."""
        found = await self._line()
        self.rows, self.times, self.cpu_s = found["rows"], found["times"], found["cpu_s"]

    async def _line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(await self.process.stdout.readline())


@contextlib.asynccontextmanager
async def clients(
    running_platform: Platform, port: int, table: str, tokens: Sequence[str], wanted: int
) -> AsyncIterator[Clients]:
    """Open so many sockets as there are tokens; all are live at the beginning of the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.realtime_clients",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=2**28,
    )  # fmt: skip
    assert process.stdin is not None
    job = {
        "port": port,
        "key": running_platform.values["ANON_KEY"],
        "topic": f"bench-{table}",
        "entry": {"event": "*", "schema": "public", "table": table},
        "tokens": list(tokens),
        "wanted": wanted,
        "patience_s": _PATIENCE_S,
    }
    process.stdin.write(json.dumps(job).encode() + b"\n")
    one = Clients(process)
    one.opened_s = (await one._line())["opened_s"]
    try:
        yield one
    finally:
        process.stdin.write(b"\n")
        await process.wait()


class Bench:
    """A platform, a connection to its database, and the processes whose CPU counts."""

    def __init__(self, running_platform: Platform, database: asyncpg.Connection, figures: Figures) -> None:
        self.running_platform, self.database, self.figures = running_platform, database, figures
        self.more: list[int] = []

    async def table(self, policy: str = "") -> str:
        """Make a published table; give its name."""
        name = f"bench_{secrets.token_hex(4)}"
        security = (
            f"alter table {name} enable row level security;"
            f"create policy p on {name} for select to authenticated using ({policy});"
            if policy
            else f"alter table {name} disable row level security;"
        )
        await self.database.execute(
            f"create table {name} (id int8 primary key, owner uuid, body text, price numeric, ok bool, data jsonb,"
            " at timestamptz default now());"
            f"grant select on {name} to anon, authenticated; {security}"
            f"alter publication supabase_realtime add table {name}"
        )
        return name

    def anonymous(self, count: int) -> list[str]:
        """Give so many tokens of nobody."""
        return [self.running_platform.values["ANON_KEY"]] * count

    def people(self, users: Sequence[str]) -> list[str]:
        """Give a token for each user."""
        secret, until = self.running_platform.values["JWT_SECRET"], int(time.time()) + 3600
        return [
            jwt.encode({"role": "authenticated", "sub": user, "exp": until}, secret, "HS256")
            for user in users
        ]

    @contextlib.contextmanager
    def used(self) -> Any:
        """Give a mapping that holds the CPU seconds of each group of processes when the block is over."""
        found: dict[str, float] = {}
        pids = cpu.groups_of([self.running_platform.pid, *self.more])
        before = cpu.spent(pids)
        yield found
        found.update(cpu.difference(before, cpu.spent(pids), pids))


_ROW = (
    "insert into {} select n, {}, 'item ' || n, 12.50, true, '{{\"a\": [1, 2]}}' from generate_series({}) n"
)


async def latency(bench: Bench) -> None:
    """Commit rows one by one, at a rate at which nothing waits."""
    for count, changes, pause_s in ((1, 1000, 0.004), (100, 300, 0.015), (1000, 100, 0.08)):
        table = await bench.table()
        sql = _ROW.format(table, "null", "$1::int8, $1::int8")
        await bench.database.execute(sql, 0)
        tokens = bench.anonymous(count)
        async with clients(
            bench.running_platform, bench.running_platform.port, table, tokens, count * (changes + 50)
        ) as heard:
            asked, answered = {}, {}
            for number in range(1, changes + 51):  # the first fifty warm up
                asked[number] = time.perf_counter()
                await bench.database.execute(sql, number)
                answered[number] = time.perf_counter()
                await asyncio.sleep(pause_s)
            await heard.heard()
        kept = [(row, at) for row, at in zip(heard.rows, heard.times, strict=True) if row > 50]
        since_answer = [(at - answered[row]) * 1000 for row, at in kept]
        since_start = [(at - asked[row]) * 1000 for row, at in kept]
        wait = [(answered[row] - asked[row]) * 1000 for row in answered if row > 50]
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            sockets = "1 socket" if count == 1 else f"{count} sockets"
            bench.figures.add(f"latency to {sockets}: {name}", _at(since_answer, share), "ms")
        print(
            f"latency  {count:5} sockets: p50 {_at(since_answer, 0.5):6.2f} ms  p99 {_at(since_answer, 0.99):6.2f} ms after the"
            f" commit's answer;  p50 {_at(since_start, 0.5):6.2f}  p99 {_at(since_start, 0.99):6.2f} after the statement was sent"
            f" (which took {statistics.median(wait):.2f})",
            flush=True,
        )


async def ceiling(bench: Bench) -> None:
    """Change rows faster than they can be delivered to all, one transaction each and many in one."""
    for label, each, times in (("one row a transaction", 1, 300), ("100 rows a transaction", 100, 4)):
        table = await bench.table()
        wanted = 1000 * each * times
        async with clients(
            bench.running_platform, bench.running_platform.port, table, bench.anonymous(1000), wanted
        ) as heard:
            with bench.used() as used:
                began = time.perf_counter()
                await write(bench, table, each, times)
                await heard.heard()
            took = max(heard.times) - began
        print(
            f"ceiling  1000 sockets, {label:22}: {wanted / took:9,.0f} deliveries/s; the edge {used['edge'] / wanted * 1e6:.2f} us"
            f" of CPU each ({wanted / used['edge']:,.0f}/s a core), the clients {heard.cpu_s / wanted * 1e6:.2f}",
            flush=True,
        )
        bench.figures.add(f"deliveries to 1000 sockets, {label}", wanted / took, "/s")
        bench.figures.add(f"CPU of the edge for a delivery, {label}", used["edge"] / wanted * 1e6, "us")


async def rls(bench: Bench) -> None:
    """Let a thousand users see their own rows, by a rule that is recognised and by one that only SQL knows."""
    users = [str(uuid.uuid4()) for _ in range(1000)]
    tokens = bench.people(users)
    listed = "(array[" + ",".join(f"'{user}'" for user in users) + "]::uuid[])[1 + n % 1000]"
    for label, policy, times in (
        ("owner = auth.uid()", "owner = (select auth.uid())", 200),
        ("by SQL", "owner = (select auth.uid()) and length(body) > 1", 5),
    ):
        table = await bench.table(policy)
        async with clients(
            bench.running_platform, bench.running_platform.port, table, tokens, 100 * times
        ) as heard:
            with bench.used() as used:
                began = time.perf_counter()
                await write(bench, table, 100, times, listed)
                await heard.heard()
            took = max(heard.times) - began
        print(
            f"rls      1000 users, {label:20}: {100 * times / took:9,.0f} changes/s judged and delivered (opened in"
            f" {heard.opened_s:.1f} s); CPU a change: "
            + ", ".join(
                f"{name} {used[name] / times * 1e4:.0f} us" for name in ("edge", "worker", "nats", "postgres")
            ),
            flush=True,
        )
        bench.figures.add(f"changes judged for 1000 users, {label}", 100 * times / took, "/s")


async def edges(bench: Bench) -> None:
    """Start another edge; each has 1,000 sockets, and all hear every change."""
    port = free_port()
    first = pid_of(bench.running_platform, "edges")
    environment = environment_of(bench.running_platform, "edges")
    second = subprocess.Popen(
        [sys.executable, "-P", "-m", "services", "gateway"],
        env={**environment, "HEADWATER_API_PORT": str(port)},
        stderr=subprocess.DEVNULL,
    )
    bench.more.append(second.pid)
    try:
        await _listening(port)
        table = await bench.table()
        tokens, wanted = bench.anonymous(1000), 1000 * 100
        async with (
            clients(bench.running_platform, bench.running_platform.port, table, tokens, wanted) as one,
            clients(bench.running_platform, port, table, tokens, wanted) as other,
        ):
            sockets = [_sockets(pid) for pid in (first, second.pid)]
            began = time.perf_counter()
            await write(bench, table, 1, 100)
            await asyncio.gather(one.heard(), other.heard())
            took = max(*one.times, *other.times) - began
        print(
            f"edges    two, {sockets[0]} + {sockets[1]} sockets: {2 * wanted / took:9,.0f} deliveries/s in all,"
            f" {len(one.rows):,} + {len(other.rows):,} delivered of {2 * wanted:,}",
            flush=True,
        )
    finally:
        bench.more.remove(second.pid)
        second.terminate()
        second.wait()


async def rooms(bench: Bench, resting: int) -> None:
    """Broadcasts, and sockets that rest."""
    edge = psutil.Process(pid_of(bench.running_platform, "edges"))
    for count in (1, 100, 1000):
        await realtime_rooms.fan_out(edge, bench.running_platform.port, count, max(20_000 // count, 50))
    await realtime_rooms.idle(edge, bench.running_platform.port, resting)


async def rest(bench: Bench) -> None:
    """Do nothing for some seconds."""
    seconds = 5
    await asyncio.sleep(1)  # what the workloads before left over ends
    with bench.used() as used:
        await asyncio.sleep(seconds)
    memory = {
        name: psutil.Process(pid_of(bench.running_platform, name)).memory_info().rss / 2**20
        for name in ("edges", "changes")
    }
    print(
        "rest     CPU of a core: "
        + ", ".join(f"{name} {value / seconds:.2%}" for name, value in sorted(used.items()))
        + "; memory: "
        + ", ".join(f"{name} {value:.0f} MiB" for name, value in memory.items()),
        flush=True,
    )


async def write(bench: Bench, table: str, each: int, times: int, owner: str = "null") -> None:
    """Write rows, numbered from 1, so many in a transaction."""
    statement = await bench.database.prepare(_ROW.format(table, owner, "$1::int8, $2::int8"))
    for number in range(times):
        await statement.fetch(1 + number * each, (number + 1) * each)


async def _listening(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def _sockets(pid: int) -> int:
    found = psutil.Process(pid).net_connections("tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED and bool(each.raddr) for each in found)


def _at(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def _run(running_platform: Platform, kinds: Sequence[str], resting: int, figures: Figures) -> None:
    database = await asyncpg.connect(running_platform.values["DB_URL"])
    bench = Bench(running_platform, database, figures)
    for kind in kinds:
        match kind:
            case "latency":
                await latency(bench)
            case "ceiling":
                await ceiling(bench)
            case "rls":
                await rls(bench)
            case "edges":
                await edges(bench)
            case "rooms":
                await rooms(bench, resting)
            case "rest":
                await rest(bench)
    await database.close()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(_KINDS))
    parser.add_argument("--idle-sockets", type=int, default=5000)
    add_record_option(parser)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    figures = Figures("realtime", BUDGETS)
    with platform(environment={**MANY_CLIENTS, "HEADWATER_REALTIME_IDLE_TIMEOUT": "600"}) as running_platform:
        uvloop.run(_run(running_platform, options.only.split(","), options.idle_sockets, figures))
    figures.finish(options.record)


if __name__ == "__main__":
    main()
