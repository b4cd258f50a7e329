"""The history of the benchmarks and the drift of figures."""

import sys
from pathlib import Path

import msgspec
import pytest

from tests.bench import history
from tests.bench.calibration import REFERENCE, Calibration
from tests.bench.history import HistoryLine, Measured, append, drift, newest, read


def _line(
    value: float, benchmark: str = "rest", machine: str = "two cores", load: float = 0.0, **more: Measured
) -> HistoryLine:
    figures = {"CPU": Measured(value, "ms"), **more}
    return HistoryLine("2026-11-23T12:00:00+00:00", "abc", machine, load, benchmark, figures)


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    lines = [_line(1.0), _line(2.0, rate=Measured(10, "/s", 9, is_least=True))]

    for line in lines:
        append(path, line)

    assert read(path) == lines
    assert read(tmp_path / "absent") == []


def test_the_recorded_history_can_be_read() -> None:
    assert all(line.figures and line.commit and line.machine for line in read(history.HISTORY))


def test_the_newest_line_of_a_benchmark_is_its_last() -> None:
    lines = [_line(1.0), _line(2.0), _line(3.0, "auth")]

    assert newest(lines, "rest") == lines[1]
    assert newest(lines, "storage") is None


@pytest.mark.parametrize(
    ("figure", "is_met"),
    [
        (Measured(1, "ms"), None),
        (Measured(1, "ms", 1), True),
        (Measured(1.1, "ms", 1), False),
        (Measured(1.1, "x", 1, is_least=True), True),
        (Measured(0.9, "x", 1, is_least=True), False),
    ],
)
def test_a_budget_is_an_upper_or_a_lower_bound(figure: Measured, is_met: bool | None) -> None:
    assert figure.is_met is is_met


def test_drift_compares_with_the_median_of_the_last_runs_of_the_same_machine() -> None:
    lines = [
        _line(100.0),
        _line(1.0),
        _line(5.0, machine="four cores"),
        _line(2.0),
        _line(3.0),
        _line(9.0, "auth"),
        _line(4.0),
    ]

    (one,) = drift(lines, "rest", 3)

    assert (one.name, one.value, one.before, one.runs, one.worse) == ("CPU", 4.0, 2.0, 3, 2.0)
    assert drift(lines, "rest", 0) == []
    assert drift(lines, "images", 3) == []


def test_lines_of_a_known_speed_are_compared_as_the_reference_would_have_them() -> None:
    half = Calibration(*(2 * part for part in msgspec.structs.astuple(REFERENCE)))
    figures = {
        "CPU": Measured(2.0, "ms"),
        "rate": Measured(50, "/s"),
        "ratio": Measured(2, "x"),
        "idle": Measured(9, "MB"),
    }
    slow = HistoryLine("2026-11-29", "b", "two cores", 0.0, "rest", figures, {}, half)
    quick = {
        "CPU": Measured(1.0, "ms"),
        "rate": Measured(100, "/s"),
        "ratio": Measured(2, "x"),
        "idle": Measured(9, "MB"),
    }
    before = HistoryLine("2026-11-28", "a", "two cores", 0.0, "rest", quick, {}, REFERENCE)

    drifts = drift([_line(50.0), before, slow], "rest", 10)

    assert {one.name: (one.value, one.worse) for one in drifts} == {
        "CPU": (pytest.approx(1.0), pytest.approx(1.0)),
        "rate": (pytest.approx(100), pytest.approx(1.0)),
        "ratio": (2, 1.0),
        "idle": (9, 1.0),
    }


def test_a_rate_that_falls_is_worse_and_the_worst_comes_first() -> None:
    lines = [
        _line(1.0, rate=Measured(100, "/s"), ratio=Measured(2, "x", 1.5, is_least=True)),
        _line(1.0, rate=Measured(50, "/s"), ratio=Measured(1, "x", 1.5, is_least=True), new=Measured(1, "")),
    ]

    assert [(one.name, one.worse) for one in drift(lines, "rest", 10)] == [
        ("rate", 2.0),
        ("ratio", 2.0),
        ("CPU", 1.0),
    ]


def test_the_command_prints_what_drifted_and_fails_where_it_became_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.jsonl"
    for line in (_line(1.0), _line(1.05), _line(2.0, load=0.7)):
        append(path, line)
    monkeypatch.setattr(sys, "argv", ["history", "--file", str(path)])

    assert history.main() == 1

    shown = capsys.readouterr().out
    assert "the machine was busy" in shown
    assert "1.95 x worse  CPU: 2 ms, median of 2 runs before 1.025" in shown


def test_the_command_is_silent_about_figures_that_stayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.jsonl"
    for line in (_line(1.0), _line(1.05)):
        append(path, line)
    monkeypatch.setattr(sys, "argv", ["history", "--file", str(path)])

    assert history.main() == 0

    assert "CPU" not in capsys.readouterr().out
