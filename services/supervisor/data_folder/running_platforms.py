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


def running_platforms() -> list[Path]:
    """Return the data folders of running platforms, sorted."""
    folders = {file.parent for process in Path("/proc").glob("[0-9]*") for file in _locks(process)}
    return [path for path in sorted(folders) if is_data_folder(path) and running_state(DataFolder(path))]


def _locks(process: Path) -> Iterator[Path]:
    """Yield the open files of a process that have the name of a lock; none of one that is gone, or of another user."""
    with contextlib.suppress(OSError):
        if process.stat().st_uid != os.getuid():
            return
        for descriptor in (process / "fd").iterdir():
            target = Path(os.readlink(descriptor))
            if target == DataFolder(target.parent).lock:
                yield target
