"""Temporary folders in memory, for runs of many processes on a machine that has enough of it.

A run makes some hundred data folders of Postgres, of a thousand files each, and deletes them again. On a file system of a disk
that alone was a sixth of all CPU time (ext4 without a journal looks for inodes that were not deleted lately).
`TMPDIR=/tmp make test` has them on the disk.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_MEMORY = Path("/dev/shm")  # the folder below it has a mode of its own
_NEEDED = 12 << 30
"""Bytes that are free before a run: 5 GB were used at most, and the servers and browsers need theirs."""
_NAME = re.compile(r"headwater-run-(\d+)")


def use_memory(variables: dict[str, str] | os._Environ[str]) -> Callable[[], None] | None:
    """Have temporary files of this process and its children made in memory.

    Returns what deletes them, or None if they stay where they are: `variables` names a folder, or the machine has too
    little memory.
    """
    if "TMPDIR" in variables or not _has_room():
        return None
    _delete_left_over()
    folder = _MEMORY / f"headwater-run-{os.getpid()}"
    folder.mkdir(mode=0o711)
    variables["TMPDIR"] = tempfile.tempdir = str(folder)
    return lambda: shutil.rmtree(folder, ignore_errors=True)


def _has_room() -> bool:
    try:
        found = os.statvfs(_MEMORY)
        available = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return False
    if not os.access(_MEMORY, os.W_OK) or found.f_flag & os.ST_NOEXEC or available is None:
        return False
    return min(found.f_bavail * found.f_frsize, int(available[1]) << 10) >= _NEEDED


def _delete_left_over() -> None:
    """Delete the folders of runs whose process is gone: a run that was killed deletes nothing."""
    for folder in _MEMORY.iterdir():
        name = _NAME.fullmatch(folder.name)
        if name and not Path("/proc", name[1]).exists():
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
