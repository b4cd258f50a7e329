"""The benchmarks of the budgets, one after the other, and one table of all: work, today, wanted, met.

    python -m tests.bench.all [--seconds 3] [--repeat 3] [--only rest,auth] [--record]

Less than 15 minutes with the defaults on a quiet machine. Each benchmark is a program of its own that starts and stops its
platform; a benchmark that fails, or gets wrong answers, is named. With --record each adds its line to the history.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import cpu, history
from tests.bench.table import add_record_option, table


@dataclass(frozen=True, slots=True)
class Part:
    """A run of a benchmark: its module and its arguments beside --seconds and --repeat."""

    module: str
    arguments: tuple[str, ...] = ()
    is_timed: bool = True
    """Takes --seconds and --repeat."""


PARTS = (
    Part("memory", is_timed=False),
    Part("rest", ("--workloads", "by_pk", "--connections", "1,32,256")),
    Part("rest", ("--workloads", "embed,insert1,insert1000,rpc", "--connections", "32")),
    Part("graphql"),
    Part("auth", ("--workloads", "sign_in", "--connections", "8,32")),
    Part("auth", ("--workloads", "refresh,user", "--connections", "32")),
    Part("storage", ("--workloads", "upload,download,list-any", "--connections", "16")),
    Part("planning", is_timed=False),
    Part("projects", ("--projects", "5", "--pairs", "3"), is_timed=False),
)


def run_part(part: Part, record: Path, options: argparse.Namespace) -> bool:
    """Run a benchmark in a process of its own; True where it recorded a line."""
    timed = ["--seconds", str(options.seconds), "--repeat", str(options.repeat)] if part.is_timed else []
    command = [
        sys.executable, "-m", f"tests.bench.{part.module}", *part.arguments, *timed, "--record", str(record),
    ]  # fmt: skip
    before = len(history.read(record))
    print(f"\n== {part.module} {' '.join(part.arguments)}", flush=True)
    subprocess.run(command, env=os.environ, check=False)
    return len(history.read(record)) > before


def merged(lines: Sequence[history.HistoryLine], load: float) -> list[history.HistoryLine]:
    """Return one line for each benchmark, with the figures of all its runs and the load before the first of them."""
    by_benchmark: dict[str, history.HistoryLine] = {}
    for line in lines:
        former = by_benchmark.get(line.benchmark)
        figures = {**(former.figures if former else {}), **line.figures}
        notes = {**(former.notes if former else {}), **line.notes}
        by_benchmark[line.benchmark] = history.HistoryLine(
            line.date, line.commit, line.machine, load, line.benchmark, figures, notes, line.calibration
        )
    return list(by_benchmark.values())


def main() -> int:
    """Run all benchmarks and print the table; 1 where a budget is missed or a benchmark failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median counts")
    parser.add_argument("--only", default="", help="benchmarks, comma separated; default: all")
    add_record_option(parser)
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [part.module for part in PARTS]
    load, began = round(cpu.load(), 2), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        record = Path(folder) / "figures.jsonl"
        failed = [
            part.module for part in PARTS if part.module in chosen and not run_part(part, record, options)
        ]
        lines = merged(history.read(record), load)
    for line in lines if options.record else ():
        history.append(options.record, line)
    measured = {
        f"{line.benchmark} {name}": figure
        for line in lines
        for name, figure in line.figures.items()
        if figure.wanted is not None
    }
    print(f"\n{history.machine()}; other programs used {load:.0%} of it before; commit {history.commit()}")
    print(table(measured))
    met = sum(figure.is_met is True for figure in measured.values())
    print(f"\n{met} of {len(measured)} budgets met, in {time.monotonic() - began:.0f} s")
    failed += [f"{line.benchmark} ({line.notes['wrong']})" for line in lines if "wrong" in line.notes]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 0 if met == len(measured) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
