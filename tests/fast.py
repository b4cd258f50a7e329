"""The fast run (`make test-fast`): pure steps and one database; what needs a server of another kind is skipped."""

import os

import pytest

FAST = "TESTS_FAST"
"""Environment variable that is set in a fast run."""


def is_fast_run() -> bool:
    """Return whether this is a fast run."""
    return bool(os.environ.get(FAST))


def skip_in_fast_run(started: str) -> None:
    """Skip the test that is about to start something, if this is a fast run."""
    if is_fast_run():
        pytest.skip(f"the fast run starts no {started}")
