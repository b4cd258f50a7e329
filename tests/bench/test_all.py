"""The run of all benchmarks: one line for each benchmark, whatever number of runs it takes."""

from importlib import import_module

from tests.bench.all import PARTS, merged
from tests.bench.history import HistoryLine, Measured


def test_runs_of_one_benchmark_become_one_line() -> None:
    def line(benchmark: str, commit: str, load: float, **figures: float) -> HistoryLine:
        measured = {name: Measured(value, "ms") for name, value in figures.items()}
        return HistoryLine("2026-11-23", commit, "two cores", load, benchmark, measured)

    lines = merged(
        [line("rest", "a", 0.0, first=1), line("auth", "b", 0.6, hash=2), line("rest", "c", 0.7, second=3)],
        0.01,
    )

    assert lines == [line("rest", "c", 0.01, first=1, second=3), line("auth", "b", 0.01, hash=2)]


def test_every_budget_stands_in_the_code_of_a_benchmark_that_is_run() -> None:
    names = {
        f"{part.module} {budget.figure}"
        for part in PARTS
        for budget in import_module(f"tests.bench.{part.module}").BUDGETS
    }

    assert {
        "rest by_pk at 32: CPU",
        "rest by_pk at 1: p50",
        "rest by_pk at 256: p99 to p50",
        "rest insert1000 to the fastest SQL",
        "graphql nested3 at 32: CPU of PostGraphile to ours",
        "auth sign_in at 8: CPU of the hash to ours",
        "storage upload 100 MB at 16: rate to bare aiohttp",
        "storage list-any at 16: rate",
        "planning new shape, mean of all reads: function calls",
        "memory idle platform",
    } <= names
