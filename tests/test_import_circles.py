"""No modules of the product import each other in a circle: of Python also not by imports inside of functions, and of the dashboard."""

import ast
import os
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "services" / "dashboard" / "web"
_PACKAGES = ("headwater", "services", "broker", "schemas", "workers")
_LOADED = re.compile(r'^(?:import|export)\b(?! type\b)[^;"]*"(\.[^"]+)"', re.MULTILINE)
"""An import of a file; those of types alone load nothing."""


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of imported modules, and of what may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _circle(graph: dict[str, set[str]]) -> str:
    """Return the modules of a circle; an empty text without one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return ""


def test_modules_of_python_import_each_other_in_no_circle() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in _PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "node_modules" not in path.parts
    }
    graph = {
        name: {other for other in _imported(ast.parse(path.read_text())) if other in modules} - {name}
        for name, path in modules.items()
    }

    assert _circle(graph) == ""


def test_modules_of_the_dashboard_import_each_other_in_no_circle() -> None:
    files = [path for path in WEB.rglob("*.ts*") if "node_modules" not in path.parts]
    graph = {
        str(path): {os.path.normpath(path.parent / name) for name in _LOADED.findall(path.read_text())}
        for path in files
    }

    assert len(graph) > 100
    assert _circle(graph) == ""
