"""No modules of the product import each other in a circle, also not by imports inside of functions."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACKAGES = ("headwater", "services", "broker", "schemas", "workers")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of imported modules, and of what may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in _PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    graph = {
        name: {other for other in _imported(ast.parse(path.read_text())) if other in modules} - {name}
        for name, path in modules.items()
    }

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None
