"""What all tests share: one Postgres server a run, and the names of what lies beside the repository."""

import gc
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator

import pytest
from hypothesis import settings

from broker.observability.observe import reset_repeats
from tests.fast import FAST
from tests.prepared import RUN_FOLDER, is_prepared
from tests.run import options
from tests.run.left_out import MOST_EXAMPLES_FAST
from tests.run.memory_folder import use_memory
from tests.run.options import pytest_addoption as pytest_addoption
from tests.workers.database.own_server import OwnServer, shared_server

settings.register_profile(
    "gate", deadline=None, print_blob=True
)  # examples that failed are kept in .hypothesis
settings.register_profile("short", settings.get_profile("gate"), max_examples=MOST_EXAMPLES_FAST)
settings.load_profile("short" if os.environ.get(FAST) else "gate")

_LONGEST_ID = 48
_RANDOM = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of what the run prepares once; the processes of the run inherit its name."""
    if config.getoption("processes") > 1 and (delete := use_memory(os.environ)):
        config.add_cleanup(delete)
    if not is_prepared():
        folder = tempfile.mkdtemp(prefix="headwater-tests-")
        os.chmod(folder, 0o711)
        os.environ[RUN_FOLDER] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    options.pytest_configure(config)
    if config.getoption("without_long"):
        settings.load_profile("short")


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[OwnServer]:
    """A running Postgres server for the whole run; tests make databases of their own in it."""
    async with shared_server(wal_level="logical", max_connections="200") as one:
        yield one


@pytest.fixture(autouse=True)
def no_repeated_lines() -> None:
    """Have each test's warnings written: a line that repeats one of another test would only be counted."""
    reset_repeats()


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed of the property tests: the same seed makes the same examples."""
    return f"hypothesis seed: {config.getoption('hypothesis_seed')}"


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: there is none."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take what was collected out of the collector's sight: it stays for the whole run."""
    gc.freeze()
    gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name long and random texts by their argument: a test has one name in every run."""
    is_long = isinstance(val, str | bytes) and len(val) > _LONGEST_ID
    return argname if is_long or (isinstance(val, str) and _RANDOM.search(val)) else None
