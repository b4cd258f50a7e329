"""Which tests stay in one process, and which groups of them start first."""

from collections.abc import Mapping, Sequence

import pytest


def group_name(item: pytest.Item) -> str:
    """Return the name of a test's group: that of its mark `process_group`, or else its module."""
    mark = item.get_closest_marker("process_group")
    return str(mark.args[0]) if mark else item.nodeid.partition("::")[0]


def grouped(items: Sequence[pytest.Item], seconds: Mapping[str, float]) -> list[list[int]]:
    """Return groups of indexes of tests in the order in which they start; a group's tests keep their order.

    `seconds` are what groups took before, by name. The longest start first, so that none of them ends alone. A group without
    a figure counts as its tests by a guess: marked groups share a server and come before modules.
    """
    groups: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        groups.setdefault(group_name(item), []).append(index)
    return sorted(groups.values(), key=lambda group: -_weight(items[group[0]], len(group), seconds))


def _weight(first: pytest.Item, count: int, seconds: Mapping[str, float]) -> float:
    known = seconds.get(group_name(first))
    if known is not None:
        return known
    return 30.0 + count if first.get_closest_marker("process_group") else 0.02 * count
