"""What a function's process gives up before its program starts: rights, memory, open files, a life without us.

It runs between fork and exec, so it does system calls only.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable

from workers.functions.places import SystemUser

SPARE_MB = 640
"""Address space that the runtime reserves for itself beside what the function may take (reference, section 7)."""
_FILES = 4096
_CPU_S = 24 * 3600
"""A backstop for the whole life of a process; its requests are measured one by one (`limits.py`)."""
_UMASK = 0o077
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def confinement(user: SystemUser | None, memory_mb: int) -> Callable[[], None]:
    """Give what a process runs before its program."""
    parent = os.getpid()
    data = (memory_mb + SPARE_MB) * 1024 * 1024
    limits = (
        (resource.RLIMIT_DATA, data),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, _CPU_S),
    )
    prctl = _LIBC.prctl if _LIBC is not None else None

    def confine() -> None:
        for kind, most in limits:
            _, hard = resource.getrlimit(kind)
            within = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (within, within))
        os.umask(_UMASK)
        if user is not None:
            os.setgroups([])
            os.setgid(user.gid)
            os.setuid(user.uid)
        if prctl is not None:
            prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

    return confine
