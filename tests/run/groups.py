"""Which tests stay in one process, and which groups of them start first."""

from collections.abc import Mapping, Sequence

import pytest

_STARTING = ("tests/attacks/", "tests/conformance/", "tests/dashboard/", "tests/docs/", "tests/services/cli/")
"""Folders whose modules start platforms, browsers or the tools of others."""


def group_name(item: pytest.Item) -> str:
    """Return the name of a test's group: that of its mark `process_group`, or else its module."""
    mark = item.get_closest_marker("process_group")
    return str(mark.args[0]) if mark else item.nodeid.partition("::")[0]


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
    return 10.0 + count if first.nodeid.startswith(_STARTING) else 0.02 * count
