"""Slopes of figures over sizes."""

import pytest

from tests.bench import cpu
from tests.bench.growth.shares import serial_part
from tests.bench.growth.slope import Growth, add
from tests.bench.table import Figures


@pytest.mark.parametrize(
    ("points", "slope"),
    [
        ([(10, 100), (20, 150), (30, 200)], 5.0),
        ([(1, 3), (2, 3), (4, 3)], 0.0),
        ([(1, 4), (2, 2)], -2.0),
        ([(0, 0), (1, 2), (2, 1)], 0.5),
        ([(7, 3)], 0.0),
    ],
)
def test_the_slope_is_what_a_further_one_adds(points: list[tuple[float, float]], slope: float) -> None:
    assert Growth("memory", "tables", "MB", points).slope == pytest.approx(slope)


def test_points_and_slope_become_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "load", lambda: 0.0)
    figures = Figures("growth")

    add(figures, Growth("memory", "tables", "MB", [(10, 100), (2000, 299)]))

    assert {name: figure.value for name, figure in figures.measured.items()} == {
        "memory, 10 tables": 100,
        "memory, 2000 tables": 299,
        "memory: slope by tables": 0.1,
    }


def test_the_serial_part_is_what_the_law_of_amdahl_makes_of_the_rates():
    quarter = [(1, 100.0), (2, 160.0), (4, 100 / (0.25 + 0.75 / 4))]

    assert serial_part([(1, 50.0), (2, 100.0), (4, 200.0)]) == pytest.approx(0)
    assert serial_part([(1, 50.0), (2, 50.0)]) == pytest.approx(1)
    assert serial_part(quarter) == pytest.approx(0.25)
