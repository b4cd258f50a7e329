"""How many bytes of unfinished blobs a local disk may hold in all, so that uploads which never end cannot fill it.

Every process that writes looks at the folder of files that are being written: what other processes write counts, and what dead
ones left until the sweep removes it. Between two looks a process adds up its own pieces. It looks again before it refuses one,
since a file leaves the folder when it is whole.
"""

import time
from pathlib import Path
from threading import Lock

from broker.blobs.errors import StagingFull
from broker.blobs.folder import folder_size

_LOOK_S = 2.0
"""What other processes have written is seen so late."""


class StagedBytes:
    """Counts what lies in a folder against a limit; 0 is no limit. Used from the store's threads."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._lock = Lock()
        self._size = 0
        self._looked_at = float("-inf")

    def take(self, size: int) -> None:
        """Count bytes that are about to be written. Raises: StagingFull."""
        if not self._limit:
            return
        with self._lock:
            if time.monotonic() - self._looked_at > _LOOK_S or self._size + size > self._limit:
                self._size, self._looked_at = folder_size(self._folder), time.monotonic()
            if self._size + size > self._limit:
                raise StagingFull(self._limit)
            self._size += size
