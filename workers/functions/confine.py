"""What a function's process gives up before its program starts: rights, files, system calls, memory, a life without us.

    parent   ruleset, filter and limits are built       -> Confinement
    child    control group, limits, user, no_new_privs, death signal, Landlock, filter     -> exec

The child makes system calls only, in this order: the user is changed while that is still allowed, the filter comes last
because it forbids what the others need. A step that fails ends the start: nothing runs with fewer walls than were planned.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Collection
from dataclasses import dataclass
from types import TracebackType

from workers.functions import landlock
from workers.functions.control_groups import ControlGroup
from workers.functions.filter import Installer, Unix
from workers.functions.landlock import Rules
from workers.functions.listener import Listener
from workers.functions.users import SystemUser
from workers.functions.walls import Walls, set_no_new_privs

SPARE_MB = 640
"""Address space that the runtime reserves for itself beside what the function may take (reference, section 7)."""
_FILES = 4096
_CPU_S = 24 * 3600
"""A backstop for the whole life of a process; its requests are measured one by one (`limits.py`)."""
MOST_THREADS = 1024
"""Of all processes of one function's user: a process has some ten, and more while it resolves names."""
_UMASK = 0o077
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one process that the kernel counts."""

    memory_mb: int
    file_bytes: int = 0
    """Longest file that it may write: none at all."""
    cpu_s: int = _CPU_S


class Confinement:
    """The walls of one process: made before the fork, entered (`enter`) between fork and exec, closed after it."""

    def __init__(
        self,
        walls: Walls,
        user: SystemUser | None,
        bounds: Bounds,
        rules: Rules,
        *,
        listener: Listener | None = None,
        unix: Unix = Unix.OPEN,
        spared: Collection[str] = (),
        creates: bool = False,
        group: ControlGroup | None = None,
    ) -> None:
        self._group = group
        self._user, self._rules, self._abi = user, rules, walls.landlock
        self._listener = listener
        self._parent = os.getpid()
        self._limits = _limits(user, bounds)
        self._installer = Installer(unix, spared, creates=creates) if walls.has_filter else None
        self._ruleset = landlock.create_ruleset(rules, self._abi) if self._abi else None

    def __enter__(self) -> "Confinement":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ruleset is not None:
            os.close(self._ruleset)
            self._ruleset = None

    def enter(self) -> None:
        """Give up everything; runs in the child. Raises: OSError, and the program is not started."""
        if self._group is not None:
            self._group.enter()
        for kind, most in self._limits:
            _, hard = resource.getrlimit(kind)
            within = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (within, within))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that is too long is an error, not the end
        os.umask(_UMASK)
        if self._user is not None:
            os.setgroups([])
            os.setgid(self._user.gid)
            os.setuid(self._user.uid)  # of root: the saved ids too
        set_no_new_privs()
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self._parent:
                os._exit(1)
        if self._ruleset is not None:
            landlock.restrict_self(self._ruleset, self._rules, self._abi)
        if self._installer is not None:
            gate = self._installer.install()
            if self._listener is not None:
                self._listener.hand_over(gate)


def _limits(user: SystemUser | None, bounds: Bounds) -> list[tuple[int, int]]:
    limits = [
        (resource.RLIMIT_DATA, (bounds.memory_mb + SPARE_MB) * 1024 * 1024),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, bounds.cpu_s),
        (resource.RLIMIT_FSIZE, bounds.file_bytes),
    ]
    if user is not None and not user.is_shared:  # the kernel counts all processes of a user
        limits.append((resource.RLIMIT_NPROC, MOST_THREADS))
    return limits
