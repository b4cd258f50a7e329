"""Limits of a function (processor time of a request, memory, times), and the measurement of its processes.

A process is sampled every 100 ms while it works (`/proc/PID/stat`, `status`, `schedstat`). Three rules kill it:

- The processor time since the last sample is divided equally among the requests under way. If the share of one request is
  over the limit, the process is killed.
- An endless loop blocks every request of the process, so new requests would dilute the shares for ever. Therefore a process
  that computes for as long as the limit without sending a byte is killed, too. Time in which it was runnable but other
  processes had the processor (schedstat) counts as computing: on a busy machine a loop is still a loop.
- A stopped process (SIGSTOP, a debugger) answers nothing and uses nothing, so the limits above never apply: it is killed
  after three seconds.

A process over its memory limit is killed at the first sample that shows it. Without /proc the limit of the V8 heap and the
kernel limits of the process (`sandbox/confinement.py`) still apply.
"""

import os
from dataclasses import dataclass, field

from schemas.settings.functions import EdgeRuntime, FunctionSettings

STOPPED = "stopped"
SAMPLE_S = 0.1
"""Seconds between two samples of a process with requests."""
REST_SAMPLE_S = 1.0
"""Seconds between two samples of an idle process."""
_BUSY = 0.25
"""Part of one core; a process that uses less is not computing."""
_STOPPED_S = 3.0
"""Seconds after which a stopped process is killed."""
_MAX_INTERVAL_S = 2 * REST_SAMPLE_S
"""Longest time between two samples that counts: after more than that, the worker itself was stopped."""
_STOPPED = (b"T", b"t")
_LIFE_CPU_S = 3600.0
"""Processor time after which a process is replaced."""
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_ANON, _SHMEM = b"RssAnon:", b"RssShmem:"


@dataclass(frozen=True, slots=True)
class EffectiveLimits:
    """The limits of one function, with defaults applied."""

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


def limits_of(settings: FunctionSettings, runtime: EdgeRuntime) -> EffectiveLimits:
    """Return the limits of a function: its own settings, else those of all functions."""
    is_oneshot = runtime.policy == "oneshot"
    timeout_s = settings.timeout_s or runtime.timeout_s
    return EffectiveLimits(
        memory_mb=settings.memory_mb or runtime.memory_mb,
        cpu_s=(settings.cpu_ms or runtime.cpu_ms) / 1000,
        timeout_s=timeout_s,
        wall_s=max(runtime.wall_s, timeout_s),
        websocket_s=runtime.websocket_s,
        idle_s=runtime.idle_s,
        boot_s=runtime.boot_s,
        concurrency=1 if is_oneshot else settings.concurrency or runtime.concurrency,
        max_instances=settings.max_instances or runtime.max_instances,
        is_oneshot=is_oneshot,
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process has used so far."""

    cpu_s: float
    memory_bytes: int
    queued_s: float = 0.0
    """Time in which its first thread, which runs its script, was runnable but had no processor."""
    is_stopped: bool = False
    """It runs nothing until SIGCONT."""


def sample(pid: int) -> Sample | None:
    """Read what a process has used; None if it has exited, or without /proc."""
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
        queued_s = 0.0  # a kernel without schedstat
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
    """Judges the samples of one process (pure). `shares` belong to the requests under way."""

    limits: EffectiveLimits
    shares: set[Share] = field(default_factory=set)
    used_s: float = 0.0
    """Processor time at the last sample."""
    memory_bytes: int = 0
    silent_s: float = 0.0
    """Processor time since the process last sent a byte."""
    stopped_s: float = 0.0
    """How long the process has been stopped."""
    _queued_s: float = 0.0
    _at: float | None = None

    def progress(self) -> None:
        """Note that the process sent bytes."""
        self.silent_s = 0.0

    def judge(self, usage: Sample, now: float) -> str | None:
        """Take a sample; return the broken limit (`cpu`, `memory`, `stopped`), `age` for a process to replace, or None."""
        before, self._at = self._at, now
        spent = max(usage.cpu_s - self.used_s, 0.0)
        queued = max(usage.queued_s - self._queued_s, 0.0)
        self.used_s, self.memory_bytes, self._queued_s = usage.cpu_s, usage.memory_bytes, usage.queued_s
        if usage.memory_bytes > self.limits.memory_mb * 1024 * 1024:
            return "memory"
        if before is None:  # the processor time of its start belongs to no request
            return None
        self.stopped_s = self.stopped_s + min(now - before, _MAX_INTERVAL_S) if usage.is_stopped else 0.0
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
        return "age" if usage.cpu_s > _LIFE_CPU_S else None
