"""The closing table of a benchmark, and its line in the history."""

from pathlib import Path

import pytest

from tests.bench import cpu, history
from tests.bench import table as table_module
from tests.bench.calibration import Calibration
from tests.bench.history import Measured
from tests.bench.table import Budget, Figures, number, table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.00123, "0.00123"),
        (0.2, "0.2"),
        (0.2516, "0.252"),
        (3.14159, "3.14"),
        (250, "250"),
        (471.27, "471.3"),
        (9853.4, "9,853"),
        (1_000_000, "1,000,000"),
    ],
)
def test_a_number_shows_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_table_says_what_is_wanted_and_whether_it_is_met() -> None:
    figures = {
        "rest CPU": Measured(0.25, "ms", 0.2),
        "storage rate": Measured(4500, "/s", 4000, is_least=True),
        "idle": Measured(240, "MB"),
    }

    lines = [[cell.strip() for cell in line.split("|")] for line in table(figures).splitlines()]

    assert lines == [
        ["work", "today", "wanted", "met"],
        ["rest CPU", "0.25 ms", "<= 0.2", "no"],
        ["storage rate", "4,500 /s", ">= 4,000", "yes"],
        ["idle", "240 MB", "", ""],
    ]
    assert table({}) == ""


def test_a_run_is_recorded_with_its_budgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cpu, "load", lambda: 0.25)
    speed = Calibration(2, 2, 2)

    async def measured() -> Calibration:
        return speed

    monkeypatch.setattr(table_module, "calibrate", measured)
    figures = Figures("rest", [Budget("by key: CPU", 0.2), Budget("download: rate", 100, is_least=True)])
    figures.add("by key: CPU", 0.25, "ms")
    figures.add("by key: rate", 5000, "/s")
    figures.notes["peer"] = "1.0"
    figures.wrong("insert: acknowledged 2 rows, stored 1")
    figures.wrong("upload: 500")

    is_met = figures.finish(tmp_path / "history.jsonl")

    (line,) = history.read(tmp_path / "history.jsonl")
    assert not is_met
    assert (line.benchmark, line.load, line.is_busy, line.notes) == (
        "rest",
        0.25,
        True,
        {
            "peer": "1.0",
            "wrong": "insert: acknowledged 2 rows, stored 1; upload: 500",
        },
    )
    assert line.figures == {
        "by key: CPU": Measured(0.25, "ms", 0.2),
        "by key: rate": Measured(5000, "/s"),
    }
    assert line.calibration == speed
    assert line.machine == history.machine()
    assert line.commit == history.commit()
    shown = capsys.readouterr().out
    assert "rest by key: CPU" in shown
    assert "rate" not in shown


def test_a_run_without_record_whose_budgets_are_met_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cpu, "load", lambda: 0.0)
    figures = Figures("rest", [Budget("by key: CPU", 0.2)])
    figures.add("by key: CPU", 0.2, "ms")

    assert figures.finish(None)
