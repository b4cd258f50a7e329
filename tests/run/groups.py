"""Which tests stay in one process, and which groups of them start first."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

_RECORDED = Path(__file__).with_name("group_seconds.json")
_RECORDED_FROM_S = 20
_OF_A_TEST_S = 0.1
"""What a test of a group without a figure is taken for."""

_ONE_GROUP = ("tests/dashboard", "tests/services/cli", "tests/workers/management/operations")
"""Folders whose modules share a platform, or servers and a browser: in several processes each would start its own."""


def group_name(item: pytest.Item) -> str:
    """Return the name of a test's group: that of its mark `process_group`, or its folder, or else its module."""
    mark = item.get_closest_marker("process_group")
    if mark:
        return str(mark.args[0])
    module = item.nodeid.partition("::")[0]
    return next((folder for folder in _ONE_GROUP if module.startswith(f"{folder}/")), module)


def grouped(items: Sequence[pytest.Item], seconds: Mapping[str, float]) -> list[list[int]]:
    """Return groups of indexes of tests in the order in which they start; a group's tests keep their order.

    `seconds` are what groups took before, by name, of this checkout's last run; `group_seconds.json` has those of another
    machine, for a fresh clone. The longest start first, so that none of them ends alone.
    """
    known = recorded_seconds() | seconds
    groups: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        groups.setdefault(group_name(item), []).append(index)
    return [
        groups[name]
        for name in sorted(groups, key=lambda name: -known.get(name, _OF_A_TEST_S * len(groups[name])))
    ]


def recorded_seconds() -> dict[str, float]:
    """Return the recorded seconds of the groups that take longest."""
    found: dict[str, float] = json.loads(_RECORDED.read_text())
    return found


def record(seconds: Mapping[str, float]) -> None:
    """Record the seconds of a run's longest groups: `make check-tests ARGS=--record-seconds`."""
    longest = sorted(
        (name for name in seconds if seconds[name] >= _RECORDED_FROM_S), key=lambda name: -seconds[name]
    )
    _RECORDED.write_text(json.dumps({name: round(seconds[name]) for name in longest}, indent=1) + "\n")
