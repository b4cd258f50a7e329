"""The gate's repetition of a few failed tests: each of them runs again, whatever group it belongs to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fast import skip_in_fast_run

_SCRIPT = Path(__file__).parents[1] / "scripts" / "check-tests"
_TEST = """
import pathlib, pytest

{mark}
def test_fails_once():
    path = pathlib.Path(__file__).with_suffix(".ran")
    was_there = path.exists()
    path.touch()
    assert was_there and {passes_then}
"""


def _failing(group: str, *, passes_then: bool = True) -> str:
    """Return a module with a test that fails the first time it runs."""
    return _TEST.format(
        mark=f"@pytest.mark.process_group({group!r})" if group else "", passes_then=passes_then
    )


def _checked(folder: Path, modules: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the script over a project of such modules."""
    skip_in_fast_run("processes of pytest")
    (folder / "scripts").mkdir()
    script = shutil.copy(_SCRIPT, folder / "scripts")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = process_group(name)\n")
    (folder / "conftest.py").write_text("from tests.run.options import pytest_addoption, pytest_configure\n")
    for name, text in modules.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "--processes=2", "-p", "no:asyncio"]
    return subprocess.run(
        [sys.executable, script, *command],
        # In a root of its own: pytest closes the folder of all runs to other users when it starts, under this run's servers.
        env={**os.environ, "PYTHONPATH": str(_SCRIPT.parents[1]), "PYTEST_DEBUG_TEMPROOT": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def test_all_that_failed_once_run_again(tmp_path: Path) -> None:
    done = _checked(tmp_path, {"a": _failing("one"), "b": _failing(""), "c": _failing("two")})

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout.partition("once more: the 3 that failed")[2]


@pytest.mark.parametrize("group", ["", "one"])
def test_what_fails_again_fails_the_check(tmp_path: Path, group: str) -> None:
    done = _checked(tmp_path, {"a": _failing(""), "b": _failing(group, passes_then=False)})

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout.partition("once more: the 2 that failed")[2]
