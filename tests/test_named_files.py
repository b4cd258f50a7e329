"""A file of this repository that a docstring of the product names is there."""

import ast
import re
import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
_NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|sql|md))`|\(((?:[\w-]+/)+[\w-]+\.(?:py|sql|md))\)")
_OF_OTHERS = {
    "PROTOCOL.md",  # of graphql-ws
}


def _docstrings(source: str) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


def test_a_file_that_a_docstring_names_is_there() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = {PurePosixPath(line) for line in listed.stdout.splitlines()}
    names = {path.name for path in paths} | _OF_OTHERS
    ends = {PurePosixPath(*path.parts[start:]) for path in paths for start in range(len(path.parts))}
    missing = []
    for path in sorted(paths):
        if path.suffix == ".py" and path.parts[0] in ("services", "broker", "schemas", "workers"):
            for text in _docstrings((ROOT / path).read_text()):
                for found in _NAMED.finditer(text):
                    named = PurePosixPath(found[1] or found[2])
                    if named not in ends and str(named) not in names:
                        missing.append(f"{path}: {named}")

    assert missing == []
