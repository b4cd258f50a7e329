"""Which tests stay in one process, and which groups of them start first."""

from collections.abc import Mapping, Sequence

import pytest

_STARTING = ("tests/attacks/", "tests/conformance/", "tests/docs/")
"""Folders whose modules start platforms, browsers or the tools of others."""
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

    `seconds` are what groups took before, by name. The longest start first, so that none of them ends alone. The time of a group
    without a figure is guessed: marked groups share a server, and modules of some folders start platforms and browsers.
    """
    groups: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        groups.setdefault(group_name(item), []).append(index)
    return sorted(groups.values(), key=lambda group: -_weight(items[group[0]], len(group), seconds))


def _weight(first: pytest.Item, count: int, seconds: Mapping[str, float]) -> float:
    known = seconds.get(group_name(first))
    if known is not None:
        return known
    if first.get_closest_marker("process_group"):
        return 30.0 + count
    if group_name(first) in _ONE_GROUP:
        return 300.0 + count
    return 10.0 + count if first.nodeid.startswith(_STARTING) else 0.02 * count
