"""Processes that hang: `status` and `doctor` name them while they do, and a restart of the past is no present fault."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from tests.house.conftest import pid_of
from tests.platform import Platform, platform

pytestmark = [pytest.mark.xdist_group("hung-parts"), pytest.mark.timeout(240)]

_PARTS = ("pools", "changes", "edges", "functions")
_PATIENCE_S = 60


@pytest.fixture(scope="module")
def house() -> Iterator[Platform]:
    with platform() as one:
        yield one


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_hung_parts_are_named_while_they_hang_and_are_no_fault_when_they_run_again(house: Platform) -> None:
    pids = {name: pid_of(house, name) for name in _PARTS}
    for pid in pids.values():
        os.kill(pid, signal.SIGSTOP)

    _until(
        lambda: all(f"{name}  does not answer since" in house.command("status").stdout for name in _PARTS),
        "status does not name the hung parts",
    )
    doctor = house.command("doctor")
    _until(
        lambda: all(pid_of(house, name) != pid for name, pid in pids.items()) and _is_ready(house),
        "the hung parts were not replaced",
    )
    after = house.command("doctor", "--json")

    assert doctor.returncode == 1
    assert "gateway: it does not answer" in doctor.stdout
    assert all(f"{name}: process {pid} does not answer since" in doctor.stdout for name, pid in pids.items())
    assert after.returncode in (0, 2), after.stdout
    assert "pools 1 times" in after.stdout, "a restart of the past is information"
    assert '"level": "error"' not in after.stdout


def _is_ready(house: Platform) -> bool:
    try:
        return house.get("/health/ready")[0] == 200
    except OSError:
        return False
