"""What a function may use: processor time for a request, memory, time; and how that is measured.

A process is looked at every 100 ms while it works. Its processor time is shared out to the requests under way; one whose
share is beyond the limit ends the process, and so does a process that computes for that long without a sign of life: an
endless loop holds up every request, so no share would tell. It computes also while it waits for a processor that others
have: on a machine with too much to do a loop is still one. A process that was stopped (SIGSTOP, a debugger) answers nothing
and uses nothing, so no limit would end it: it is ended when it has been stopped for three seconds. The numbers are those of the kernel (/proc); where there is
none, the limits of the heap and of the whole process still hold.
"""

import os
from dataclasses import dataclass, field

from schemas.settings.functions import EdgeRuntime, FunctionSettings

STOPPED = "stopped"
SAMPLE_S = 0.1
"""Seconds between two looks at processes that work."""
REST_SAMPLE_S = 1.0
"""Seconds between two looks at processes that rest."""
_BUSY = 0.25
"""Part of a core below which a process is not computing."""
_STOPPED_S = 3.0
"""Seconds after which a stopped process is ended."""
_LONGEST_LOOK_S = 2 * REST_SAMPLE_S
"""Time between two looks that counts: behind more, the worker itself was stopped."""
_STOPPED = (b"T", b"t")
_LIFE_CPU_S = 3600.0
"""Processor time after which a process is replaced by a new one."""
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_ANON, _SHMEM = b"RssAnon:", b"RssShmem:"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one function."""

    memory_mb: int
    cpu_s: float
    timeout_s: float
    wall_s: float
    websocket_s: float
    idle_s: float
    boot_s: float
    concurrency: int
    max_instances: int
    is_oneshot: bool


def limits_of(own: FunctionSettings, runtime: EdgeRuntime) -> Limits:
    """Give the limits of a function: its own where it has them, else those of all."""
    is_oneshot = runtime.policy == "oneshot"
    timeout_s = own.timeout_s or runtime.timeout_s
    return Limits(
        memory_mb=own.memory_mb or runtime.memory_mb,
        cpu_s=(own.cpu_ms or runtime.cpu_ms) / 1000,
        timeout_s=timeout_s,
        wall_s=max(runtime.wall_s, timeout_s),
        websocket_s=runtime.websocket_s,
        idle_s=runtime.idle_s,
        boot_s=runtime.boot_s,
        concurrency=1 if is_oneshot else own.concurrency or runtime.concurrency,
        max_instances=own.max_instances or runtime.max_instances,
        is_oneshot=is_oneshot,
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process has used until now."""

    cpu_s: float
    memory_bytes: int
    queued_s: float = 0.0
    """Time in which its first thread, which runs its script, could have run and had no processor."""
    is_stopped: bool = False
    """It runs nothing until a signal lets it go on."""


def sample(pid: int) -> Sample | None:
    """Look at a process; None if it is gone, or the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
        with open(f"/proc/{pid}/status", "rb") as file:
            status = file.read()
    except OSError:
        return None
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            queued_s = int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        queued_s = 0.0  # a kernel that does not count it
    fields = stat.rpartition(b")")[2].split()
    memory = _size(status, _ANON) + _size(status, _SHMEM)
    return Sample((int(fields[11]) + int(fields[12])) * _TICK_S, memory, queued_s, fields[0] in _STOPPED)


def _size(status: bytes, name: bytes) -> int:
    at = status.find(name)
    return int(status[at + len(name) :].split(None, 1)[0]) * 1024 if at >= 0 else 0


@dataclass(slots=True, eq=False)
class Share:
    """The processor time of one request."""

    cpu_s: float = 0.0


@dataclass(slots=True)
class Meter:
    """Judges the samples of one process (pure). `shares` are those of the requests under way."""

    limits: Limits
    shares: set[Share] = field(default_factory=set)
    used_s: float = 0.0
    """Processor time at the last look."""
    memory_bytes: int = 0
    silent_s: float = 0.0
    """Processor time since the last sign of life."""
    stopped_s: float = 0.0
    """How long it has been stopped."""
    _queued_s: float = 0.0
    _at: float | None = None

    def progress(self) -> None:
        """Take note of a sign of life."""
        self.silent_s = 0.0

    def judge(self, seen: Sample, now: float) -> str | None:
        """Take a sample; give the limit that was broken: `cpu`, `memory`, `stopped`, or `age` for one that has worked for long."""
        before, self._at = self._at, now
        spent = max(seen.cpu_s - self.used_s, 0.0)
        queued = max(seen.queued_s - self._queued_s, 0.0)
        self.used_s, self.memory_bytes, self._queued_s = seen.cpu_s, seen.memory_bytes, seen.queued_s
        if seen.memory_bytes > self.limits.memory_mb * 1024 * 1024:
            return "memory"
        if before is None:  # the time of its start is nobody's
            return None
        self.stopped_s = self.stopped_s + min(now - before, _LONGEST_LOOK_S) if seen.is_stopped else 0.0
        if self.stopped_s > _STOPPED_S:
            return STOPPED
        if spent + queued < _BUSY * (now - before):
            self.silent_s = 0.0
        else:
            self.silent_s += spent
        for share in self.shares:
            share.cpu_s += spent / len(self.shares)
        if self.silent_s > self.limits.cpu_s or any(share.cpu_s > self.limits.cpu_s for share in self.shares):
            return "cpu"
        return "age" if seen.cpu_s > _LIFE_CPU_S else None
