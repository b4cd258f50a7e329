"""A run over several processes: its last lines, reports of any text, a process that dies, fixtures of groups."""

import subprocess
import sys
from pathlib import Path

SOME_TESTS = """
import sys
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="another time")
def test_skipped_passes():
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
from tests.run.options import pytest_addoption, pytest_configure
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
    output = run(tmp_path, CONFTEST, "-k", "passes", "-ra")

    assert "1 passed, 1 skipped" in output
    assert "test_some.py:8: another time" in output
    assert "Traceback" not in output
    assert "what failed" not in output


GROUPS = """
import os, pathlib, signal
import pytest

HERE = pathlib.Path(__file__).parent

@pytest.fixture(scope="module")
def made(request):
    with (HERE / "made").open("a") as file:
        file.write(f"{request.module.__name__} {os.getpid()}\\n")
    yield
    with (HERE / "ended").open("a") as file:
        file.write(f"{request.module.__name__} {os.getpid()}\\n")

@pytest.mark.parametrize("number", range(20))
def test_in_order(made, number, tmp_path):
    if number == 7 and DIES:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_module_runs_in_one_process_which_ends_its_fixtures(tmp_path: Path) -> None:
    output = run(
        tmp_path, CONFTEST, "--ignore=test_some.py", a=f"DIES = False\n{GROUPS}", b=f"DIES = False\n{GROUPS}"
    )

    assert "40 passed" in output
    made = (tmp_path / "made").read_text().split()
    assert made[::2] in (["test_a", "test_b"], ["test_b", "test_a"])
    assert sorted((tmp_path / "ended").read_text().splitlines()) == sorted(
        (tmp_path / "made").read_text().splitlines()
    )


def test_a_process_that_dies_fails_its_test_and_another_one_runs_the_rest(tmp_path: Path) -> None:
    output = run(
        tmp_path, CONFTEST, "--ignore=test_some.py", a=f"DIES = True\n{GROUPS}", b=f"DIES = False\n{GROUPS}"
    )

    assert "1 failed, 39 passed" in output
    assert "test_a.py::test_in_order[7] (call): the process that ran this test ended with -9" in output


def run(folder: Path, conftest: str, *arguments: str, **modules: str) -> str:
    """Run some tests and those of `modules` over two processes, and return what was printed."""
    (folder / "conftest.py").write_text(conftest)
    for name, text in {"some": SOME_TESTS, **modules}.items():
        (folder / f"test_{name}.py").write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--processes=2",
            "-p",
            "no:cacheprovider",
            *arguments,
        ],
        cwd=folder,
        # In a root of its own: pytest closes the folder of all runs to other users when it starts, under this run's servers.
        env={
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "PATH": "/usr/bin:/bin",
            "PYTEST_DEBUG_TEMPROOT": str(folder),
        },
        capture_output=True,
        text=True,
        errors="replace",
        timeout=250,
    )
    return done.stdout
