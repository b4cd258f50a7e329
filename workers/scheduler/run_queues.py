"""Queues of runs: the runs of one schedule one after another, different schedules concurrently up to a limit.

A run that is due while the previous one is running waits behind it. At most `DueRun.most_waiting` runs of a schedule
wait; further ones are dropped.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from workers.scheduler.timetable import DueRun


class RunQueues:
    """Executes queued runs until it is stopped. `run` must not raise except when cancelled."""

    def __init__(
        self,
        run: Callable[[DueRun], Awaitable[None]],
        *,
        at_a_time: int,
        on_drop: Callable[[DueRun], None],
    ) -> None:
        self._run, self._on_drop = run, on_drop
        self._room = asyncio.Semaphore(at_a_time)
        self._waiting: dict[str, deque[DueRun]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """The number of schedules with running or waiting runs."""
        return len(self._waiting)

    def put(self, due: DueRun) -> None:
        """Queue a run: it starts now, or when the one before it has ended."""
        line = self._waiting.get(due.key)
        if line is not None:
            if len(line) < due.most_waiting:
                line.append(due)
            else:
                self._on_drop(due)
            return
        self._waiting[due.key] = deque([due])
        task = asyncio.get_running_loop().create_task(self._serve(due.key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, within_s: float) -> None:
        """Drop waiting runs, wait `within_s` for running ones, then cancel them."""
        for line in self._waiting.values():
            line.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()

    async def stop(self) -> None:
        """Cancel everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, key: str) -> None:
        line = self._waiting[key]
        try:
            while line:
                async with self._room:
                    if line:
                        await self._run(line.popleft())
        finally:
            del self._waiting[key]
