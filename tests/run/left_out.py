"""The tests that a run leaves out, listed in two files: a folder (ending with "/"), a module or a test a line, with the reason.

    tests/long_tests.txt     what `make test` and `make check` leave to `make check-all`; of each a short neighbour stays
    tests/client_tests.txt   what `make test` leaves to `make check`: browsers, the programs of others, examples of the documentation

A line with `+` names what stays of a listed folder or module. `module.py[name]` names its tests whose parameters begin with that one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import settings

from tests.fast import is_fast_run, runs_in_fast_run
from tests.run.uncollected import KnownModules

LONG = Path(__file__).parents[1] / "long_tests.txt"
OF_CLIENTS = LONG.with_name("client_tests.txt")
MOST_EXAMPLES, MOST_EXAMPLES_FAST = 50, 10
"""Examples of a property test that says how many it wants, and in a fast run; `make check-all` tries all of them."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Names of folders, modules and tests: what is left out, and what of it stays."""

    listed: frozenset[str]
    staying: frozenset[str]

    def has(self, nodeid: str) -> bool:
        """Return whether a test is left out."""
        test, _, parameters = nodeid.partition("[")
        module = test.partition("::")[0]
        folders = {f"{folder}/" for folder in PurePosixPath(module).parents}
        first = parameters.rstrip("]").partition("-")[0]
        names = {nodeid, test, module, f"{module}[{first}]"} | folders
        return not names.isdisjoint(self.listed) and names.isdisjoint(self.staying)

    def has_whole(self, module: str) -> bool:
        """Return whether all tests of a module are left out."""
        return self.has(module) and not any(name.partition("::")[0] == module for name in self.staying)


def read_list(file: Path) -> LeftOut:
    """Read a file with lines of a name and a reason. Raises: ValueError for a line without a reason."""
    return parse_list(file.name, file.read_text().splitlines())


def parse_list(name_of_list: str, lines: Iterable[str]) -> LeftOut:
    """Parse the lines of such a file."""
    listed, staying = set(), set()
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"{name_of_list}: {name} has no reason")
        (staying if name.startswith("+") else listed).add(name.removeprefix("+"))
    return LeftOut(frozenset(listed), frozenset(staying))


class WithoutListed:
    """Leaves the tests of lists out of a run."""

    def __init__(
        self, lists: Iterable[Path], limits_examples: bool, known: KnownModules | None = None
    ) -> None:
        self._lists = [read_list(file) for file in lists]
        self._known = known
        self._limits_examples = limits_examples

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Import no module of which nothing would stay."""
        if collection_path.suffix != ".py" or not collection_path.is_relative_to(config.rootpath):
            return None
        module = collection_path.relative_to(config.rootpath).as_posix()
        is_out = any(listed.has_whole(module) for listed in self._lists) or (
            self._known is not None and self._known.has(module)
        )
        return is_out or None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect them."""
        collected = {_module(item) for item in items}
        left_out = {item for item in items if any(listed.has(item.nodeid) for listed in self._lists)}
        if is_fast_run():
            left_out |= {
                item for item in items if not runs_in_fast_run(item.nodeid, getattr(item, "fixturenames", ()))
            }
        if left_out:
            config.hook.pytest_deselected(items=list(left_out))
            items[:] = [item for item in items if item not in left_out]
        if self._known is not None and not any("::" in argument for argument in config.args):
            self._known.note(collected, {_module(item) for item in items})
        if self._limits_examples:
            for item in items:
                most = MOST_EXAMPLES_FAST if is_fast_run() else MOST_EXAMPLES
                limit_examples(getattr(item, "obj", None), most)


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def limit_examples(test: Any, most: int = MOST_EXAMPLES) -> None:
    """Let a property test try at most so many examples. Hypothesis keeps the settings of a decorator in an attribute."""
    chosen = getattr(test, "_hypothesis_internal_use_settings", None)
    if isinstance(chosen, settings) and chosen.max_examples > most:
        test._hypothesis_internal_use_settings = settings(chosen, max_examples=most)
