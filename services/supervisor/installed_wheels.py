"""Versions and files of installed wheels, read from the folders `NAME-VERSION.dist-info` beside the packages.

Instead of `importlib.metadata`, which parses their headers by the package `email`: both would take 1.4 MB of each supervisor
as long as it runs. Source: PyPA's "Recording installed projects".
"""

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_SUFFIX = ".dist-info"


class WheelMissing(Exception):
    """No wheel of this name is installed."""


def version_of(wheel: str) -> str:
    """Return the version of an installed wheel. Raises: WheelMissing."""
    return _record_of(wheel).name.removesuffix(_SUFFIX).rpartition("-")[2]


def files_of(wheel: str) -> Iterator[Path]:
    """Yield the files that a wheel installed. Raises: WheelMissing."""
    folder = _record_of(wheel)
    try:
        with (folder / "RECORD").open(newline="", encoding="utf-8") as lines:
            for name, *_ in csv.reader(lines):
                yield folder.parent / name
    except FileNotFoundError:  # installed by something that keeps no list
        return


def _record_of(wheel: str) -> Path:
    """Return the folder that describes an installed wheel: the first on the path of imports."""
    normalized = _normalized(wheel)
    for place in sys.path:
        # Python's own order: a wheel further ahead is the one that is imported.
        for folder in sorted(Path(place or ".").glob(f"*{_SUFFIX}")):
            if _normalized(folder.name.removesuffix(_SUFFIX).rpartition("-")[0]) == normalized:
                return folder
    raise WheelMissing(wheel)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
