"""One line of the storage benchmark: who is asked, what came of it, with its CPU per request by process."""

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from tests.bench import cpu
from tests.bench.load import http
from tests.bench.table import Figures
from tests.bench.transfer import Exchange, Transfers, transfer

_GROUPS = ("edge", "nats", "worker", "postgres", "fork server")
PIECE = os.urandom(1 << 20)


@dataclass(frozen=True, slots=True)
class Target:
    """What is measured: its address, the processes that count, the headers of a request."""

    address: tuple[str, int]
    roots: list[int]
    headers: dict[str, str]
    is_plain: bool = False
    """Its threads end with their connections."""

    def get(self, path: str, answer: int = -1) -> Exchange:
        """Give a request for something of a known length."""
        return Exchange(http("GET", path, self._host, self.headers), answer=answer)

    def post(self, path: str, body: bytes) -> Exchange:
        """Give a request with a JSON body."""
        return Exchange(http("POST", path, self._host, self.headers, body))

    def upload(self, path: str, size: int, mime_type: str = "application/octet-stream") -> Exchange:
        """Give an upload of noise."""
        lines = {**self.headers, "Host": self._host, "Content-Type": mime_type, "Content-Length": str(size)}
        told = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return Exchange(f"POST {path} HTTP/1.1\r\n{told}\r\n".encode(), PIECE[:size], size)

    @property
    def _host(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"


def add(figures: Figures, work: str, runs: Sequence[tuple[Transfers, dict[str, float]]]) -> None:
    """Add rate, throughput and CPU of the platform per exchange, as medians of some runs, to the figures."""
    median = statistics.median
    used = [sum(parts.get(group, 0.0) for group in (*_GROUPS, "other")) for _, parts in runs]
    figures.add(f"{work}: rate", median(outcome.per_second for outcome, _ in runs), "/s")
    figures.add(f"{work}: throughput", median(outcome.mb_per_second for outcome, _ in runs), "MB/s")
    figures.add(f"{work}: CPU", median(used), "ms")
    for group in ("edge", "nats", "worker", "postgres"):
        figures.add(f"{work}: CPU of {group}", median(parts.get(group, 0.0) for _, parts in runs), "ms")


def show(name: str, connections: int, runs: Sequence[tuple[Transfers, dict[str, float]]]) -> Transfers:
    """Print the medians of some runs; give the run in the middle."""

    def median(of: Callable[[tuple[Transfers, dict[str, float]]], float]) -> float:
        return statistics.median(of(each) for each in runs)

    groups = sorted(
        {group for _, used in runs for group in used}, key=(*_GROUPS, "background", "other").index
    )
    parts = {group: median(lambda each, group=group: each[1].get(group, 0.0)) for group in groups}  # type: ignore[misc]  # a default binds the loop's name
    load = median(lambda each: each[0].own_cpu / max(1, each[0].count) * 1000)
    told = " ".join(f"{group}={value:.3f}" for group, value in parts.items() if value >= 0.0005)
    print(
        f"{name:18}{connections:6}{median(lambda each: each[0].per_second):9.1f}"
        f"{median(lambda each: each[0].mb_per_second):9.1f}{median(lambda each: each[0].percentile_ms(0.5)):9.2f}"
        f"{median(lambda each: each[0].percentile_ms(0.99)):9.2f}{sum(each.errors for each, _ in runs):7}"
        f"{sum(parts[group] for group in parts if group in (*_GROUPS, 'other')):9.3f}{load:9.3f}  {told}",
        flush=True,
    )
    return sorted((each for each, _ in runs), key=lambda each: each.per_second)[len(runs) // 2]


HEADING = (
    f"{'workload':18}{'conns':>6}{'req/s':>9}{'MB/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'errors':>7}{'cpu ms':>9}{'load ms':>9}"
    "  CPU ms per request by process"
)


def run(
    target: Target, make: Callable[[int], Exchange], connections: int, seconds: float
) -> tuple[Transfers, dict[str, float]]:
    """Drive once; give what came of it, and the CPU milliseconds per request of each group of processes."""
    pids = cpu.groups_of(target.roots)
    before = cpu.spent(pids)
    whole = _whole_cpu(target.roots[0])
    outcome = transfer(target.address, make, connections, seconds)
    pids |= cpu.groups_of(target.roots)
    used = cpu.difference(before, cpu.spent(pids), pids)
    if target.is_plain:
        used = {"other": _whole_cpu(target.roots[0]) - whole}
    return outcome, {group: each / max(1, outcome.count) * 1000 for group, each in used.items()}


def _whole_cpu(pid: int) -> float:
    """Give the CPU seconds of a process, threads that have ended included (to the hundredth)."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
