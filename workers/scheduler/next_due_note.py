"""A file with the next moment at which a schedule is due: a platform that sleeps is woken before it (services/projects/idleness.py).

Written where `HEADWATER_NEXT_DUE_FILE` names one, at each change of the moment, and replaced as a whole.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from schemas.projects import NextDue

VARIABLE = "HEADWATER_NEXT_DUE_FILE"


class NextDueNote:
    """The file; without a path nothing is written."""

    def __init__(self, path: str = "") -> None:
        self._path = Path(path) if path else None
        self._written: NextDue | None = None

    @classmethod
    def of_environment(cls) -> "NextDueNote":
        """Return the file that the environment names."""
        return cls(os.environ.get(VARIABLE, ""))

    def write(self, moment: float | None) -> None:
        """Write the moment, if it is another one. A full disk leaves the old one."""
        due = NextDue(moment)
        if self._path is None or due == self._written:
            return
        with contextlib.suppress(OSError):
            draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            draft.write_bytes(msgspec.json.encode(due))
            draft.replace(self._path)
            self._written = due
