"""A file that is watched: whoever needs its content reads it anew when it has become another one.

The look at the file's size and times costs microseconds, so it is done every few seconds; whoever has a reason to
believe that the file has changed looks at once.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

EVERY_S = 5.0
"""Seconds between two looks."""


class FileWatch:
    """Knows whether a file is another than at the last look. One that is gone is no change.

    Make it before the file is read for the first time, so that no change falls in between.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = _mark(path)
        self._task: asyncio.Task[None] | None = None

    def has_changed(self) -> bool:
        """Look now; a change is told once."""
        mark = _mark(self.path)
        if mark is None or mark == self._seen:
            return False
        self._seen = mark
        return True

    def start(self, look: Callable[[], object]) -> None:
        """Have `look` called every few seconds from now on. It asks `has_changed`, and must not raise."""
        self._task = asyncio.get_running_loop().create_task(_repeat(look))

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


async def _repeat(look: Callable[[], object]) -> None:
    while True:
        await asyncio.sleep(EVERY_S)
        look()


def _mark(path: Path) -> tuple[int, int, int, int] | None:
    """Give what tells one state of a file from another; None if it cannot be looked at."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
