"""Far more clients than a platform can serve at once: what waits, what is refused, and what memory it takes.

    python -m tests.bench.overload [--connections 3000] [--slow-readers 200] [--slow-mb 4] [--seconds 20]
                                   [--sockets 2000] [--slow-writers 200] [--giants 4]

It starts a platform of its own. Every connection sends one read after the other, each as soon as the answer to the one before has
come, all as one caller; slow readers ask for `--slow-mb` each (sockets and windows take up 4 at once) and take 64 KB a second of it. Sockets
join a channel and beat every five seconds, slow writers send a kilobyte a second, giants send bodies of 45 and of 60 MB (beyond
`gateway.max_body`). A client at another address reads beside them. The table has the answers by status with their p50 and p99, and the
memory that each process has alone before, at most, and ten seconds after the end. Exit code 1: a process was replaced, or answers
are missing.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp
import psutil

from tests.bench.fairness import Answers, Caller, exchange, percentile, read_fast
from tests.bench.load import http
from tests.bench.overload_clients import hold_sockets, send_giants, write_slowly
from tests.platform import MANY_CLIENTS, Platform, platform

_SCHEMA = """
create table public.shelf (id int primary key, name text);
insert into public.shelf select n, 'row ' || n from generate_series(1, 1000) n;
create table public.long (id int primary key, body text);
insert into public.long select n, repeat('x', 40000) from generate_series(1, 1000) n;
grant select on public.shelf, public.long to anon, service_role;
notify pgrst;
"""
_TAKEN = 64 * 1024
_CALM_S = 10.0
_MIB = 1024 * 1024


@dataclass(slots=True)
class Memory:
    """Memory of the platform's processes that they share with no other, in bytes by name: before, and the most."""

    platform: Platform
    before: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)

    def look(self) -> dict[str, int]:
        """Read it, with the backends of Postgres as one."""
        sizes = {}
        for name, pid in pids(self.platform).items():
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                sizes[name] = sum(
                    each.memory_full_info().uss for each in (process, *process.children(recursive=True))
                )
        for name, size in sizes.items():
            self.most[name] = max(size, self.most.get(name, 0))
        return sizes

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.look()
            await asyncio.sleep(0.5)


def pids(one: Platform) -> dict[str, int]:
    """Return the processes that run now, by name."""
    children = json.loads((one.data / "state.json").read_text())["children"]
    return {child["name"]: int(child["pid"]) for child in children if child["pid"]}


async def read_always(one: Platform, end: float, number: int, answers: Answers) -> None:
    """Read one row after the other on a connection, which is opened again when it is closed."""
    request = http(
        "GET",
        f"/rest/v1/shelf?id=eq.{number % 1000 + 1}",
        f"127.0.0.1:{one.port}",
        {"apikey": one.values["ANON_KEY"]},
    )
    while time.monotonic() < end:
        writer = None
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            while time.monotonic() < end:
                began, status = time.monotonic(), 0
                async with asyncio.timeout(90):
                    status = await exchange(reader, writer, request)
                answers.add(status, time.monotonic() - began)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            answers.add(0, time.monotonic() - began)
            await asyncio.sleep(0.1)
        finally:
            if writer is not None:
                writer.close()


async def show_refusal(one: Platform, end: float, reasons: Counter[str]) -> None:
    """Ask again and again on one more connection, and count the texts of what is no 200."""
    headers = {"apikey": one.values["ANON_KEY"]}
    async with aiohttp.ClientSession(headers=headers) as session:
        while time.monotonic() < end:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"{one.url}/rest/v1/shelf?id=eq.1") as answer:
                    text = await answer.text()
                    if answer.status != 200:
                        reasons[text[:200]] += 1


async def read_slowly(one: Platform, end: float, megabytes: int) -> int:
    """Ask for a long answer and take it slowly; return how many bytes were taken."""
    path = f"/rest/v1/long?limit={25 * megabytes}"
    request = http("GET", path, f"127.0.0.1:{one.port}", {"apikey": one.values["ANON_KEY"]})
    taken = 0
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port, limit=_TAKEN)
        writer.write(request)
        while time.monotonic() < end and (piece := await reader.read(_TAKEN)):
            taken += len(piece)
            await asyncio.sleep(1)
        writer.transport.abort()
    return taken


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many clients of each kind."""

    connections: int
    slow_readers: int
    slow_mb: int
    sockets: int
    slow_writers: int
    giants: int


async def overload(one: Platform, crowd: Crowd, seconds: float) -> int:
    """Run it and print the table; return the exit code."""
    connections, slow = crowd.connections, crowd.slow_readers
    joins, beats, giants = Answers(), Answers(), Answers()
    memory, answers = Memory(one), Answers()
    memory.before, running = memory.look(), pids(one)
    end = time.monotonic() + seconds
    watching = asyncio.ensure_future(memory.watch())
    began = time.process_time()
    slow_ones = [asyncio.ensure_future(read_slowly(one, end, crowd.slow_mb)) for _ in range(slow)]
    sockets = asyncio.ensure_future(hold_sockets(one, crowd.sockets, end, joins, beats))
    writers = [asyncio.ensure_future(write_slowly(one, end)) for _ in range(crowd.slow_writers)]
    huge = [
        asyncio.ensure_future(send_giants(one, end, megabytes, giants))
        for megabytes, _ in zip(itertools.cycle((45, 60)), range(crowd.giants), strict=False)
    ]
    beside = Answers()
    bystander = Caller("another address", {"apikey": one.values["ANON_KEY"]}, "127.0.0.2")
    reading = asyncio.ensure_future(read_fast(one, bystander, seconds, beside))
    reasons: Counter[str] = Counter()
    showing = asyncio.ensure_future(show_refusal(one, end, reasons))
    await asyncio.gather(*(read_always(one, end, number, answers) for number in range(connections)))
    taken = await asyncio.gather(*slow_ones)
    await asyncio.gather(showing, reading, *huge)
    held, written = await sockets, sum(await asyncio.gather(*writers))
    own = time.process_time() - began
    await asyncio.sleep(_CALM_S)
    watching.cancel()
    after = memory.look()
    print(
        f"{connections} connections, {slow} slow readers, {seconds:.0f} s; own CPU {own:.1f} s; slow readers took {sum(taken) / 1e6:.1f} MB"
    )
    print("| caller, answer | n | a second | p50 ms | p99 ms | most ms |\n|---|---|---|---|---|---|")
    rows = [
        ("the many", answers),
        (bystander.name, beside),
        ("joins of sockets", joins),
        ("their beats", beats),
    ]
    for name, counted in (*rows, ("giants", giants)):
        for status, times in sorted(counted.by_status.items()):
            ordered = sorted(times)
            shown = [f"{1000 * percentile(ordered, share):.0f}" for share in (0.5, 0.99, 1)]
            print(
                f"| {name}, {status or 'none'} | {len(times)} | {len(times) / seconds:.0f} | {' | '.join(shown)} |"
            )
    print(
        f"open in the end: {held} of {crowd.sockets} sockets, {written} of {crowd.slow_writers} slow writers"
    )
    for text, count in reasons.most_common():
        print(f"refused {count} times: {text}")
    print("| process | MB before | at most | after |\n|---|---|---|---|")
    for name, size in memory.before.items():
        print(f"| {name} | {size // _MIB} | {memory.most[name] // _MIB} | {after.get(name, 0) // _MIB} |")
    replaced = {name for name, pid in pids(one).items() if running.get(name) != pid}
    print(f"replaced: {', '.join(sorted(replaced)) or 'none'}")
    return int(bool(replaced) or 0 in answers.by_status)


def main() -> int:
    """Start a platform and overload it; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=3000)
    parser.add_argument("--slow-readers", type=int, default=200)
    parser.add_argument(
        "--slow-mb", type=int, default=4, help="megabytes of a slow reader's answer, 40 at most"
    )
    parser.add_argument("--sockets", type=int, default=0)
    parser.add_argument("--slow-writers", type=int, default=0)
    parser.add_argument("--giants", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with platform(environment=MANY_CLIENTS) as one:
        one.psql(_SCHEMA)
        one.wait_for_catalog("long")
        crowd = Crowd(
            options.connections,
            options.slow_readers,
            options.slow_mb,
            options.sockets,
            options.slow_writers,
            options.giants,
        )
        return asyncio.run(overload(one, crowd, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
