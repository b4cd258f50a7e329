"""Lines: the runs of one schedule one after another, those of different ones side by side, up to a number.

A run that is due while the one before still runs waits behind it. Of a schedule whose runs always take too long only some
wait (`Due.most_waiting`); further ones are dropped.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from workers.scheduler.timetable import Due


class Lines:
    """Runs what is put into it, until it is closed. `run` must not raise but when cancelled."""

    def __init__(
        self,
        run: Callable[[Due], Awaitable[None]],
        *,
        at_a_time: int,
        on_drop: Callable[[Due], None],
    ) -> None:
        self._run, self._on_drop = run, on_drop
        self._room = asyncio.Semaphore(at_a_time)
        self._waiting: dict[str, deque[Due]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many schedules run, or wait for room."""
        return len(self._waiting)

    def put(self, due: Due) -> None:
        """Have a run happen, now or when the one before it has ended."""
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
        """Let what runs end, for a time, and begin nothing that waits; then stop it."""
        for line in self._waiting.values():
            line.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()

    async def stop(self) -> None:
        """Stop everything at once."""
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
