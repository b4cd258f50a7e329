"""The processes of one version of a function: started when there is work, as many as it takes, ended when they rest.

`take` gives a process with room; when all are full another is started, up to the function's number, and beyond that
requests wait in line. Starts that fail several times in a row are not tried again for a while: longer and longer.
"""

import asyncio
import time
from collections import deque
from subprocess import SubprocessError
from typing import cast

from broker.observability.observe import observe
from schemas.functions.errors import BootFailed, FunctionBusy, FunctionError
from workers.functions.imports import Prepared
from workers.functions.limits import Limits
from workers.functions.logs import FunctionNotStarted
from workers.functions.places import forget, in_reach
from workers.functions.preparing import prepare_in
from workers.functions.process import Instance, Surroundings
from workers.functions.registry import Function
from workers.functions.system_files import resolver_state

_FREE_FAILURES = 3
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 30.0
_WAITING_PER_PLACE = 8


class CrewEnded(Exception):
    """There is a newer version of the function: its crew has places."""


class Crew:
    """The processes of one version of a function."""

    def __init__(self, function: Function, limits: Limits, around: Surroundings) -> None:
        self.function = function
        self.limits = limits
        self.instances: list[Instance] = []
        self.leaving: set[Instance] = set()
        """Those that finish what they have and end."""
        self._around = around
        self._starting: set[asyncio.Task[None]] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._prepared: asyncio.Task[tuple[Function, Prepared]] | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._refusal: FunctionError | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._is_drained = False

    async def take(self) -> Instance:
        """Give a process with room for one more request: the caller takes a share at once. Raises: BootFailed, TooBusy, CrewEnded."""
        while True:
            if self._is_drained:
                raise CrewEnded
            usable = [each for each in self.instances if each.is_usable]
            if usable:
                return min(usable, key=lambda each: each.in_flight)
            if self._refusal is not None and time.monotonic() < self._retry_at:
                raise BootFailed
            if len(self.instances) + len(self._starting) < self.limits.max_instances and not self._starting:
                self._start()
            await self._room()

    def room(self) -> None:
        """Wake who waits longest: a place has become free."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return

    def rest(self, now: float) -> None:
        """End the processes that have had no work for long, and those that are to be replaced.

        A process may read the `resolv.conf` that was there when it started, not one that has taken its place.
        """
        resolver = resolver_state()
        for each in self.instances:
            each.is_retired = each.is_retired or each.resolver != resolver
        for each in list(self.instances):
            if each.in_flight == 0 and (each.is_retired or now - each.last_used > self.limits.idle_s):
                self.end(each, "idle")

    def end(self, instance: Instance, reason: str, grace_s: float | None = None) -> None:
        """Let a process finish and end."""
        if instance in self.instances:
            self.instances.remove(instance)
        grace = self.limits.wall_s if grace_s is None else grace_s
        self.leaving.add(instance)
        task = asyncio.get_running_loop().create_task(instance.retire(reason, grace))
        self._ending.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, instance))

    async def drain(self, reason: str, grace_s: float | None = None) -> None:
        """End all processes; return when they are gone. Who waits for one is sent to the next version."""
        self._is_drained = True
        self._wake_all()
        if self._starting:
            await asyncio.wait(self._starting)
        for each in list(self.instances):
            self.end(each, reason, grace_s)
        if self._ending:
            await asyncio.wait(self._ending)
        forget(self.function, self._around.places)

    async def _room(self) -> None:
        most = self.limits.concurrency * self.limits.max_instances * _WAITING_PER_PLACE
        if len(self._waiting) >= most:
            raise FunctionBusy
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.room()  # it was woken and leaves: the next one shall have the place
            raise
        if self._refusal is not None and not self.instances and time.monotonic() < self._retry_at:
            raise BootFailed

    def _start(self) -> None:
        task = asyncio.get_running_loop().create_task(self._started())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _started(self) -> None:
        try:
            function, prepared = await self._preparation()
            if prepared.is_refused:
                raise BootFailed
            instance = Instance(function, self.limits, self._around)
            await instance.start(prepared)
        except (BootFailed, OSError, SubprocessError) as error:
            self._refuse(error)
        else:
            self._failures, self._refusal = 0, None
            self.instances.append(instance)
            instance.on_gone = self._gone
            if instance.gone.is_set():
                self._gone(instance)
        finally:
            self._starting.discard(
                cast("asyncio.Task[None]", asyncio.current_task())
            )  # who wakes may start another
            self._wake_all()

    def _refuse(self, error: Exception) -> None:
        self._failures += 1
        self._refusal = BootFailed()
        late = max(self._failures - _FREE_FAILURES, 0)
        pause = min(_FIRST_PAUSE_S * 2**late, _LAST_PAUSE_S) if late else 0.0
        # Those who wait now are refused together; the next request begins a new start, unless that failed often.
        self._retry_at = time.monotonic() + max(pause, 0.05)
        observe(FunctionNotStarted(self.function.name, str(error)))

    async def _preparation(self) -> tuple[Function, Prepared]:
        """Bring the sources into reach and settle the imports: once for a version, and off the loop.

        What could not be fetched is fetched again with the next start: a process cannot write the cache itself.
        """
        if self._prepared is None or _is_to_repeat(self._prepared):
            self._prepared = asyncio.ensure_future(self._prepare_and_tell())
        return await asyncio.shield(self._prepared)

    async def _prepare_and_tell(self) -> tuple[Function, Prepared]:
        function, prepared = await asyncio.to_thread(self._prepare)
        for warning in [*prepared.warnings, *([prepared.failure] if prepared.failure else [])]:
            self._around.journal.write(function, "", "warning", warning, event="imports")
        return function, prepared

    def _prepare(self) -> tuple[Function, Prepared]:
        places = self._around.places
        function = in_reach(self.function, places)
        return function, prepare_in(places, function, offline=self._around.is_offline)

    def _ended(self, task: asyncio.Task[None], instance: Instance) -> None:
        self._ending.discard(task)
        self.leaving.discard(instance)

    def _gone(self, instance: Instance) -> None:
        if instance in self.instances:
            self.instances.remove(instance)
        self._wake_all()

    def _wake_all(self) -> None:
        while self._waiting:
            self.room()


def _is_to_repeat(prepared: "asyncio.Task[tuple[Function, Prepared]]") -> bool:
    """Return whether a preparation has ended without all that it should bring."""
    if not prepared.done():
        return False
    if prepared.cancelled() or prepared.exception() is not None:
        return True
    result = prepared.result()[1]
    return bool(result.failure) and not result.is_refused
