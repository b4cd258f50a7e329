"""The list of long tests names tests that exist, so that none is lost by a new name."""

import ast

import pytest
from hypothesis import given, settings, strategies

from tests.run.long_tests import LIST, MOST_EXAMPLES, limit_examples, read_list

ROOT = LIST.parents[1]


def test_each_line_names_a_module_or_a_test_and_a_reason() -> None:
    listed = read_list(LIST.read_text().splitlines())

    unknown = [name for name in sorted(listed.long | listed.short) if not _exists(name)]
    assert unknown == []
    assert {name.partition("::")[0] for name in listed.short} <= listed.long


def test_a_test_of_a_long_module_can_stay() -> None:
    listed = read_list(
        ["# words", "a.py restores", "+a.py::test_one a short restore", "b.py::test_two kills"]
    )

    named = ["a.py::test_one[x]", "a.py::test_other", "b.py::test_two[y::z]", "b.py::test_one"]
    assert [listed.is_long(name) for name in named] == [False, True, True, False]
    with pytest.raises(ValueError, match="no reason"):
        read_list(["a.py"])


def test_a_property_test_tries_fewer_examples() -> None:
    tried = []

    @settings(max_examples=300, database=None)
    @given(strategies.integers())
    def property_test(number: int) -> None:
        tried.append(number)

    limit_examples(property_test)
    property_test()

    assert len(tried) == MOST_EXAMPLES


def _exists(name: str) -> bool:
    module, _, test = name.partition("[")[0].partition("::")
    if not (ROOT / module).is_file():
        return False
    functions = {
        node.name
        for node in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return not test or test in functions
