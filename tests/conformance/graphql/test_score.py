"""The steps of the GraphQL cases that passed once pass for ever, and messages of errors that were equal stay equal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.recorded import CASES, compare, require_cases


@pytest.mark.timeout(600)
def test_the_steps_that_fail_are_those_that_are_recorded(tmp_path: Path) -> None:
    require_cases(CASES / "graphql")
    pytest.importorskip("psycopg", reason="the runner of the cases works with it")
    report = tmp_path / "steps.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.graphql", "--report", str(report)],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    steps = [json.loads(line) for line in report.read_text().splitlines()]
    failing = {f"{step['case']}#{step['n']}" for step in steps if not step["pass"]}
    failing |= {f"{step['case']}#{step['n']} message" for step in steps if step["message_equal"] is False}
    compare(failing, len(steps), Path(__file__).with_name("failing.txt"), done.stdout)
