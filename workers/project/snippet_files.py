"""Reads and writes texts that people keep with the code of a project: snippets of SQL, reports and requests of functions, in folders of the project folder.

Administrators read and write them from afar, so neither a name nor a link in the project folder leads elsewhere.
"""

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

LONGEST_SNIPPET = 512 * 1024
"""Bytes of a snippet."""
MOST_SNIPPETS = 500
_NAME = re.compile(r"[^\W_][\w .,()+-]{0,99}")


@dataclass(frozen=True, slots=True)
class TextFolder:
    """A folder of texts in a project folder, and how their files end."""

    name: str
    suffix: str


SNIPPETS = TextFolder("snippets", ".sql")
REPORTS = TextFolder("reports", ".json")
FUNCTION_REQUESTS = TextFolder("function-requests", ".json")


class SnippetFile(Struct, frozen=True):
    """A snippet or report: its name (the file's, without its suffix), its size, and when it was changed, in seconds since 1970."""

    name: str
    bytes: int
    changed_at: float


def is_snippet_name(name: str) -> bool:
    """Return whether a name is that of a snippet: a letter or digit, then up to 99 letters, digits, spaces and `_ . , ( ) + -`."""
    return _NAME.fullmatch(name) is not None and name == name.strip() and not name.endswith(".")


def list_snippets(folder: Path, kind: TextFolder = SNIPPETS) -> list[SnippetFile]:
    """Return the texts of a project folder by name, 500 at most; none without their folder. Raises: OSError, ValueError."""
    texts = _folder_of(folder, kind)
    if not texts.is_dir():
        return []
    listed = []
    for path in sorted(texts.glob(f"*{kind.suffix}")):
        if path.is_file() and not path.is_symlink() and is_snippet_name(path.stem):
            state = path.stat()
            listed.append(SnippetFile(path.stem, state.st_size, state.st_mtime))
    return listed[:MOST_SNIPPETS]


def read_snippet(folder: Path, name: str, kind: TextFolder = SNIPPETS) -> str:
    """Return the text of a snippet. Raises: OSError; ValueError if it is longer than 512 KiB or not UTF-8."""
    descriptor = os.open(_path(folder, name, kind), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        data = file.read(LONGEST_SNIPPET + 1)
    if len(data) > LONGEST_SNIPPET:
        raise ValueError(f"the file is longer than {LONGEST_SNIPPET} bytes")
    return data.decode()


def write_snippet(folder: Path, name: str, text: str, *, replaces: bool, kind: TextFolder = SNIPPETS) -> None:
    """Write a snippet, whole or not at all. Raises: OSError, ValueError; FileExistsError if there is one and `replaces` is off."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    path = _path(folder, name, kind)
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


def remove_snippet(folder: Path, name: str, kind: TextFolder = SNIPPETS) -> None:
    """Remove a snippet. Raises: OSError, ValueError; FileNotFoundError if there is none."""
    _path(folder, name, kind).unlink()


def _path(folder: Path, name: str, kind: TextFolder) -> Path:
    if not is_snippet_name(name):
        raise FileNotFoundError(f"{name!r} is no name of a snippet")
    return _folder_of(folder, kind) / f"{name}{kind.suffix}"


def _folder_of(folder: Path, kind: TextFolder) -> Path:
    """Return the folder of a kind of texts. Raises: ValueError if it is a link that leads out of the project folder."""
    texts = folder / kind.name
    if texts.is_symlink() and not texts.resolve().is_relative_to(folder.resolve()):
        raise ValueError("it is a link that leads out of the project folder")
    return texts
