"""The lists of tests that runs leave out name tests that exist, so that none is lost by a new name."""

import ast
from pathlib import Path, PurePosixPath

import pytest
from _pytest.cacheprovider import Cache  # pytest exports the type alone
from hypothesis import given, settings, strategies

from tests.run.left_out import LONG, MOST_EXAMPLES, OF_CLIENTS, limit_examples, parse_list, read_list
from tests.run.uncollected import KnownModules

ROOT = LONG.parents[1]


@pytest.mark.parametrize("file", [LONG, OF_CLIENTS], ids=lambda file: file.stem)
def test_each_line_names_what_exists_and_a_reason(file: Path) -> None:
    left_out = read_list(file)

    unknown = [name for name in sorted(left_out.listed | left_out.staying) if not _exists(name)]
    assert unknown == []
    assert [name for name in left_out.staying if not _is_inside(name, left_out.listed)] == []


def test_a_part_of_what_is_listed_can_stay() -> None:
    left_out = parse_list(
        "a list",
        [
            "# words",
            "a.py restores",
            "+a.py::test_one a short restore",
            "b.py::test_two kills",
            "c/ clients",
            "+c/d.py our own",
            "e.py[x] a server of others",
        ],
    )

    named = {
        "a.py::test_one[x]": False,
        "a.py::test_other": True,
        "b.py::test_two[y::z]": True,
        "b.py::test_one": False,
        "c/e/f.py::test_one": True,
        "c/d.py::test_one": False,
        "cc/d.py::test_one": False,
        "e.py::test_one[x]": True,
        "e.py::test_two[x-1-y]": True,
        "e.py::test_two[y-x]": False,
    }
    assert {name: left_out.has(name) for name in named} == named
    whole = {"a.py": False, "b.py": False, "c/e/f.py": True, "c/d.py": False, "e.py": False}
    assert {module: left_out.has_whole(module) for module in whole} == whole
    with pytest.raises(ValueError, match=r"a list: a\.py has no reason"):
        parse_list("a list", ["a.py"])


def test_a_module_that_kept_no_test_is_imported_again_when_it_changes(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    cache = Cache(tmp_path / "cache", pytestconfig, _ispytest=True)
    for name in ("kept.py", "left.py", "changed.py"):
        (tmp_path / name).write_text("first")

    KnownModules(cache, tmp_path).note(["kept.py", "left.py", "changed.py"], ["kept.py"])
    (tmp_path / "changed.py").write_text("second")

    known = KnownModules(cache, tmp_path)
    assert [name for name in ("kept.py", "left.py", "changed.py") if known.has(name)] == ["left.py"]
    known.note(["left.py"], ["left.py"])
    assert not KnownModules(cache, tmp_path).has("left.py")


def test_a_property_test_tries_fewer_examples() -> None:
    tried = []

    @settings(max_examples=300, database=None)
    @given(strategies.integers())
    def property_test(number: int) -> None:
        tried.append(number)

    limit_examples(property_test)
    property_test()

    assert len(tried) == MOST_EXAMPLES


def _is_inside(name: str, listed: frozenset[str]) -> bool:
    module = name.partition("::")[0]
    return bool({module, *(f"{folder}/" for folder in PurePosixPath(module).parents)} & listed)


def _exists(name: str) -> bool:
    if name.endswith("/"):
        return (ROOT / name).is_dir()
    module, _, test = name.partition("[")[0].partition("::")
    if not (ROOT / module).is_file():
        return False
    if not test and name.endswith("]"):
        return f'"{name.partition("[")[2].removesuffix("]")}"' in (ROOT / module).read_text()
    functions = {
        node.name
        for node in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return not test or test in functions
