"""Layout of the functions folder: which file is a function's entrypoint, and what functions share.

    functions/<name>/index.ts        a function
    functions/_shared, lib, x.ts     shared: folders without an entrypoint, and source files beside them

Source: docs/reference/functions.md, section 4.
"""

import os
from collections.abc import Container, Iterator
from pathlib import Path

ENTRYPOINTS = tuple(f"index{suffix}" for suffix in (".ts", ".js", ".mjs", ".jsx", ".tsx"))
LEFT_OUT = frozenset({"node_modules", "__pycache__"})
"""Folders that are never part of a function."""
SOURCES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
"""File name endings of sources that can be imported."""
LONGEST_SOURCE = 8 * 1024 * 1024
"""Bytes of a source that are examined before a function starts."""


def entrypoint_in(folder: Path) -> Path | None:
    """Return the entrypoint of the function in a folder, or None."""
    return next((path for name in ENTRYPOINTS if (path := folder / name).is_file()), None)


def shared_in(root: Path, named: Container[str]) -> Iterator[Path]:
    """Yield what functions share: folders that are not functions, and single sources such as `database.types.ts`.

    `named` are functions that the settings name: their folders belong to them, wherever their entrypoints are.
    """
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in LEFT_OUT:
            continue
        path = Path(entry.path)
        if entry.is_dir():
            is_function = not entry.name.startswith("_") and entrypoint_in(path) is not None
            if not is_function and entry.name not in named:
                yield path
        elif entry.name.endswith(SOURCES):
            yield path
