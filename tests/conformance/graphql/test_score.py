"""The score of the GraphQL cases never falls. The cases lie beside the repository; without them there is nothing to run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.graphql.__main__ import DEFAULT

RECORDED = int((Path(__file__).parent / "score.txt").read_text())
MESSAGES = 90
"""Messages of failures, all of them word for word."""


@pytest.mark.skipif(not DEFAULT.is_dir(), reason="the conformance cases are not beside the repository")
@pytest.mark.timeout(600)
def test_the_score_is_not_below_the_recorded_one() -> None:
    pytest.importorskip("psycopg", reason="the runner of the cases works with it")
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.graphql"],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    found = re.search(r"GraphQL conformance: (\d+)/\d+, messages (\d+)/\d+", done.stdout)

    assert found, done.stdout + done.stderr
    assert int(found[1]) >= RECORDED, done.stdout
    assert int(found[2]) >= MESSAGES, done.stdout
