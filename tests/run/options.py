"""The options of a run and the plugins that they choose. Imports nothing of the product: tests of the run itself use it alone."""

import pytest

from tests.failures import FailureDigest
from tests.fast import is_fast_run
from tests.run.controller import ForkedRun
from tests.run.left_out import LONG, OF_CLIENTS, WithoutListed
from tests.run.uncollected import KnownModules


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of processes, and the choice of tests."""
    parser.addoption(
        "--processes", type=int, default=1, help="run the tests in this many forks of this process"
    )
    parser.addoption("--record-seconds", action="store_true", help="write tests/run/group_seconds.json anew")
    parser.addoption("--without-long", action="store_true", help="leave out what tests/long_tests.txt lists")
    parser.addoption(
        "--without-clients", action="store_true", help="leave out what tests/client_tests.txt lists"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register what the options choose."""
    config.pluginmanager.register(FailureDigest(), "failure-digest")
    if (processes := config.getoption("processes")) > 1:
        config.pluginmanager.register(ForkedRun(processes), "forked-run")
    without_long, without_clients = config.getoption("without_long"), config.getoption("without_clients")
    lists = [LONG] * without_long + [OF_CLIENTS] * without_clients
    if lists:
        known = KnownModules(config.cache) if is_fast_run() else None
        config.pluginmanager.register(WithoutListed(lists, without_long, known), "without-listed")
