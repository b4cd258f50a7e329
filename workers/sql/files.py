"""Reads constant statements from the `.sql` file beside their module.

A statement begins with a line `-- name: <name>`; comment lines below explain it. Lines before the first name explain the
file.
"""

import re
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def read_statements(package: str, file: str) -> dict[str, str]:
    """Return the statements of a package's file by name, without their comments.

    Raises: ValueError if a name occurs twice.
    """
    _, *parts = _NAME.split(files(package).joinpath(file).read_text(encoding="utf-8"))
    names, texts = parts[::2], parts[1::2]
    if len(set(names)) < len(names):
        raise ValueError(f"{file} names a statement twice")
    return {name: _without_comments(text) for name, text in zip(names, texts, strict=True)}


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line and not line.lstrip().startswith("--"))
