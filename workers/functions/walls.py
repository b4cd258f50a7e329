"""Which walls the kernel of this machine has for functions, found out once by trying them in a child.

    Landlock      files, TCP ports, signals (landlock.py)
    filter        system calls (filter.py)
    gate          the answering socket is handed in, so the process creates none (listener.py)
    users         another user for each function, where the platform was started as root (users.py)

The first or the last must be there: else a function that leaves the runtime's sandbox reads the platform's passwords, and
functions are not run unless the settings accept that.
"""

import ctypes
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from broker.processes.confinement import can_confine_functions, landlock_abi
from workers.functions.filter import Installer, Unix, is_supported

_NO_NEW_PRIVS = 38
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_GATE_SINCE = (5, 14)


@dataclass(frozen=True, slots=True)
class Walls:
    """What holds functions here. `landlock` is the ABI, 0 for none."""

    landlock: int
    has_filter: bool
    is_gated: bool
    is_enough: bool


def find_walls() -> Walls:
    """Try the walls of this machine."""
    abi = landlock_abi()
    has_filter = is_supported() and _works(lambda: Installer(Unix.CLOSED).install())
    is_gated = has_filter and _release() >= _GATE_SINCE and _works(lambda: Installer(Unix.GATED).install())
    return Walls(abi, has_filter, is_gated, can_confine_functions())


def set_no_new_privs() -> None:
    """Give up, for this process and those that it starts, every gain of rights by a program. Raises: OSError."""
    if _LIBC is not None and _LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs cannot be set")


def _works(install: Callable[[], int]) -> bool:
    """Return whether a filter can be installed, by doing so in a child."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            set_no_new_privs()
            install()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _release() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if found else (0, 0)
