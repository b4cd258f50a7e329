import os

import pytest

from services.supervisor.processes.detach import LOST, run_detached


def test_what_the_platform_says_while_starting_is_relayed(notes):
    def run(report):
        report.info(f"I am {os.getpid()}")
        report.warn("careful")
        report.ready({"A": "1"}, 0.5)
        report.info("nobody hears this")
        return 3

    code = run_detached(run, notes)

    assert code == 0
    assert notes.lines != [f"I am {os.getpid()}"]
    assert len(notes.lines) == 1
    assert notes.warnings == ["careful"]
    assert notes.values == {"A": "1"}


def test_a_start_that_is_refused_gives_its_exit_code(notes):
    assert run_detached(lambda report: 2, notes) == 2


def test_a_defect_is_told(notes):
    def run(report):
        raise ValueError("a defect")

    assert run_detached(run, notes) == LOST
    assert "ValueError: a defect" in notes.warnings[0]


@pytest.mark.parametrize("code", [0, 9])
def test_a_platform_that_vanishes_is_told(notes, code):
    assert run_detached(lambda report: os._exit(code), notes) == LOST
    assert "ended while it was starting" in notes.warnings[0]
