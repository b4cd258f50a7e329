"""Processes of workers 1 -> 2 -> 4 and edges 1 -> 2: the same reads and inserts."""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.bench.cpu import resident_mb
from tests.bench.growth.slope import Growth, add
from tests.bench.load import Outcome, drive
from tests.bench.peers.pairs import used_by
from tests.bench.postgraphile import wait_for
from tests.bench.rest import prepare, workloads
from tests.bench.table import Figures, medians, run
from tests.child_environment import environment_of
from tests.platform import Platform, platform
from tests.ports import free_port

_COUNTS = (1, 2, 4)


@contextmanager
def more_rest_workers(one: Platform, count: int) -> Iterator[list[int]]:
    """Run further processes of the pool `rest` beside those of the platform; give their numbers when they are ready."""
    environment, running, reading = environment_of(one, "pools"), [], []
    try:
        for _ in range(count):
            ready, signal = os.pipe()
            running.append(
                subprocess.Popen(
                    [sys.executable, "-P", "-m", "workers", "rest"],
                    env={**environment, "HEADWATER_READY_FD": str(signal)},
                    pass_fds=(signal,),
                    stderr=subprocess.DEVNULL,
                )
            )
            os.close(signal)
            reading.append(ready)
        for ready in reading:
            if not os.read(ready, 64):
                raise SystemExit("a worker ended before it was ready")
        yield [process.pid for process in running]
    finally:
        for ready in reading:
            os.close(ready)
        for process in running:
            process.terminate()
            process.wait(30)


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Measure reads by key and inserts with 1, 2 and 4 processes of workers."""
    with platform() as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("items")
        address = ("127.0.0.1", one.port)
        every = workloads(f"127.0.0.1:{one.port}", {"apikey": one.values["ANON_KEY"]})
        cost: dict[str, list[tuple[float, float]]] = {"by_pk": [], "insert1": []}
        rate: dict[str, list[tuple[float, float]]] = {"by_pk": [], "insert1": []}
        further = 0.0
        for count in _COUNTS:
            with more_rest_workers(one, count - 1) as more:
                for name in cost:
                    requests = every[name]()
                    drive(address, requests, 32, 0.5)
                    line = medians(
                        [
                            run(one, address, requests, 32, options.seconds, more)
                            for _ in range(options.repeat)
                        ]
                    )
                    cost[name].append((count, line.cpu_ms))
                    rate[name].append((count, line.per_second))
                further = sum(resident_mb(more).values()) / max(1, len(more))
        figures.add("memory of a further worker process of one pool", further, "MB")
        for name in cost:
            add(figures, Growth(f"{name} at 32: CPU", "worker processes", "ms", cost[name]))
            add(figures, Growth(f"{name} at 32: rate", "worker processes", "/s", rate[name]))
        _edges(one, every["by_pk"](), options, figures)


@contextmanager
def further_edge(one: Platform) -> Iterator[tuple[int, int]]:
    """Run a further gateway beside that of the platform; give its number and its port."""
    port = free_port()
    environment = environment_of(one, "edges") | {"HEADWATER_API_PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "services", "gateway"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(30)


def _edges(one: Platform, requests: Sequence[bytes], options: argparse.Namespace, figures: Figures) -> None:
    """Measure reads over 32 connections to one edge, and over 16 to each of two."""
    cost = []
    with further_edge(one) as (more, port):
        for ports in ([one.port], [one.port, port]):
            used = [
                _cpu_at_edges(ports, [one.pid, more], requests, options.seconds)
                for _ in range(options.repeat + 1)
            ]
            cost.append((len(ports), statistics.median(used[1:])))
        figures.add("memory of a further edge process", sum(resident_mb([more]).values()), "MB")
    add(figures, Growth("by_pk at 32 in all: CPU", "edges", "ms", cost))


def _cpu_at_edges(ports: list[int], roots: list[int], requests: Sequence[bytes], seconds: float) -> float:
    """Drive all edges at once; return the CPU milliseconds of all processes for a request."""
    outcomes: list[Outcome] = []

    def work() -> None:
        with ThreadPoolExecutor(len(ports)) as threads:
            jobs = [
                threads.submit(drive, ("127.0.0.1", port), requests, 32 // len(ports), seconds)
                for port in ports
            ]
            outcomes.extend(job.result() for job in jobs)

    used = used_by(roots, work)
    if any(outcome.errors for outcome in outcomes):
        raise SystemExit(f"{len(ports)} edges: {[dict(outcome.statuses) for outcome in outcomes]}")
    return used / sum(outcome.good for outcome in outcomes) * 1000
