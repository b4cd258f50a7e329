"""Replacing a file of secrets: a file of signing keys, or of variables. It loads no library of cryptography, so commands may import it."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def exclusive_change(file: Path) -> Iterator[None]:
    """Let one process at a time read and replace a file: the lock is on its folder, as the file becomes another one. Raises: OSError."""
    descriptor = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_private_file(file: Path, text: str) -> None:
    """Replace a file atomically with one that only its owner can read; the owner stays. Raises: OSError, ValueError."""
    owner = file.stat()
    if os.geteuid() not in (0, owner.st_uid):
        raise ValueError(
            "it belongs to another user; run this as that user, so that the platform can still read it"
        )
    descriptor, draft = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as opened:
            if os.geteuid() == 0:
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            opened.write(text)
            opened.flush()
            os.fsync(descriptor)
        os.replace(draft, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
