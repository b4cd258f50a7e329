"""The REST cases that passed once pass for ever."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.conformance.recorded import CASES, compare, require_cases
from tests.conformance.rest.__main__ import Outcome


@pytest.mark.timeout(600)
def test_the_cases_that_fail_are_those_that_are_recorded(tmp_path: Path) -> None:
    require_cases(CASES / "rest")
    report = tmp_path / "outcomes.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.rest", "--json", str(report)],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = msgspec.json.decode(report.read_bytes(), type=list[Outcome])
    failing = {str(case["id"]) for outcome in outcomes for case in outcome.failed}
    total = sum(outcome.total for outcome in outcomes)
    why = "\n".join(str(case) for outcome in outcomes for case in outcome.failed)
    compare(failing, total, Path(__file__).with_name("failing.txt"), why)
