"""What identifies the state of a function's files: path, size, time and inode. Also: which sources open a server."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from schemas.bounded_cache import BoundedCache
from schemas.functions.folder import LEFT_OUT, LONGEST_SOURCE, SOURCES

CONFIGURATION = ("deno.json", "deno.jsonc", "import_map.json", "package.json", ".npmrc", ".env")
"""Files of a folder that configure its functions."""
MOST_FILES = 20_000
"""Files of one function, or of a shared folder, that are included in its version."""
_LISTENS = re.compile(rb"\.\s*listen\s*\(")
_MAX_CACHED = 50_000

Mark = tuple[str, int, int, int]
"""Path, size, modification time in nanoseconds, inode."""

_listens_cache = BoundedCache[Mark, bool](_MAX_CACHED)


def marks_in(folder: Path) -> Iterator[Mark]:
    """Yield what identifies the state of each file of a folder."""
    count, open_folders = 0, [str(folder)]
    while open_folders:
        try:
            entries = list(os.scandir(open_folders.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name in LEFT_OUT or (entry.name.startswith(".") and entry.name not in CONFIGURATION):
                continue
            try:
                if entry.is_dir():
                    open_folders.append(entry.path)
                    continue
                state = entry.stat()
            except OSError:
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield entry.path, state.st_size, state.st_mtime_ns, state.st_ino


def marks_of(path: Path) -> Iterator[Mark]:
    """Yield the marks of a folder's files, or of a single file."""
    if path.is_dir():
        yield from marks_in(path)
    elif (mark := mark_of(path)) is not None:
        yield mark


def mark_of(path: Path) -> Mark | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return str(path), state.st_size, state.st_mtime_ns, state.st_ino


def listening_sources(folder: Path, marks: list[Mark]) -> Iterator[bool]:
    """Yield for each source of a folder whether it opens a server of its own; each state of a file is read once."""
    start = f"{folder}{os.sep}"
    for mark in marks:
        path = mark[0]
        if not path.startswith(start) or not path.endswith(SOURCES):
            continue
        listens = _listens_cache.get(mark)
        if listens is None:
            listens = _file_listens(path)
            _listens_cache.put(mark, listens)
        yield listens


def _file_listens(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return _LISTENS.search(file.read(LONGEST_SOURCE)) is not None
    except OSError:
        return False
