"""The lines and the closing table of a benchmark: figures, what is wanted of them, and CPU per request by process.

A benchmark names its budgets beside its workloads (`BUDGETS`), adds every figure to `Figures` and ends with `finish`, which
prints `work | today | wanted | met` and, with `--record`, appends a line to the history (`tests.bench.history`).
"""

import argparse
import asyncio
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import cpu
from tests.bench.calibration import calibrate
from tests.bench.history import HISTORY, Measured, append, line_of
from tests.bench.load import Outcome, drive
from tests.platform import Platform

HEADING = (
    f"{'workload':13}{'conns':>6}{'req/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'errors':>8}{'cpu ms':>8}"
    "  CPU ms per request by process"
)
GROUPS = ("edge", "nats", "worker", "postgres")
"""The processes whose CPU time is counted for a request."""

Run = tuple[Outcome, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Budget:
    """What is wanted of a figure: at most `wanted`, or at least so much."""

    figure: str
    wanted: float
    is_least: bool = False


class Figures:
    """The figures of a run of a benchmark beside their budgets."""

    def __init__(self, benchmark: str, budgets: Sequence[Budget] = ()) -> None:
        self.benchmark = benchmark
        self.measured: dict[str, Measured] = {}
        self.notes: dict[str, str] = {}
        self._budgets = {budget.figure: budget for budget in budgets}
        self._load = cpu.load()

    def add(self, name: str, value: float, unit: str) -> None:
        """Add a figure. One that is added again replaces the former."""
        budget = self._budgets.get(name)
        wanted, is_least = (budget.wanted, budget.is_least) if budget else (None, False)
        self.measured[name] = Measured(round(value, 6), unit, wanted, is_least)

    def wrong(self, text: str) -> None:
        """Print that answers or stored rows are not what they should be, and record it with the figures."""
        print(f"   WRONG: {text}", flush=True)
        self.notes["wrong"] = "; ".join(filter(None, (self.notes.get("wrong"), text)))

    def finish(self, record: Path | None) -> bool:
        """Print the figures that have a budget, and append a line to the history; False where a budget is missed."""
        measured = {f"{self.benchmark} {name}": figure for name, figure in self.measured.items()}
        text = table({name: figure for name, figure in measured.items() if figure.wanted is not None})
        if text:
            print(f"\n{text}", flush=True)
        if record is not None:
            speed = asyncio.run(calibrate())
            print(f"the machine takes {speed.factor:.2f} of the reference's time (tests.bench.calibration)")
            append(record, line_of(self.benchmark, self.measured, self._load, self.notes, speed))
        return all(figure.is_met is not False for figure in self.measured.values())


def add_record_option(parser: argparse.ArgumentParser) -> None:
    """Add `--record [FILE]`: append the figures of the run to the history."""
    parser.add_argument(
        "--record",
        type=Path,
        nargs="?",
        const=HISTORY,
        metavar="FILE",
        help=f"append the figures to a file; without a name to {HISTORY.name}",
    )


def table(figures: dict[str, Measured]) -> str:
    """Return figures as lines `work | today | wanted | met`; empty text without any."""
    if not figures:
        return ""
    rows = [("work", "today", "wanted", "met"), *(_row(name, figure) for name, figure in figures.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _row(name: str, figure: Measured) -> tuple[str, str, str, str]:
    today = f"{number(figure.value)} {figure.unit}".rstrip()
    if figure.wanted is None:
        return name, today, "", ""
    wanted = f"{'>=' if figure.is_least else '<='} {number(figure.wanted)}"
    return name, today, wanted, "yes" if figure.is_met else "no"


def number(value: float) -> str:
    """Return a number with three or four digits that count."""
    size = abs(value)
    digits = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3 if size >= 0.01 else 5
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True, slots=True)
class Medians:
    """The medians of some runs of a workload: rate, latencies and CPU of all processes per request in milliseconds."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    by_group: dict[str, float]


def run(
    one: Platform,
    address: tuple[str, int],
    requests: Sequence[bytes],
    connections: int,
    seconds: float,
    more: Sequence[int] = (),
) -> Run:
    """Drive a platform once; return the outcome and the CPU milliseconds per request of each process group.

    `more` are processes of it that are no children of its own.
    """
    pids = cpu.groups_of([one.pid, *more])
    before = cpu.spent(pids)
    outcome = drive(address, requests, connections, seconds)
    pids |= cpu.groups_of([one.pid, *more])
    used = cpu.difference(before, cpu.spent(pids), pids)
    count = max(1, sum(outcome.statuses.values()))
    return outcome, {group: seconds_used / count * 1000 for group, seconds_used in used.items()}


def medians(runs: Sequence[Run]) -> Medians:
    """Return the medians of some runs."""

    def median(of: Callable[[Run], float]) -> float:
        return statistics.median(of(pair) for pair in runs)

    by_group = {group: median(lambda pair, group=group: pair[1].get(group, 0.0)) for group in GROUPS}  # type: ignore[misc]  # a default binds the loop's name
    return Medians(
        median(lambda pair: pair[0].per_second),
        median(lambda pair: pair[0].percentile_ms(0.5)),
        median(lambda pair: pair[0].percentile_ms(0.99)),
        sum(by_group.values()),
        by_group,
    )


def show(name: str, connections: int, runs: Sequence[Run], figures: Figures | None = None) -> Medians:
    """Print the medians of some runs and add them to the figures as `workload at connections: ...`; return them."""
    line, errors = medians(runs), sum(outcome.errors for outcome, _ in runs)
    parts = " ".join(f"{group}={value:.3f}" for group, value in line.by_group.items())
    print(
        f"{name:13}{connections:6}{line.per_second:9.0f}{line.p50_ms:9.2f}{line.p99_ms:9.2f}{errors:8}"
        f"{line.cpu_ms:8.3f}  {parts}",
        flush=True,
    )
    if figures is not None:
        work = f"{name} at {connections}"
        figures.add(f"{work}: CPU", line.cpu_ms, "ms")
        figures.add(f"{work}: rate", line.per_second, "/s")
        figures.add(f"{work}: p50", line.p50_ms, "ms")
        figures.add(f"{work}: p99 to p50", line.p99_ms / line.p50_ms, "x")
        for group, value in line.by_group.items():
            figures.add(f"{work}: CPU of {group}", value, "ms")
    return line
