"""Processes that hang: `status` and `doctor` name them while they do, and a restart of the past is no present fault."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from services.cli.status import state_text
from services.doctor.checks import look_at_children
from services.doctor.finding import FindingLevel
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import ChildState, PlatformState, read_state
from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of

pytestmark = [pytest.mark.process_group("hung-parts"), pytest.mark.timeout(240)]

_PARTS = ("pools", "changes", "edges", "functions")
_PATIENCE_S = 60


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform() as one:
        yield one


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_hung_parts_are_named_while_they_hang_and_are_no_fault_when_they_run_again(
    running_platform: Platform,
) -> None:
    pids = {name: pid_of(running_platform, name) for name in _PARTS}
    for pid in pids.values():
        os.kill(pid, signal.SIGSTOP)

    _until(lambda: set(_PARTS) <= _silent(running_platform).keys(), "the hung parts are not named")
    shown = {name: state_text(child) for name, child in _silent(running_platform).items()}
    found = look_at_children(_state(running_platform))
    _until(
        lambda: _are_replaced(running_platform, pids) and _is_ready(running_platform),
        "the hung parts were not replaced",
    )
    after = running_platform.command("doctor", "--json")

    assert all(shown[name].startswith("does not answer since") for name in _PARTS), shown
    assert {each.title for each in found if each.level is FindingLevel.ERROR} == set(_PARTS)
    assert after.returncode in (0, 2), after.stdout
    assert "pools 1 times" in after.stdout, "a restart of the past is information"
    assert '"level": "error"' not in after.stdout


def _state(running_platform: Platform) -> PlatformState:
    state = read_state(DataFolder(running_platform.data))
    assert state is not None
    return state


def _silent(running_platform: Platform) -> dict[str, ChildState]:
    return {child.name: child for child in _state(running_platform).children if child.status == "silent"}


def _are_replaced(running_platform: Platform, pids: dict[str, int]) -> bool:
    children = {child.name: child for child in _state(running_platform).children}
    return all(children[name].status == "running" and children[name].pid != pid for name, pid in pids.items())


def _is_ready(running_platform: Platform) -> bool:
    try:
        return running_platform.get("/health/ready")[0] == 200
    except OSError:
        return False
