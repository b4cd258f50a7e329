"""The tests that `make test` leaves to `make check-all`: long ones, of each of which a short neighbour stays.

`tests/long_tests.txt` lists them, a module or a test a line, with the reason; a line with `+` names a test of a listed module that
`make test` runs all the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

LIST = Path(__file__).parents[1] / "long_tests.txt"
MOST_EXAMPLES = 50
"""Examples of a property test that says how many it wants; `make check-all` tries all of them."""


@dataclass(frozen=True, slots=True)
class LongTests:
    """Names of modules and tests: what is long, and what of it stays."""

    long: frozenset[str]
    short: frozenset[str]

    def is_long(self, nodeid: str) -> bool:
        """Return whether `make test` leaves a test out."""
        test = nodeid.partition("[")[0]
        module = test.partition("::")[0]
        return bool({nodeid, test, module} & self.long) and test not in self.short


def read_list(lines: Iterable[str]) -> LongTests:
    """Read lines of a name and a reason. Raises: ValueError for a line without a reason."""
    long, short = set(), set()
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"{LIST.name}: {name} has no reason")
        (short if name.startswith("+") else long).add(name.removeprefix("+"))
    return LongTests(frozenset(long), frozenset(short))


class WithoutLongTests:
    """Leaves the long tests out of a run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect them."""
        listed = read_list(LIST.read_text().splitlines())
        left_out = [item for item in items if listed.is_long(item.nodeid)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not listed.is_long(item.nodeid)]
        for item in items:
            limit_examples(getattr(item, "obj", None))


def limit_examples(test: Any) -> None:
    """Let a property test try at most `MOST_EXAMPLES`. Hypothesis keeps the settings of a decorator in an attribute."""
    chosen = getattr(test, "_hypothesis_internal_use_settings", None)
    if isinstance(chosen, settings) and chosen.max_examples > MOST_EXAMPLES:
        test._hypothesis_internal_use_settings = settings(chosen, max_examples=MOST_EXAMPLES)
