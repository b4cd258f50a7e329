"""Growth on more cores than the machine has: each process gets a share of a core, and there are 1, 2 and 4 of each kind.

    python -m tests.bench.growth --only shares

`at N` is a machine of N small cores for each part: N edges and N processes of workers, each with a share of its own; NATS and Postgres
with N shares each. If nothing is serial, N times the shares carry N times the rate; what lacks is the serial part by Amdahl's law.
Then each part alone has a share, once, and the others have what they need: its rate, divided by the share, is what
a whole core of it carries. Rates of a machine that does nothing else: a part that does not get its share is not throttled, and printed.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import psutil

from tests.bench import cpu
from tests.bench.cpu_shares import ShareGroup, SharesUnavailable
from tests.bench.growth.processes import further_edge, more_rest_workers
from tests.bench.load import drive
from tests.bench.rest import prepare, workloads
from tests.bench.table import Figures, number
from tests.platform import MANY_CLIENTS, Platform, platform

_SHARE = 0.1
_COUNTS = (1, 2, 4)
_WORK = ("by_pk", "insert1")
_CONNECTIONS = 32
"""To each edge: enough that every part has work while others are throttled."""
_PLENTY = 2.0
_PARTS: Mapping[str, Sequence[str]] = {"NATS": ("nats",), "Postgres": ("postgres", "background")}


def serial_part(points: Sequence[tuple[int, float]]) -> float:
    """Return the serial share of the work by Amdahl's law, the mean over the counts above one (pure); negative: more than N times.

    `points` are counts of processes and rates, the first for one process.
    """
    (_, alone), *further = points
    return sum((count * alone / rate - 1) / (count - 1) for count, rate in further) / len(further)


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Measure the growth of reads and inserts with shares, and what a whole core of each part carries."""
    try:
        with closing(ShareGroup("probe", _SHARE)):
            pass
    except SharesUnavailable as reason:
        print(f"shares of cores are not simulated: {reason}", flush=True)
        return
    with platform(environment=MANY_CLIENTS) as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("items")
        requests = workloads(f"127.0.0.1:{one.port}", {"apikey": one.values["ANON_KEY"]})
        rates: dict[str, list[tuple[int, float]]] = {name: [] for name in _WORK}
        for count in _COUNTS:
            with more_processes(one, count) as parts:
                shares = {part: _SHARE * (count if part in _PARTS else 1) for part in parts}
                for name in _WORK:
                    rate = _rate(one, parts, shares, requests[name](), options.seconds, f"{name} at {count}")
                    rates[name].append((count, rate))
        for name in _WORK:
            figures.add(f"{name} by shares: serial part", serial_part(rates[name]), "")
            for count, rate in rates[name]:
                figures.add(f"{name} by shares: rate, {count}", rate, "/s")
            growth = ", ".join(f"{count}: {number(rate / rates[name][0][1])}" for count, rate in rates[name])
            print(
                f"{name}: times the rate of one process of each: {growth}; serial part {serial_part(rates[name]):.3f}",
                flush=True,
            )
        with more_processes(one, 1) as parts:
            for limited in parts:
                shares = {part: _SHARE if part == limited else _PLENTY for part in parts}
                for name in _WORK:
                    rate = _rate(
                        one,
                        parts,
                        shares,
                        requests[name](),
                        options.seconds,
                        f"{name}, a share for {limited}",
                    )
                    figures.add(f"{name}: rate of a core of {limited}", rate / _SHARE, "/s")


@contextmanager
def more_processes(one: Platform, count: int) -> Iterator[dict[str, tuple[list[int], int]]]:
    """Run so many edges and processes of workers; give the processes and the port (edges; else 0) of each part."""
    with ExitStack() as stack:
        groups = cpu.groups_of([one.pid])
        own = {pid for pid, group in groups.items() if group == "worker" and _serves_rest(pid)}
        if not own:
            raise SystemExit("the platform has no process of workers that serves rest")
        edges = [[pid for pid, group in groups.items() if group == "edge"]]
        ports = [one.port]
        for _ in range(count - 1):
            pid, port = stack.enter_context(further_edge(one))
            edges.append([pid])
            ports.append(port)
        workers = [list(own), *([pid] for pid in stack.enter_context(more_rest_workers(one, count - 1)))]
        after = cpu.groups_of([one.pid])  # with the connections that further workers have opened
        parts = {
            f"edge {n}": (pids, port) for n, (pids, port) in enumerate(zip(edges, ports, strict=True), 1)
        }
        parts |= {f"worker {n}": (pids, 0) for n, pids in enumerate(workers, 1)}
        for part, names in _PARTS.items():
            parts[part] = ([pid for pid, group in after.items() if group in names], 0)
        yield parts


def _serves_rest(pid: int) -> bool:
    return " workers rest " in " ".join(psutil.Process(pid).cmdline()) + " "


def _rate(
    one: Platform,
    parts: Mapping[str, tuple[list[int], int]],
    shares: Mapping[str, float],
    requests: Sequence[bytes],
    seconds: float,
    title: str,
) -> float:
    """Drive all edges at once under these shares; print and return the answers a second of all."""
    ports = [port for _, port in parts.values() if port]
    with ExitStack() as stack, ThreadPoolExecutor(len(ports)) as threads:
        groups = {}
        for part, (pids, _) in parts.items():
            groups[part] = stack.enter_context(closing(ShareGroup(part.replace(" ", "-"), shares[part])))
            groups[part].add(pids)

        def run(length: float) -> float:
            jobs = [
                threads.submit(drive, ("127.0.0.1", port), requests, _CONNECTIONS, length) for port in ports
            ]
            outcomes = [job.result() for job in jobs]
            if any(outcome.errors for outcome in outcomes):
                raise SystemExit(f"{title}: {[dict(outcome.statuses) for outcome in outcomes]}")
            return sum(outcome.per_second for outcome in outcomes)

        run(0.5)  # connections and caches
        before = {part: group.throttled() for part, group in groups.items()}
        rate = run(seconds)
        used = []
        for part, group in groups.items():
            periods, throttled = (a - b for a, b in zip(group.throttled(), before[part], strict=True))
            used.append(f"{part} {throttled / max(1, periods):.0%}")
    print(f"{title:32} {rate:8.0f}/s   periods in which the share was used up: {', '.join(used)}", flush=True)
    return rate
