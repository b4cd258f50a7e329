"""A small JSON file by which one process shows others how it is: written whole, read with a bound."""

import os
import secrets
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

_LONGEST = 256 * 1024

S = TypeVar("S", bound=Struct)


def write_status_file(path: Path, status: Struct) -> None:
    """Write the file; readers see the old or the new one, whole. Raises: OSError, which leaves the old one."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(status))
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def read_status_file(path: Path, type: type[S]) -> S | None:
    """Return the content of the file; None if it is not there or cannot be read as this type."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_LONGEST), type=type)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
