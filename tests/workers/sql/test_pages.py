"""Bounds on pages."""

import pytest

from workers.sql.pages import magnitude


@pytest.mark.parametrize(
    ("rows", "bound"),
    [
        (0, 64),
        (64, 64),
        (65, 256),
        (1024, 1024),
        (1025, 4096),
        (1 << 20, 1 << 20),
        ((1 << 20) + 1, None),
        (-1, None),
    ],
)
def test_a_bound_is_the_next_power_of_four(rows: int, bound: int | None) -> None:
    assert magnitude(rows) == bound
