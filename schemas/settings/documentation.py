"""The texts under the fields of structs (settings, arguments and results of operations), read from their source."""

import ast
from functools import cache
from importlib.resources import files

from msgspec import Struct


@cache
def docstrings(struct: type[Struct]) -> dict[str, str]:
    """Return the texts under the fields of a struct by the fields' names, and its own under an empty name."""
    node = _classes(struct.__module__)[struct.__name__]
    texts: dict[str, str] = {"": ast.get_docstring(node) or ""}
    for field, below in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = str(below.value.value)
    return texts


@cache
def _classes(name: str) -> dict[str, ast.ClassDef]:
    """Return the classes of a module by their names."""
    package, _, module = name.rpartition(".")
    tree = ast.parse(files(package).joinpath(f"{module}.py").read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
