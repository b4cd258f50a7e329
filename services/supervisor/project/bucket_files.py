"""The files of a folder that go into a bucket: which they are, under which names, of which types. No network.

Only regular files count: a link could name any file of the machine. Names that the file system of a Mac or of Windows puts
into every folder are passed over.
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
_PASSED_OVER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_UNKNOWN = "application/octet-stream"
_OWN_TYPES = {
    ".avif": "image/avif",
    ".js": "text/javascript",
    ".md": "text/markdown",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Types that not every machine knows."""
_types = mimetypes.MimeTypes()


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file, and the name that its object gets."""

    path: Path
    key: str
    size: int

    @property
    def content_type(self) -> str:
        """Give the media type that its name tells, the same on every machine."""
        own = _OWN_TYPES.get(self.path.suffix.lower())
        guessed, encoding = _types.guess_type(self.path.name)
        return own or (guessed if guessed and not encoding else _UNKNOWN)

    def md5(self) -> str:
        """Give the MD5 of its bytes, in hex. Raises: OSError."""
        found = hashlib.md5(usedforsecurity=False)
        with open(self.path, "rb") as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
        return found.hexdigest()


def files_of(top: Path) -> list[LocalFile]:
    """Give the files at and below a path, in the order of their names. Raises: OSError for a path that is not there."""
    if not top.is_dir():
        return [LocalFile(top, _key(top.name), os.stat(top).st_size)]
    return sorted(_below(top), key=lambda file: file.key)


def _below(top: Path) -> Iterator[LocalFile]:
    def stop(error: OSError) -> None:
        raise error

    for folder, _, names in os.walk(top, onerror=stop, followlinks=False):
        for name in names:
            path = Path(folder, name)
            found = os.lstat(path)
            if S_ISREG(found.st_mode) and name not in _PASSED_OVER:
                yield LocalFile(path, _key(path.relative_to(top).as_posix()), found.st_size)


def _key(name: str) -> str:
    """Give a name composed, as the storage keeps it: some file systems take accents apart."""
    return unicodedata.normalize("NFC", name)
