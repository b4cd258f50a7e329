"""The file with the result of the last restore drill: `drill.json` in the data folder, which `doctor`, `status` and the metrics read."""

from pathlib import Path

from msgspec import Struct

from broker.processes.status_file import read_status_file, write_status_file

NAME = "drill.json"
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
    unsent: str = ""
    """Why the receiver of `backup.drill_webhook` did not take the result; empty: it did, or there is none."""


def write_drill_status(folder: Path, status: DrillStatus) -> None:
    """Write the file; readers see the old or the new one, whole. Raises: OSError."""
    write_status_file(folder / NAME, status)


def read_drill_status(folder: Path) -> DrillStatus | None:
    """Return the result of the last drill; None before the first."""
    return read_status_file(folder / NAME, DrillStatus)
