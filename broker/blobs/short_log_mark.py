"""Keep the number of acknowledged blobs of a segment in a file beside it, so that a tail that the disk lost is counted.

The file is one page of shared memory: to count an append is a few stores, no call of the kernel, and the number outlives the
process. It is not synced. The kernel writes it within half a minute, and with the files of a full segment, so after a power
failure it may know of fewer blobs than the log, and never of more.
"""

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from broker.blobs.short_log_records import BLOCK, MARK_SIZE, SegmentMark, decode_mark, encode_mark

SUFFIX = ".mark"
_PRIVATE = 0o600


class MarkFile:
    """The open mark of a segment. Its methods are called by one thread at a time."""

    def __init__(self, path: Path, memory: mmap.mmap) -> None:
        self._path, self._memory = path, memory

    @classmethod
    def create(cls, log: Path) -> Self:
        """Create the mark of a log. Raises: OSError."""
        path = mark_path(log)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE)
        try:
            os.pwrite(descriptor, bytes(BLOCK), 0)  # a block of its own, so that memory is never without one
            return cls(path, mmap.mmap(descriptor, BLOCK))
        finally:
            os.close(descriptor)

    def write(self, mark: SegmentMark) -> None:
        """Count acknowledged blobs."""
        self._memory[:MARK_SIZE] = encode_mark(mark)

    def close(self) -> None:
        """Leave the file to whoever opens the folder next. A second call does nothing."""
        self._memory.close()


def mark_path(log: Path) -> Path:
    """Return the path of the mark of a log."""
    return log.with_suffix(SUFFIX)


def read_mark(log: Path) -> SegmentMark | None:
    """Return the mark of a log; None if it has none, or it is damaged."""
    with suppress(OSError):
        return decode_mark(mark_path(log).read_bytes())
    return None


def remove_mark(log: Path) -> None:
    """Delete the mark of a log. Danger: before the log, or a mark without a log would be taken for a loss. Raises: OSError."""
    mark_path(log).unlink(missing_ok=True)
