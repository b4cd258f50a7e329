"""The texts under the keys of the settings classes, read from their source."""

import ast
from functools import cache
from importlib.resources import files

from msgspec import Struct


@cache
def docstrings(struct: type[Struct]) -> dict[str, str]:
    """Return the texts under the fields of a settings class by the fields' names, and its own under an empty name."""
    package, _, module = struct.__module__.rpartition(".")
    tree = ast.parse(files(package).joinpath(f"{module}.py").read_text(encoding="utf-8"))
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == struct.__name__)
    texts: dict[str, str] = {"": ast.get_docstring(node) or ""}
    for field, below in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = str(below.value.value)
    return texts
