"""The file with the result of the last restore drill: `drill.json` in the data folder, which `doctor`, `status` and the metrics read."""

import contextlib
import os
import secrets
from pathlib import Path

import msgspec
from msgspec import Struct

NAME = "drill.json"
_LONGEST = 256 * 1024
MOST_FAULTS = 100


class DrillStatus(Struct, frozen=True):
    """What a drill restored and found. Times are seconds since 1970."""

    began_at: float
    seconds: float
    moment: str
    """The restored moment, in words; empty if it was not found."""
    faults: list[str]
    """Why the restored platform could not be relied on; empty: all was as it should be."""
    tables: int = 0
    """Tables whose rows were counted here and there."""
    rows: int = 0
    indexes: int = 0
    """B-tree indexes whose structure was checked."""
    areas: list[str] = []
    """Areas that answered a request."""


def write_drill_status(folder: Path, status: DrillStatus) -> None:
    """Write the file; readers see the old or the new one, whole. Raises: OSError."""
    draft = folder / f".{NAME}-{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(status))
        draft.replace(folder / NAME)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def read_drill_status(folder: Path) -> DrillStatus | None:
    """Return the result of the last drill; None before the first."""
    try:
        with (folder / NAME).open("rb") as file:
            return msgspec.json.decode(file.read(_LONGEST), type=DrillStatus)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
