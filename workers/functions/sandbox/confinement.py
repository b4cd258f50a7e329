"""Confine a function's process before its program starts: control group, limits, user, files, system calls.

    parent   build the Landlock ruleset, the seccomp filter and the limits      -> Confinement
    child    control group, rlimits, user, no_new_privs, death signal, Landlock, seccomp filter     -> exec

The child runs `enter` between fork and exec and makes only system calls. The order is forced: entering the group and changing
the user need rights that the next steps take away, Landlock and seccomp need no_new_privs, and the filter is last because it
forbids the calls of the other steps. If a step fails, the start fails: nothing runs with less confinement than planned.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Collection
from dataclasses import dataclass
from types import TracebackType

from workers.functions.sandbox import landlock
from workers.functions.sandbox.control_groups import ControlGroup
from workers.functions.sandbox.features import SandboxFeatures, set_no_new_privs
from workers.functions.sandbox.landlock import LandlockRules
from workers.functions.sandbox.socket_handover import SocketHandover
from workers.functions.sandbox.system_call_filter import FilterInstaller, UnixSockets
from workers.functions.sandbox.users import FunctionUser

SPARE_MB = 640
"""Address space that the runtime reserves for itself, in addition to the function's memory (docs/reference/functions.md, 7)."""
_FILES = 4096
_CPU_S = 24 * 3600
"""A limit for the whole life of a process; its requests are measured one by one (`processes/limits.py`)."""
MOST_THREADS = 1024
"""Threads of all processes of one function's user: a process has about ten, and more while it resolves names."""
_UMASK = 0o077
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits of one process that the kernel enforces."""

    memory_mb: int
    file_bytes: int = 0
    """Longest file that it may write; 0: no file."""
    cpu_s: int = _CPU_S


class Confinement:
    """The confinement of one process: built before the fork, entered (`enter`) between fork and exec, closed after exec."""

    def __init__(
        self,
        features: SandboxFeatures,
        user: FunctionUser | None,
        resources: ResourceLimits,
        rules: LandlockRules,
        *,
        handover: SocketHandover | None = None,
        unix: UnixSockets = UnixSockets.OPEN,
        spared: Collection[str] = (),
        creates: bool = False,
        group: ControlGroup | None = None,
    ) -> None:
        self._group = group
        self._user, self._rules, self._abi = user, rules, features.landlock
        self._handover = handover
        self._parent = os.getpid()
        self._limits = _limits(user, resources)
        self._installer = FilterInstaller(unix, spared, creates=creates) if features.has_filter else None
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
        """Apply all restrictions; runs in the child. Raises: OSError, and the program is not started."""
        if self._group is not None:
            self._group.enter()
        for kind, limit in self._limits:
            _, hard = resource.getrlimit(kind)
            allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (allowed, allowed))
        signal.signal(
            signal.SIGXFSZ, signal.SIG_IGN
        )  # writing past the limit returns EFBIG instead of killing the process
        os.umask(_UMASK)
        if self._user is not None:
            os.setgroups([])
            os.setgid(self._user.gid)
            os.setuid(self._user.uid)  # called as root, this changes the saved ids as well
        set_no_new_privs()
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self._parent:
                os._exit(1)  # the worker exited before the death signal was set
        if self._ruleset is not None:
            landlock.restrict_self(self._ruleset, self._rules, self._abi)
        if self._installer is not None:
            descriptor = self._installer.install()
            if self._handover is not None:
                self._handover.hand_over(descriptor)


def _limits(user: FunctionUser | None, resources: ResourceLimits) -> list[tuple[int, int]]:
    limits = [
        (resource.RLIMIT_DATA, (resources.memory_mb + SPARE_MB) * 1024 * 1024),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, resources.cpu_s),
        (resource.RLIMIT_FSIZE, resources.file_bytes),
    ]
    if user is not None and not user.is_shared:  # the kernel counts the threads of all processes of a user
        limits.append((resource.RLIMIT_NPROC, MOST_THREADS))
    return limits
