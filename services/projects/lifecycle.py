"""One project between asleep and awake.

    asleep --(first request, a due job, a command)--> starting --> awake --(idle)--> stopping --> asleep
                                                         |           |
                                                       failed <------+ (its processes are gone)

Everything runs on one event loop, and a state changes only between two awaits. Three races are decided here:

- Wake: any number of first requests await one task that starts the platform. A client that leaves does not cancel it (`shield`).
- Sleep: the questions to the database take time. After the last answer, without an await in between, it is looked at again whether a request
  came meanwhile; only then the state is `stopping`. A request that comes later waits for the end of the stop, and starts the platform again.
- Failure: after a failed start no request starts another before `retry_at`, which moves away up to a minute. Until then they are answered at
  once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Protocol

from broker.backoff import Backoff
from services.projects.errors import ProjectHeld, ProjectOverloaded, WakeFailed, WakeTimeout
from services.projects.idleness import IdleReport
from services.projects.model import ProjectLimits, ProjectStatus
from services.supervisor.errors import SupervisorError

_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 60.0
_LEAST_AWAKE_S = 60.0
"""A project whose next job is due within this time does not go to sleep."""
LEAD_S = 15.0
"""A sleeping project is woken this long before a job is due, and longer if waking took longer last time."""


class SleepState(StrEnum):
    """What a project does now."""

    ASLEEP = "asleep"
    STARTING = "starting"
    AWAKE = "awake"
    STOPPING = "stopping"
    FAILED = "failed"


class WakeablePlatform(Protocol):
    """What is woken and put to sleep (platform_process.py)."""

    async def start(self) -> int:
        """Start it, or find it running; return the port of its gateway. Raises: SupervisorError, OSError."""

    async def stop(self) -> None:
        """Stop it. Raises: SupervisorError."""

    def is_running(self) -> bool:
        """Return whether it runs."""


class ProjectLifecycle:
    """One project. `ask_idle` says whether it may be stopped; `starts` bounds how many projects start at the same time."""

    def __init__(
        self,
        name: str,
        platform: WakeablePlatform,
        limits: ProjectLimits,
        *,
        ask_idle: Callable[[], Awaitable[IdleReport]],
        starts: asyncio.Semaphore,
        wake_timeout_s: float,
        on_event: Callable[[str, str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name, self.platform, self.limits = name, platform, limits
        self._ask_idle, self._starts, self._wake_timeout_s = ask_idle, starts, wake_timeout_s
        self._on_event, self._clock = on_event, clock
        self.state, self.since = SleepState.ASLEEP, clock()
        self.port = 0
        self.requests = self.sockets = self.refused = 0
        self.used_at = clock()
        self.due_at: float | None = None
        self.retry_at: float | None = None
        self.reason = ""
        self.wake_s: float | None = None
        self.disk_mib = 0
        self.is_held = False
        self._backoff = Backoff(_FIRST_RETRY_S, _LAST_RETRY_S)
        self._change: asyncio.Task[None] | None = None
        self._asking = False
        self._ask_at = 0.0

    def enter(self, *, is_socket: bool) -> None:
        """Count a request from its arrival on. Raises: ProjectOverloaded if there are too many, ProjectHeld."""
        if self.is_held:
            raise ProjectHeld
        count, most = (
            (self.sockets, self.limits.sockets) if is_socket else (self.requests, self.limits.requests)
        )
        if 0 < most <= count:
            self.refused += 1
            kind = "WebSockets" if is_socket else "requests at the same time"
            raise ProjectOverloaded(f"The project has reached its limit of {most} {kind}")
        if is_socket:
            self.sockets += 1
        else:
            self.requests += 1

    def leave(self, *, is_socket: bool) -> None:
        """Count the end of a request."""
        if is_socket:
            self.sockets -= 1
        else:
            self.requests -= 1
        self.used_at = self._clock()

    async def reach(self) -> int:
        """Return the port of the project's gateway, waking it. Raises: WakeFailed, WakeTimeout, ProjectHeld."""
        deadline = asyncio.get_running_loop().time() + self._wake_timeout_s
        while self.state is not SleepState.AWAKE:
            if self.is_held:
                raise ProjectHeld
            change = self._change or self.wake()
            try:
                async with asyncio.timeout_at(deadline):
                    await asyncio.shield(change)
            except TimeoutError:
                raise WakeTimeout from None
        return self.port

    def wake(self) -> asyncio.Task[None]:
        """Start the platform unless a change is under way; return the task of the change. Raises: WakeFailed before `retry_at`."""
        if self._change is not None:
            return self._change
        now = self._clock()
        if self.state is SleepState.FAILED and (left_s := self._retry_after_s(now)):
            raise WakeFailed(left_s)
        self._set(SleepState.STARTING)
        return self._begin(self._start())

    def sleep(self) -> asyncio.Task[None] | None:
        """Stop the platform now, whatever it does; return the task of it, or None if it does not run."""
        if self._change is not None or self.state is not SleepState.AWAKE:
            return self._change
        self._set(SleepState.STOPPING)
        return self._begin(self._stop())

    async def hold(self) -> None:
        """Let no request in any more, and stop the platform. Raises: SupervisorError if it does not end."""
        self.is_held = True
        while self._change is not None:
            await asyncio.wait((self._change,))
        if self.platform.is_running():
            self._set(SleepState.STOPPING)
            try:
                await self.platform.stop()
            except SupervisorError:
                self.is_held = False
                raise
            finally:
                self._set(SleepState.AWAKE if self.platform.is_running() else SleepState.ASLEEP)

    def adopt(self, port: int) -> None:
        """Take over a platform that runs already."""
        self.port, self.used_at = port, self._clock()
        self._set(SleepState.AWAKE)

    def tend(self) -> asyncio.Task[None] | None:
        """Do what is due; called about once a second. Returns the task of questions to an idle platform."""
        now = self._clock()
        if self.is_held or self._change is not None:
            return None
        if self.state is SleepState.AWAKE and not self.platform.is_running():
            self.lost()
        if self.state is SleepState.AWAKE:
            return self._tend_awake(now)
        is_due = self.due_at is not None and now >= self.due_at - max(LEAD_S, 2 * (self.wake_s or 0))
        if is_due and not self._retry_after_s(now):
            self.wake()
        return None

    def lost(self) -> None:
        """Record that the platform ended by itself, if it did: the next request starts it again."""
        if self.state is SleepState.AWAKE and self._change is None and not self.platform.is_running():
            self._on_event(self.name, "ended by itself; the next request starts it again")
            self._set(SleepState.ASLEEP)

    def status(self) -> ProjectStatus:
        """Return the project as it is now."""
        return ProjectStatus(
            self.name,
            self.state.value,
            self.since,
            self.requests,
            self.sockets,
            self.refused,
            self.due_at if self.state is not SleepState.AWAKE else None,
            self.retry_at,
            self.reason,
            self.wake_s,
            self.disk_mib,
        )

    def _retry_after_s(self, now: float) -> float:
        """Return the seconds until a failed start may be tried again; more than a pause can last: the clock was set back."""
        left_s = 0.0 if self.retry_at is None else self.retry_at - now
        return left_s if 0 < left_s <= _LAST_RETRY_S else 0.0

    def _tend_awake(self, now: float) -> asyncio.Task[None] | None:
        after = self.limits.sleep_after_s
        is_idle = after > 0 and not (self.requests or self.sockets) and now - self.used_at >= after
        if not is_idle or self._asking or now < self._ask_at:
            return None
        self._asking = True
        return asyncio.get_running_loop().create_task(self._sleep_if_idle(), name=f"idle {self.name}")

    async def _sleep_if_idle(self) -> None:
        asked_at = self._clock()
        try:
            report = await self._ask_idle()
        finally:
            self._asking = False
            self._ask_at = self._clock() + self.limits.sleep_after_s
        now = self._clock()
        soon = max(_LEAST_AWAKE_S, self.limits.sleep_after_s)
        self.reason = report.busy
        if report.due_at is not None and report.due_at - now < soon and not self.reason:
            self.reason = f"a job is due within {soon:.0f} s"
        was_used = self.requests or self.sockets or self.used_at > asked_at
        if (
            self.reason
            or was_used
            or self._change is not None
            or self.state is not SleepState.AWAKE
            or self.is_held
        ):
            return
        self.due_at = report.due_at  # no await since the look at `requests`: none can have come in between
        self.sleep()

    def _begin(self, work: Awaitable[None]) -> asyncio.Task[None]:
        async def change() -> None:
            try:
                await work
            finally:
                self._change = None

        self._change = asyncio.get_running_loop().create_task(change(), name=f"change {self.name}")
        self._change.add_done_callback(_read_exception)
        return self._change

    async def _start(self) -> None:
        began = time.monotonic()
        try:
            async with self._starts:
                began = time.monotonic()
                self.port = await self.platform.start()
        except (SupervisorError, OSError) as error:
            pause_s = self._backoff.next_s()
            self.retry_at, self.reason = self._clock() + pause_s, str(error)
            self._set(SleepState.FAILED)
            self._on_event(
                self.name, f"could not be started, and is tried again after {pause_s:.0f} s: {error}"
            )
            raise WakeFailed(pause_s) from None
        except BaseException:
            self._set(SleepState.ASLEEP)
            raise
        self._backoff.reset()
        self.wake_s = time.monotonic() - began
        self.retry_at, self.reason, self.due_at = None, "", None
        self.used_at = self._clock()
        self._set(SleepState.AWAKE)
        self._on_event(self.name, f"awake after {self.wake_s:.1f} s")

    async def _stop(self) -> None:
        try:
            await self.platform.stop()
        except SupervisorError as error:
            self.reason = str(error)
            self._on_event(self.name, str(error))
        finally:
            self._set(SleepState.AWAKE if self.platform.is_running() else SleepState.ASLEEP)
        if self.state is SleepState.ASLEEP:
            self._on_event(self.name, "asleep")

    def _set(self, state: SleepState) -> None:
        self.state, self.since = state, self._clock()


def _read_exception(task: asyncio.Task[None]) -> None:
    """Read the error of a change that no request awaits, which asyncio would report as never retrieved."""
    if not task.cancelled():
        task.exception()
