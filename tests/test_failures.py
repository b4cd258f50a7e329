"""The last lines of a run that failed, and reports that show any text."""

import subprocess
import sys
from pathlib import Path

from tests.failures import encodable

SOME_TESTS = """
import sys
import pytest

def test_passes():
    pass

def test_fails_with_a_text_that_is_no_unicode():
    print("printed \\udcff")
    assert "\\ud800" == "expected \\udfff"

def test_needs_what_cannot_be_made(broken):
    pass

@pytest.fixture
def broken():
    raise RuntimeError("no such thing")
"""
CONFTEST = """
from tests.conftest import pytest_configure, pytest_report_to_serializable
"""
BROKEN = """
def pytest_runtest_logfinish(nodeid, location):
    raise KeyError("a plugin that is broken")
"""


def test_a_report_of_any_text_arrives_and_the_last_lines_name_what_failed(tmp_path: Path) -> None:
    output = run(tmp_path, CONFTEST)

    assert "INTERNALERROR" not in output
    _, *last = output[output.index("what failed:") :].splitlines()
    first, second = sorted(last)  # the two processes of the run report in any order
    assert first.startswith(
        "test_some.py::test_fails_with_a_text_that_is_no_unicode (call): AssertionError: assert"
    )
    assert second == "test_some.py::test_needs_what_cannot_be_made (setup): RuntimeError: no such thing"


def test_the_last_lines_name_the_first_internal_error(tmp_path: Path) -> None:
    output = run(tmp_path, CONFTEST + BROKEN)

    last = output[output.index("the first internal error:") :]
    assert "a plugin that is broken" in last


def test_a_run_without_failures_ends_with_the_summary_of_pytest(tmp_path: Path) -> None:
    output = run(tmp_path, CONFTEST, "-k", "passes")

    assert "1 passed" in output
    assert "what failed" not in output


def test_values_that_are_no_text_stay_as_they_are() -> None:
    assert encodable({"a": [1, None, ("x\ud800", 2.5)]}) == {"a": [1, None, ("x\\ud800", 2.5)]}


def run(folder: Path, conftest: str, *arguments: str) -> str:
    """Run some tests in a process of its own, and return what was printed."""
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_some.py").write_text(SOME_TESTS)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "2",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            *arguments,
        ],
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=250,
    )
    return done.stdout
