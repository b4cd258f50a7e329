"""Poll a file's stat and report when the file was changed or replaced.

One `stat` costs microseconds, so it is done every few seconds. A caller that expects a change (a signature by an
unknown key) can check at once.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

EVERY_S = 5.0
"""Seconds between two checks."""


class FileWatch:
    """Detects whether a file has changed since the last check. A deleted file does not count as changed.

    Create it before the file is read for the first time, so that no change can be missed in between.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last = _identity(path)
        self._task: asyncio.Task[None] | None = None

    def has_changed(self) -> bool:
        """Check now; each change is reported once."""
        identity = _identity(self.path)
        if identity is None or identity == self._last:
            return False
        self._last = identity
        return True

    def start(self, check: Callable[[], object]) -> None:
        """Call `check` every few seconds from now on. It calls `has_changed`, and must not raise."""
        self._task = asyncio.get_running_loop().create_task(_repeat(check))

    async def stop(self) -> None:
        """Stop the checks."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


async def _repeat(check: Callable[[], object]) -> None:
    while True:
        await asyncio.sleep(EVERY_S)
        check()


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    """Return device, inode, size and time of change of a file; None if it cannot be read."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
