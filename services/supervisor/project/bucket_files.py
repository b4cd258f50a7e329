"""Files of a folder that go into a bucket: their paths, object names and media types. No network.

Only regular files count: a link could name any file of the machine. Files that macOS or Windows puts into every folder are
skipped.
"""

import hashlib
import mimetypes
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

_CHUNK = 1024 * 1024
_SKIPPED = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_UNKNOWN = "application/octet-stream"
_TYPES = {
    ".avif": "image/avif",
    ".js": "text/javascript",
    ".md": "text/markdown",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Types that not every machine's table has."""
_types = mimetypes.MimeTypes()


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file and the name of its object."""

    path: Path
    key: str
    size: int

    @property
    def content_type(self) -> str:
        """Media type by the file's name, the same on every machine."""
        fixed = _TYPES.get(self.path.suffix.lower())
        guessed, encoding = _types.guess_type(self.path.name)
        return fixed or (guessed if guessed and not encoding else _UNKNOWN)

    def md5(self) -> str:
        """Return the MD5 of the content, in hex. Raises: OSError."""
        digest = hashlib.md5(usedforsecurity=False)
        with open(self.path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()


def files_of(top: Path) -> list[LocalFile]:
    """Return the files at and below a path, sorted by name. Raises: OSError for a missing path."""
    if not top.is_dir():
        return [LocalFile(top, _key(top.name), os.stat(top).st_size)]
    return sorted(_below(top), key=lambda file: file.key)


def _below(top: Path) -> Iterator[LocalFile]:
    def stop(error: OSError) -> None:
        raise error

    for folder, _, names in os.walk(top, onerror=stop, followlinks=False):
        for name in names:
            path = Path(folder, name)
            status = os.lstat(path)
            if S_ISREG(status.st_mode) and name not in _SKIPPED:
                yield LocalFile(path, _key(path.relative_to(top).as_posix()), status.st_size)


def _key(name: str) -> str:
    """Return a name in NFC, as the storage stores it: some file systems decompose accents."""
    return unicodedata.normalize("NFC", name)
