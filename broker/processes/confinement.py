"""What this machine offers to hold a function in: asked by the functions pool, by `start` and by `doctor`.

Landlock is asked of the kernel (`workers/functions/landlock.py` tells the call); a user of their own for functions takes
root, and user ids that are mapped in this user namespace.
"""

import ctypes
import os
import sys
from pathlib import Path

_LANDLOCK_CREATE_RULESET, _LANDLOCK_VERSION = 444, 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

FIRST_UID, LAST_UID = 61184, 65519
"""User ids that no system hands out: the range that systemd sets aside for services without an account (DynamicUser)."""

NO_WALL = (
    "nothing on this machine keeps functions from the platform's own files: the kernel has no Landlock (Linux 5.13 or later), "
    "and functions run as the platform's user"
)
NO_WALL_CURE = (
    "Functions are not run. Start headwater as root, so that functions have a user of their own, or use a kernel with "
    "Landlock, or trust every function: edge_runtime.unsafe_without_sandbox = true."
)


def landlock_abi() -> int:
    """Return the Landlock ABI of this kernel; 0 where it has none, or where it was switched off at boot."""
    if _LIBC is None:
        return 0
    answer = _LIBC.syscall(
        _LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_LANDLOCK_VERSION)
    )
    return max(int(answer), 0)


def has_own_users() -> bool:
    """Return whether functions may run as users of their own."""
    return os.geteuid() == 0 and all(
        is_mapped(file, FIRST_UID, LAST_UID) for file in ("/proc/self/uid_map", "/proc/self/gid_map")
    )


def is_mapped(file: str, first: int, last: int) -> bool:
    """Return whether ids are mapped in a user namespace; true where the system has none."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return True
    ranges = [(int(start), int(start) + int(count)) for start, _, count in (line.split() for line in lines)]
    return any(start <= first and last < end for start, end in ranges)


def holds_functions() -> bool:
    """Return whether there is a wall between functions and the platform's files, beside that of the runtime."""
    return landlock_abi() > 0 or os.geteuid() == 0
