"""Which sandbox features the kernel of this machine has, detected once by trying them in a child process.

    Landlock      files, TCP ports, signals (landlock.py)
    filter        system calls: seccomp (system_call_filter.py)
    gate          the listening socket is handed to the process, so it creates none (socket_handover.py)
    users         a separate user for each function, if the platform was started as root (users.py)

Landlock or separate users are required: otherwise a function that escapes from the runtime's permissions could read the
platform's passwords. Without both, functions are run only if the settings accept that (`unsafe_without_sandbox`).
"""

import ctypes
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from broker.processes.confinement import can_confine_functions, landlock_abi
from workers.functions.sandbox.system_call_filter import FilterInstaller, UnixSockets, is_supported

_NO_NEW_PRIVS = 38
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_GATE_SINCE = (5, 14)


@dataclass(frozen=True, slots=True)
class SandboxFeatures:
    """The sandbox features of this machine. `landlock`: its ABI version, 0 for none; `is_enough`: functions may be run."""

    landlock: int
    has_filter: bool
    is_gated: bool
    is_enough: bool


def detect_features() -> SandboxFeatures:
    """Detect the sandbox features of this machine."""
    abi = landlock_abi()
    has_filter = is_supported() and _works(lambda: FilterInstaller(UnixSockets.CLOSED).install())
    is_gated = (
        has_filter
        and _release() >= _GATE_SINCE
        and _works(lambda: FilterInstaller(UnixSockets.GATED).install())
    )
    return SandboxFeatures(abi, has_filter, is_gated, can_confine_functions())


def set_no_new_privs() -> None:
    """Forbid this process and its descendants to gain rights by executing a program. Raises: OSError."""
    if _LIBC is not None and _LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs cannot be set")


def _works(install: Callable[[], int]) -> bool:
    """Return whether a filter can be installed, by installing it in a child process."""
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
    match = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(match[1]), int(match[2])) if match else (0, 0)
