"""The processes of one version of a function: started on demand, stopped when they are idle.

`acquire` returns the process with the fewest requests among those below the function's concurrency. If all are full it
starts another one, up to `max_instances`; at that limit requests wait in a queue, first in first out, and `wake_next` wakes
the first waiter whenever a request ends. The queue holds 8 requests for each that can run; beyond that: TooBusy.

Only one process starts at a time. The first three failed starts in a row fail the waiting requests but allow an immediate
retry; after that the pause before the next start doubles from 1 s up to 30 s.
"""

import asyncio
import time
from collections import deque
from typing import cast

from broker.observability.observe import observe
from schemas.functions.errors import BootFailed, FunctionError, TooBusy
from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.source_copies import make_readable, remove_copy
from workers.functions.imports.prepare import PreparedImports
from workers.functions.imports.sandboxed import prepare_in_sandbox
from workers.functions.logs.journal import FunctionNotStarted
from workers.functions.processes.limits import EffectiveLimits
from workers.functions.processes.process import Instance
from workers.functions.processes.process_sandbox import ProcessContext
from workers.functions.sandbox.system_files import resolver_state

_FREE_FAILURES = 3
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 30.0
_WAITING_PER_SHARE = 8


class VersionReplaced(Exception):
    """There is a newer version of the function: acquire one of its processes."""


class VersionProcesses:
    """The processes of one version of a function."""

    def __init__(self, function: HostedFunction, limits: EffectiveLimits, context: ProcessContext) -> None:
        self.function = function
        self.limits = limits
        self.instances: list[Instance] = []
        self.leaving: set[Instance] = set()
        """Processes that finish their requests and exit."""
        self._context = context
        self._starting: set[asyncio.Task[None]] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._prepared: asyncio.Task[tuple[HostedFunction, PreparedImports]] | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._boot_error: FunctionError | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self._is_drained = False

    async def acquire(self) -> Instance:
        """Return a process with room for one more request; the caller must reserve a share before it awaits anything.

        Raises: BootFailed, TooBusy, VersionReplaced.
        """
        while True:
            if self._is_drained:
                raise VersionReplaced
            usable = [instance for instance in self.instances if instance.is_usable]
            if usable:
                return min(usable, key=lambda instance: instance.in_flight)
            if self._boot_error is not None and time.monotonic() < self._retry_at:
                raise BootFailed
            if len(self.instances) + len(self._starting) < self.limits.max_instances and not self._starting:
                self._start()
            await self._wait_for_room()

    def wake_next(self) -> None:
        """Wake the request that has waited longest: a process has room again."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return

    def stop_idle(self, now: float) -> None:
        """Stop processes that have been idle for `idle_s`, and idle ones that must be replaced.

        A process is replaced when `resolv.conf` is another file than at its start, because Landlock gave it the right to read the
        old file only, and when a program listens on loopback that the process's list of closed ports does not name.
        """
        resolver, listening = resolver_state(), self._context.listeners.settled()
        for instance in self.instances:
            is_outdated = instance.resolver != resolver or instance.sandbox.misses_listener(listening)
            instance.is_retired = instance.is_retired or is_outdated
        for instance in list(self.instances):
            is_due = instance.is_retired or now - instance.last_used > self.limits.idle_s
            if instance.in_flight == 0 and is_due:
                self.stop(instance, "idle")

    def stop(self, instance: Instance, reason: str, grace_s: float | None = None) -> None:
        """Retire a process: it finishes its requests and exits; it is killed after the grace time."""
        if instance in self.instances:
            self.instances.remove(instance)
        grace = self.limits.wall_s if grace_s is None else grace_s
        self.leaving.add(instance)
        task = asyncio.get_running_loop().create_task(instance.retire(reason, grace))
        self._stopping.add(task)
        task.add_done_callback(lambda done: self._stopped(done, instance))

    async def drain(self, reason: str, grace_s: float | None = None) -> None:
        """Stop all processes and return when they have exited. Waiting requests get VersionReplaced."""
        self._is_drained = True
        self._wake_all()
        if self._starting:
            await asyncio.wait(self._starting)
        for instance in list(self.instances):
            self.stop(instance, reason, grace_s)
        if self._stopping:
            await asyncio.wait(self._stopping)
        remove_copy(self.function, self._context.host)

    async def _wait_for_room(self) -> None:
        most = self.limits.concurrency * self.limits.max_instances * _WAITING_PER_SHARE
        if len(self._waiting) >= most:
            raise TooBusy
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.wake_next()  # cancelled after it was woken: pass the wake-up on, or it is lost
            raise
        if self._boot_error is not None and not self.instances and time.monotonic() < self._retry_at:
            raise BootFailed

    def _start(self) -> None:
        task = asyncio.get_running_loop().create_task(self._start_process())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start_process(self) -> None:
        try:
            function, prepared = await self._preparation()
            if prepared.is_rejected:
                raise BootFailed
            instance = Instance(function, self.limits, self._context)
            await instance.start(prepared)
        except (
            Exception
        ) as error:  # whatever it is: without a failure the waiters would start it again at once, for ever
            self._record_failure(error)
        else:
            self._failures, self._boot_error = 0, None
            self.instances.append(instance)
            instance.on_exit = self._on_exit
            if instance.exited.is_set():
                self._on_exit(instance)
        finally:
            # Before the waiters wake: each of them may start the next process.
            self._starting.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            self._wake_all()

    def _record_failure(self, error: Exception) -> None:
        self._failures += 1
        self._boot_error = BootFailed()
        excess = max(self._failures - _FREE_FAILURES, 0)
        pause = min(_FIRST_PAUSE_S * 2**excess, _LAST_PAUSE_S) if excess else 0.0
        # All requests that wait now fail together; the next one starts a process again, unless starts failed often.
        self._retry_at = time.monotonic() + max(pause, 0.05)
        observe(FunctionNotStarted(self.function.name, str(error) or type(error).__name__))

    async def _preparation(self) -> tuple[HostedFunction, PreparedImports]:
        """Make the sources readable and prepare the imports: once a version, in a thread.

        Modules that could not be fetched are fetched again before the next start: a process cannot write the cache itself.
        """
        if self._prepared is None or _must_repeat(self._prepared):
            self._prepared = asyncio.ensure_future(self._prepare_and_log())
        return await asyncio.shield(self._prepared)

    async def _prepare_and_log(self) -> tuple[HostedFunction, PreparedImports]:
        function, prepared = await asyncio.to_thread(self._prepare)
        for warning in [*prepared.warnings, *([prepared.failure] if prepared.failure else [])]:
            self._context.journal.write(function, "", "warning", warning, event="imports")
        return function, prepared

    def _prepare(self) -> tuple[HostedFunction, PreparedImports]:
        host = self._context.host
        function = make_readable(self.function, host)
        return function, prepare_in_sandbox(host, function, offline=self._context.is_offline)

    def _stopped(self, task: asyncio.Task[None], instance: Instance) -> None:
        self._stopping.discard(task)
        self.leaving.discard(instance)

    def _on_exit(self, instance: Instance) -> None:
        if instance in self.instances:
            self.instances.remove(instance)
        self._wake_all()

    def _wake_all(self) -> None:
        while self._waiting:
            self.wake_next()


def _must_repeat(prepared: "asyncio.Task[tuple[HostedFunction, PreparedImports]]") -> bool:
    """Return whether a preparation failed, or ended without all modules."""
    if not prepared.done():
        return False
    if prepared.cancelled() or prepared.exception() is not None:
        return True
    result = prepared.result()[1]
    return bool(result.failure) and not result.is_rejected
