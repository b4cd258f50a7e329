"""Folders that a run of the tests makes once: the first process that needs one makes it, and every use is a copy.

A copy of a new database takes 0.1 s of CPU, its making 1.5 s. The environment variable `TESTS_RUN_FOLDER` names the
folder of the run (`tests/conftest.py` sets it); without it, as in benchmarks, every use makes its own.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

RUN_FOLDER = "TESTS_RUN_FOLDER"
_COPY = ("cp", "-a", "--reflink=auto") if sys.platform == "linux" else ("cp", "-a")


def is_prepared() -> bool:
    """Return whether this process belongs to a run that keeps prepared folders."""
    return RUN_FOLDER in os.environ


def copy_prepared(name: str, target: Path, make: Callable[[Path], None]) -> None:
    """Make a folder as a copy of the run's folder of this name; `make(path)` makes that when it is missing."""
    if not is_prepared():
        make(target)
        return
    run = Path(os.environ[RUN_FOLDER])
    source, draft = run / name, run / f"{name}.draft"
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not source.exists():
            make(draft)
            draft.rename(source)
    subprocess.run([*_COPY, str(source), str(target)], check=True)
