"""Reads and writes snippets: files of SQL in the folder `snippets` of a project folder, kept with the code of a project."""

import os
import re
import secrets
from pathlib import Path

from msgspec import Struct

LONGEST_SNIPPET = 512 * 1024
"""Bytes of a snippet."""
MOST_SNIPPETS = 500
_NAME = re.compile(r"[^\W_][\w .,()+-]{0,99}")


class SnippetFile(Struct, frozen=True):
    """A snippet: its name (the file's, without `.sql`), its size, and when it was changed, in seconds since 1970."""

    name: str
    bytes: int
    changed_at: float


def is_snippet_name(name: str) -> bool:
    """Return whether a name is that of a snippet: a letter or digit, then up to 99 letters, digits, spaces and `_ . , ( ) + -`."""
    return _NAME.fullmatch(name) is not None and name == name.strip() and not name.endswith(".")


def list_snippets(folder: Path) -> list[SnippetFile]:
    """Return the snippets of a project folder by name, 500 at most; none without the folder. Raises: OSError."""
    snippets = folder / "snippets"
    if not snippets.is_dir():
        return []
    listed = []
    for path in sorted(snippets.glob("*.sql")):
        if path.is_file() and not path.is_symlink() and is_snippet_name(path.stem):
            state = path.stat()
            listed.append(SnippetFile(path.stem, state.st_size, state.st_mtime))
    return listed[:MOST_SNIPPETS]


def read_snippet(folder: Path, name: str) -> str:
    """Return the text of a snippet. Raises: OSError; ValueError if it is longer than 512 KiB or not UTF-8."""
    descriptor = os.open(_path(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        data = file.read(LONGEST_SNIPPET + 1)
    if len(data) > LONGEST_SNIPPET:
        raise ValueError(f"the file is longer than {LONGEST_SNIPPET} bytes")
    return data.decode()


def write_snippet(folder: Path, name: str, text: str, *, replaces: bool) -> None:
    """Write a snippet, whole or not at all. Raises: OSError; FileExistsError if there is one and `replaces` is off."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    path = _path(folder, name)
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(
        f".{path.name}.{secrets.token_hex(4)}"
    )  # a process id repeats, in a container at each start
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replaces:
            draft.replace(path)
        else:
            os.link(draft, path)  # unlike a rename it fails if the file exists
    finally:
        draft.unlink(missing_ok=True)


def remove_snippet(folder: Path, name: str) -> None:
    """Remove a snippet. Raises: OSError, FileNotFoundError if there is none."""
    _path(folder, name).unlink()


def _path(folder: Path, name: str) -> Path:
    if not is_snippet_name(name):
        raise FileNotFoundError(f"{name!r} is no name of a snippet")
    return folder / "snippets" / f"{name}.sql"
