"""The platforms of this user that run on this machine, found by their supervisors.

A supervisor holds the lock of its data folder open (folder.py: lock_folder). Linux shows the open files of a user's processes to that user
(proc(5), `/proc/pid/fd`); on other systems no platform is found.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from services.supervisor.data_folder.folder import DataFolder, is_data_folder
from services.supervisor.data_folder.state import running_state

_START = b"\0start\0"
"""The command in the command line of a supervisor."""


def running_platforms() -> list[Path]:
    """Return the data folders of running platforms, sorted."""
    folders = {file.parent for process in Path("/proc").glob("[0-9]*") for file in _locks(process)}
    return [path for path in sorted(folders) if is_data_folder(path) and running_state(DataFolder(path))]


def _locks(process: Path) -> Iterator[Path]:
    """Yield the open files of a process that have the name of a lock; none of one that is gone, or of another user."""
    with contextlib.suppress(OSError):
        if _START not in (process / "cmdline").read_bytes():
            return
        for descriptor in (process / "fd").iterdir():
            target = Path(os.readlink(descriptor))
            if target == DataFolder(target.parent).lock:
                yield target
