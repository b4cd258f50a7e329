"""CPU time between two readings."""

import pytest

from tests.bench import cpu


def test_a_process_that_has_ended_takes_nothing_from_its_group() -> None:
    groups = {1: "postgres", 2: "postgres", 3: "edge"}

    used = cpu.difference({1: 10.0, 2: 5.0}, {1: 11.5, 2: 0.0, 3: 0.25}, groups)

    assert used == {"postgres": pytest.approx(1.5), "edge": 0.25}
