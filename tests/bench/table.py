"""One line of a benchmark: a workload at a number of connections, with its CPU per request by process."""

import statistics
from collections.abc import Callable, Sequence

from tests.bench import cpu
from tests.bench.load import Outcome, drive
from tests.platform import Platform

HEADING = (
    f"{'workload':11}{'conns':>6}{'req/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'errors':>8}{'cpu ms':>8}"
    "  CPU ms per request by process"
)
_GROUPS = ("edge", "nats", "worker", "postgres")

Run = tuple[Outcome, dict[str, float]]


def run(
    one: Platform,
    address: tuple[str, int],
    requests: Sequence[bytes],
    connections: int,
    seconds: float,
    more: Sequence[int] = (),
) -> Run:
    """Drive a platform once, and give what came of it with the CPU milliseconds per request of each process group.

    `more` are processes of it that are no children of its own.
    """
    pids = cpu.groups_of([one.pid, *more])
    before = cpu.spent(pids)
    outcome = drive(address, requests, connections, seconds)
    pids |= cpu.groups_of([one.pid, *more])
    used = cpu.difference(before, cpu.spent(pids), pids)
    count = max(1, sum(outcome.statuses.values()))
    return outcome, {group: seconds_used / count * 1000 for group, seconds_used in used.items()}


def show(name: str, connections: int, runs: list[Run], budget_ms: float | None = None) -> float:
    """Print the medians of some runs; give the requests a second."""

    def median(of: Callable[[Run], float]) -> float:
        return statistics.median(of(each) for each in runs)

    by_group = {group: median(lambda each, group=group: each[1].get(group, 0.0)) for group in _GROUPS}  # type: ignore[misc]  # a default binds the loop's name
    total, errors = sum(by_group.values()), sum(outcome.errors for outcome, _ in runs)
    budget = f"  budget {budget_ms:.2f}" if budget_ms is not None and connections == 32 else ""
    parts = " ".join(f"{group}={value:.3f}" for group, value in by_group.items())
    per_second = median(lambda each: each[0].per_second)
    print(
        f"{name:11}{connections:6}{per_second:9.0f}"
        f"{median(lambda each: each[0].percentile_ms(0.5)):9.2f}{median(lambda each: each[0].percentile_ms(0.99)):9.2f}"
        f"{errors:8}{total:8.3f}  {parts}{budget}",
        flush=True,
    )
    return per_second
