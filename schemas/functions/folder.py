"""What lies in a folder of functions: which file begins a function, and what the functions share.

    functions/<name>/index.ts        a function
    functions/_shared, lib, x.ts     shared: folders that are no function, sources beside them

Source: reference page "functions", section 4; seed section 1.
"""

import os
from collections.abc import Container, Iterator
from pathlib import Path

ENTRYPOINTS = tuple(f"index{suffix}" for suffix in (".ts", ".js", ".mjs", ".jsx", ".tsx"))
LEFT_OUT = frozenset({"node_modules", "__pycache__"})
"""Folders that are never part of a function."""
SOURCES = (".ts", ".js", ".mjs", ".cjs", ".jsx", ".tsx")
"""Endings of files that can be imported."""


def entrypoint_in(folder: Path) -> Path | None:
    """Give the file that begins the function of a folder, if it holds one."""
    return next((path for each in ENTRYPOINTS if (path := folder / each).is_file()), None)


def shared_in(root: Path, named: Container[str]) -> Iterator[Path]:
    """Give what lies beside the functions and is none of them: folders, and single sources such as `database.types.ts`.

    `named` are functions that the settings name: their folders are theirs, wherever they begin.
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
