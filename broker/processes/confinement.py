"""Find out what this machine offers to confine a function: used by the functions pool, `start` and `doctor`.

The kernel reports whether it has Landlock (`workers/functions/sandbox/landlock.py` explains the call). Running functions as
separate users requires root, and user ids that are mapped in this user namespace.
"""

import ctypes
import os
import sys
from pathlib import Path

_LANDLOCK_CREATE_RULESET, _LANDLOCK_VERSION = 444, 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

FIRST_UID, LAST_UID = 61184, 65519
"""The range of user ids that systemd reserves for services without an account (DynamicUser): systems assign none of them."""

NO_CONFINEMENT = (
    "nothing on this machine keeps functions from the platform's own files: the kernel has no Landlock (Linux 5.13 or later), "
    "and functions run as the platform's user"
)
NO_CONFINEMENT_ADVICE = (
    "Functions are not run. Start headwater as root, so that functions have a user of their own, or use a kernel with "
    "Landlock, or trust every function: edge_runtime.unsafe_without_sandbox = true."
)


def landlock_abi() -> int:
    """Return the version of this kernel's Landlock ABI; 0 if Landlock is missing or was switched off at boot."""
    if _LIBC is None:
        return 0
    answer = _LIBC.syscall(
        _LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_LANDLOCK_VERSION)
    )
    return max(int(answer), 0)


def has_function_users() -> bool:
    """Return whether functions can run as separate users."""
    return os.geteuid() == 0 and all(
        is_mapped(file, FIRST_UID, LAST_UID) for file in ("/proc/self/uid_map", "/proc/self/gid_map")
    )


def is_mapped(file: str, first: int, last: int) -> bool:
    """Return whether ids are mapped in a user namespace; true on a system without user namespaces."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return True
    ranges = [(int(start), int(start) + int(count)) for start, _, count in (line.split() for line in lines)]
    return any(start <= first and last < end for start, end in ranges)


def can_confine_functions() -> bool:
    """Return whether the system, in addition to the runtime, can keep functions from the platform's files."""
    return landlock_abi() > 0 or os.geteuid() == 0
