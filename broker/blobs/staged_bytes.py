"""Limit the bytes of all unfinished blobs on a local disk, so that uploads which never finish cannot fill it.

Every writing process measures the staging folder. So the bytes of other processes count, and those of dead ones until
the sweep removes them. Between two measurements a process adds its own pieces. It measures again before it rejects a
piece, because finished files have left the folder.
"""

import time
from pathlib import Path
from threading import Lock

from broker.blobs.errors import StagingFull
from broker.blobs.folder import folder_size

_MEASURE_S = 2.0
"""Seconds between two measurements: writes of other processes are noticed with this delay."""


class StagedBytes:
    """Compares the size of a folder with a limit; 0 means unlimited. Used from the store's threads."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._lock = Lock()
        self._size = 0
        self._measured_at = float("-inf")

    def take(self, size: int) -> None:
        """Add bytes that are about to be written. Raises: StagingFull."""
        if not self._limit:
            return
        with self._lock:
            if time.monotonic() - self._measured_at > _MEASURE_S or self._size + size > self._limit:
                self._size, self._measured_at = folder_size(self._folder), time.monotonic()
            if self._size + size > self._limit:
                raise StagingFull(self._limit)
            self._size += size
