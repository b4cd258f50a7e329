"""The history of the benchmarks, one line of JSON a run, and how far each figure has drifted.

    python -m tests.bench.history [--last 10] [--figure TEXT] [--all] [--file tests/bench/history.jsonl]

Compares the newest line of each benchmark with the median of the lines before it that come from the same machine, and prints
the figures that differ by more than a tenth, the worst first. A line holds date, commit, machine, the share of the cores that
other programs used when the run began, how fast the machine was (`tests.bench.calibration`), and the figures with their units and
budgets. Times and rates of lines that have a calibration are compared as the reference machine would have them, and only with
each other.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psutil

from tests.bench.calibration import Calibration

HISTORY = Path(__file__).parent / "history.jsonl"
RISING_UNITS = ("/s", "MB/s")
"""Units of figures that are better when they are larger, unless their budget says otherwise."""
_TIMES = ("us", "ms", "s")
_NOTABLE = 0.1


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure with its unit, and its budget where it has one: at most `wanted`, or at least."""

    value: float
    unit: str
    wanted: float | None = None
    is_least: bool = False

    @property
    def is_met(self) -> bool | None:
        """Whether the budget is met; None without one."""
        if self.wanted is None:
            return None
        return self.value >= self.wanted if self.is_least else self.value <= self.wanted


class HistoryLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of one benchmark. `load` is the share of the cores that other programs used when it began."""

    date: str
    commit: str
    machine: str
    load: float
    benchmark: str
    figures: dict[str, Measured]
    notes: dict[str, str] = {}
    """What figures depend on beside the machine: versions of others, parts that were left out and why."""
    calibration: Calibration | None = None
    """How fast the machine was at the end of the run; None in lines of before it was measured."""

    def at_reference(self) -> "HistoryLine":
        """Return the line with times and rates as the reference machine would have them; itself without a calibration."""
        if self.calibration is None:
            return self
        figures = {name: _scaled(figure, self.calibration.factor) for name, figure in self.figures.items()}
        return msgspec.structs.replace(self, figures=figures)

    @property
    def is_busy(self) -> bool:
        """Whether the machine had other work, so that rates and latencies of the run prove nothing."""
        return self.load > 0.1


@dataclass(frozen=True, slots=True)
class Drift:
    """A figure beside the median of the runs before; `worse` is above 1 where it became worse."""

    name: str
    value: float
    before: float
    runs: int
    unit: str
    worse: float


def _scaled(figure: Measured, factor: float) -> Measured:
    """Divide a time and multiply a rate; other figures do not depend on the speed of the machine."""
    if figure.unit in _TIMES:
        return msgspec.structs.replace(figure, value=figure.value / factor)
    if figure.unit in RISING_UNITS:
        return msgspec.structs.replace(figure, value=figure.value * factor)
    return figure


def machine() -> str:
    """Return what figures depend on: cores, processor, memory and system."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    memory = psutil.virtual_memory().total / 2**30
    return f"{len(os.sched_getaffinity(0))} cores of {models[0] if models else platform.machine()}, {memory:.0f} GiB, {platform.system()} {platform.release().partition('-')[0]}"


def commit() -> str:
    """Return the commit of the checkout, with `+` where files differ from it."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=HISTORY.parent, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/tests/bench/history.jsonl")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def line_of(
    benchmark: str,
    figures: dict[str, Measured],
    load: float,
    notes: dict[str, str],
    calibration: Calibration | None = None,
) -> HistoryLine:
    """Return the line of a run that ends now."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return HistoryLine(date, commit(), machine(), round(load, 2), benchmark, figures, notes, calibration)


def append(path: Path, line: HistoryLine) -> None:
    """Append a line to a history."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def read(path: Path) -> list[HistoryLine]:
    """Return the lines of a history, the oldest first; none if there is no file. Raises: msgspec.DecodeError."""
    if not path.exists():
        return []
    return [msgspec.json.decode(text, type=HistoryLine) for text in path.read_bytes().splitlines() if text]


def newest(lines: Iterable[HistoryLine], benchmark: str) -> HistoryLine | None:
    """Return the last line of a benchmark."""
    of_it = [line for line in lines if line.benchmark == benchmark]
    return of_it[-1] if of_it else None


def drift(lines: Sequence[HistoryLine], benchmark: str, last: int) -> list[Drift]:
    """Compare the newest line of a benchmark with up to `last` lines before it of the same machine; the worst first."""
    now = newest(lines, benchmark)
    if now is None:
        return []
    before = [
        line.at_reference()
        for line in lines
        if line.benchmark == benchmark
        and line.machine == now.machine
        and (line.calibration is None) == (now.calibration is None)
    ]
    before = before[:-1][-last:] if last > 0 else []
    now, drifts = now.at_reference(), []
    for name, figure in now.figures.items():
        values = [line.figures[name].value for line in before if name in line.figures]
        median = statistics.median(values) if values else 0.0
        if median and figure.value:
            is_rising = figure.is_least or (figure.wanted is None and figure.unit in RISING_UNITS)
            worse = median / figure.value if is_rising else figure.value / median
            drifts.append(Drift(name, figure.value, median, len(values), figure.unit, worse))
    return sorted(drifts, key=lambda one: -one.worse)


def main() -> int:
    """Print what drifted; 1 where a figure became worse by more than a tenth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--last", type=int, default=10, help="lines before the newest that count")
    parser.add_argument("--figure", default="", help="only figures whose name contains this text")
    parser.add_argument("--all", action="store_true", help="also figures that stayed the same")
    parser.add_argument("--file", type=Path, default=HISTORY)
    options = parser.parse_args()
    lines, is_worse = read(options.file), False
    for benchmark in dict.fromkeys(line.benchmark for line in lines):
        now = newest(lines, benchmark)
        assert now is not None
        busy = " (the machine was busy)" if now.is_busy else ""
        print(f"{benchmark}: {now.date}, {now.commit}, load {now.load}{busy}")
        for one in drift(lines, benchmark, options.last):
            is_notable = abs(one.worse - 1) > _NOTABLE
            is_worse |= one.worse - 1 > _NOTABLE
            if options.figure in f"{benchmark} {one.name}" and (is_notable or options.all or options.figure):
                word = "worse" if one.worse > 1 else "better"
                print(
                    f"  {one.worse if one.worse > 1 else 1 / one.worse:5.2f} x {word:7}{one.name}: {one.value:g} {one.unit},"
                    f" median of {one.runs} runs before {one.before:g}"
                )
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
