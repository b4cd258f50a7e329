"""Ask Linux for the kind of a file system, and to make everything durable that was written to it."""

import ctypes
import os
import platform
import re
import sys
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_OVERWRITTEN_IN_PLACE = frozenset({0xEF53, 0x58465342})
"""`f_type` of ext4 (ext2 and ext3 too) and XFS. Btrfs writes to new places, so an overwrite is no cheaper there; NFS and the like
have other machines behind them, which do not see this one's page cache. Source: statfs(2).
"""
_STATFS_SIZE = 256  # more than any architecture needs
_REPORTS_ERRORS = (5, 8)
"""The first Linux whose `syncfs` returns errors of files that were written in the background."""


def overwrites_in_place(folder: Path) -> bool:
    """Return whether a folder is on a local file system that overwrites in place, with a kernel whose `syncfs` reports errors."""
    if _LIBC is None or _kernel_version() < _REPORTS_ERRORS:
        return False
    status = ctypes.create_string_buffer(_STATFS_SIZE)
    if _LIBC.statfs(os.fsencode(folder), status) != 0:
        return False
    kind = ctypes.c_long.from_buffer(status).value  # the first field
    return kind in _OVERWRITTEN_IN_PLACE


def sync_file_system(descriptor: int) -> None:
    """Make everything durable that was written to a file system until now.

    Raises: OSError, also if the kernel failed to write a file in the background since the last call, or since the descriptor was
    opened. Source: syncfs(2).
    """
    assert _LIBC is not None
    if _LIBC.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _kernel_version() -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(match[1]), int(match[2])) if match else (0, 0)
