"""The slowest hundredth of requests at 256 connections beside the median, with what the slow ones have in common.

    python -m tests.bench.tails [--connections 256] [--seconds 4] [--repeat 3] [--workloads by_pk,insert1] [--record]

A closed loop keeps as many requests under way as there are connections, so that the median is the waiting in the queues of a full
machine, and the tail is what comes on top. For each workload the medians of the runs, and of the run whose ratio is the median one:

stalls       the slowest hundredth that was under way while no answer at all came for a quarter of the median: the platform, or
             the load generator, stood still; and the longest such time
collections  pauses of the garbage collector in edge and workers: how many, the longest, and how many of the slowest hundredth were
             under way during one (of all requests, in brackets)
connections  the median of the connection at the 90th percentile, divided by that at the 10th: 1 is fair
waiting      how long threads that could run waited for a core, for each request, by group of processes (`schedstat`)
queues       requests that waited in the pool or for a connection to the database, and their seconds in all, from `/metrics`
"""

import argparse
import asyncio
import bisect
import itertools
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench import cpu
from tests.bench.gc_pauses.sitecustomize import VARIABLE
from tests.bench.load import Outcome, drive
from tests.bench.rest import prepare, workloads
from tests.bench.table import Budget, Figures, add_record_option
from tests.platform import MANY_CLIENTS, Platform, platform

BUDGETS = (Budget("by_pk: p99 to p50", 1.5), Budget("insert1: p99 to p50", 2))
_QUEUES = ("headwater_queue_wait_seconds", "headwater_database_wait_seconds")
_TAIL = 0.99
_STALL_SHARE = 4
_WARM_S = 1.0


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of the collector of one process, in nanoseconds of the monotonic clock."""

    pid: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run, and what the platform did meanwhile."""

    outcome: Outcome
    waited_s: Mapping[str, float]
    """Seconds that threads waited for a core, by group."""
    queued: Mapping[str, tuple[float, float]]
    """Requests that waited, and their seconds, by queue."""
    pauses: Sequence[Pause]

    @property
    def ratio(self) -> float:
        return self.outcome.percentile_ms(_TAIL) / self.outcome.percentile_ms(0.5)


def stalls_of(ends: Sequence[int], least: float) -> list[tuple[int, int]]:
    """Return the times of at least so many nanoseconds between two answers that follow each other (pure)."""
    ordered = sorted(ends)
    return [(a, b) for a, b in itertools.pairwise(ordered) if b - a >= least]


def overlapping(spans: Sequence[tuple[int, int]], times: Sequence[tuple[int, int]]) -> int:
    """Return how many spans have a nanosecond in common with one of the times (pure). `times` are ordered and apart."""
    starts = [start for start, _ in times]
    count = 0
    for start, end in spans:
        place = bisect.bisect_right(starts, end) - 1
        count += place >= 0 and times[place][1] >= start
    return count


def merged(times: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ordered times that do not overlap and cover the same moments (pure)."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(times):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def fairness_of(outcome: Outcome) -> float:
    """Return the ratio of the medians of connections at the 90th and the 10th percentile (pure)."""
    by_connection: dict[int, list[int]] = {}
    for connection, latency in zip(outcome.connections, outcome.latencies, strict=True):
        by_connection.setdefault(connection, []).append(latency)
    middles = sorted(statistics.median(latencies) for latencies in by_connection.values())
    return middles[int(len(middles) * 0.9)] / middles[int(len(middles) * 0.1)]


def measured(
    one: Platform, requests: Sequence[bytes], options: argparse.Namespace, pauses: Path
) -> MeasuredRun:
    """Drive the platform once."""
    pids = cpu.groups_of([one.pid])
    read, waited, queued = len(_lines(pauses)), _run_delays(pids), _queues(one)
    outcome = drive(("127.0.0.1", one.port), requests, options.connections, options.seconds)
    if outcome.errors:
        raise SystemExit(f"answers: {dict(outcome.statuses)}, broken connections: {outcome.broken}")
    after, queued_after = _run_delays(pids), _queues(one)
    groups: dict[str, float] = {}
    for pid, group in pids.items():
        groups[group] = groups.get(group, 0.0) + max(0, after[pid] - waited[pid]) / 1e9
    times = [Pause(pid, start, end) for pid, _, start, end in _lines(pauses)[read:] if pid in pids]
    queues = {
        name: (queued_after[name][0] - count, queued_after[name][1] - s)
        for name, (count, s) in queued.items()
    }
    return MeasuredRun(outcome, groups, queues, times)


def show(name: str, runs: Sequence[MeasuredRun], figures: Figures) -> None:
    """Print a workload's runs and what the tail of the median one has in common."""
    p50 = statistics.median(run.outcome.percentile_ms(0.5) for run in runs)
    p99 = statistics.median(run.outcome.percentile_ms(_TAIL) for run in runs)
    middle = sorted(runs, key=lambda run: run.ratio)[len(runs) // 2]
    figures.add(f"{name}: p99 to p50", middle.ratio, "x")
    figures.add(f"{name}: p50", p50, "ms")
    outcome = middle.outcome
    spans = [(end - latency, end) for end, latency in zip(outcome.ends, outcome.latencies, strict=True)]
    limit = outcome.percentile_ms(_TAIL) * 1e6
    tail = [span for span in spans if span[1] - span[0] >= limit]
    stalls = stalls_of(outcome.ends, outcome.percentile_ms(0.5) * 1e6 / _STALL_SHARE)
    longest = max((end - start for start, end in stalls), default=0) / 1e6
    pauses = merged([(pause.start, pause.end) for pause in middle.pauses])
    lengths = [(end - start) / 1e6 for start, end in pauses]
    print(
        f"{name}: {outcome.per_second:.0f}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms, p99 to p50 "
        + " ".join(f"{run.ratio:.2f}" for run in runs)
    )
    print(
        f"  stalls       {overlapping(tail, stalls)} of the slowest {len(tail)}; {len(stalls)} stalls, {longest:.1f} ms at most"
    )
    print(
        f"  collections  {len(pauses)} in {len({pause.pid for pause in middle.pauses})} processes, {sum(lengths):.1f} ms in all, "
        f"{max(lengths, default=0):.1f} ms at most; under way during one: {overlapping(tail, pauses) / len(tail):.0%} of the slowest "
        f"({overlapping(spans, pauses) / len(spans):.0%} of all)"
    )
    print(f"  connections  {fairness_of(outcome):.2f}")
    count = len(spans)
    print(
        "  waiting      "
        + ", ".join(f"{group} {s / count * 1e6:.0f} us" for group, s in sorted(middle.waited_s.items()) if s)
    )
    print(
        "  queues       "
        + ", ".join(f"{queue} {n:.0f} of {count}, {s:.2f} s" for queue, (n, s) in middle.queued.items())
    )


def _run_delays(pids: Mapping[int, str]) -> dict[int, int]:
    """Return how many nanoseconds the threads of each process have waited for a core."""
    delays = {}
    for pid in pids:
        total = 0
        try:
            for thread in psutil.Process(pid).threads():
                total += int(Path(f"/proc/{pid}/task/{thread.id}/schedstat").read_text().split()[1])
        except (OSError, psutil.Error):  # it has ended
            total = 0
        delays[pid] = total
    return delays


def _queues(one: Platform) -> dict[str, tuple[float, float]]:
    """Return how many requests have waited in each queue, and for how long."""
    lines = one.metrics()[1].decode().splitlines()

    def total(name: str) -> float:
        return sum(
            float(line.rpartition(" ")[2]) for line in lines if line.startswith((name + "{", name + " "))
        )

    return {name.split("_")[1]: (total(name + "_count"), total(name + "_sum")) for name in _QUEUES}


def _lines(path: Path) -> list[tuple[int, ...]]:
    if not path.exists():
        return []
    return [tuple(map(int, line.split())) for line in path.read_text().splitlines()]


def main() -> int:
    """Run the benchmark; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workloads", default="by_pk,insert1", help="comma separated; those of tests.bench.rest"
    )
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each workload")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("tails", BUDGETS)
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        pauses = Path(folder) / "pauses"
        noted = (
            "env",
            f"{VARIABLE}={pauses}",
            f"PYTHONPATH={Path(__file__).parent / 'gc_pauses'}:{Path.cwd()}",
        )
        with platform(environment=MANY_CLIENTS, prefix=noted) as one:
            asyncio.run(prepare(one.values["DB_URL"]))
            one.wait_for_catalog("items")
            known = workloads(f"127.0.0.1:{one.port}", {"apikey": one.values["ANON_KEY"]})
            for name in options.workloads.split(","):
                requests = known[name]()
                drive(("127.0.0.1", one.port), requests, options.connections, _WARM_S)
                show(name, [measured(one, requests, options, pauses) for _ in range(options.repeat)], figures)
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
