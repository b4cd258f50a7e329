"""A process that leads or stands by for one kind of work, from `begin` to `close`, and tries again after failures of the database.

Pauses between attempts grow until the work has gone on for as long as the longest pause.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from broker.backoff import Backoff
from broker.observability.observe import traceback_of
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import Leadership, LeadershipLost, lead

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 10.0


class LeaderCandidate:
    """Does `work` while it holds the advisory lock. `on_lost` gets a reason, and the same one again only after work that went on; `on_crash` a traceback.

    `on_waiting` is called when another process leads.
    """

    def __init__(
        self,
        url: str,
        lock: tuple[int, int],
        work: Callable[[Leadership], Awaitable[None]],
        *,
        name: str,
        on_lost: Callable[[str], None],
        on_crash: Callable[[str], None],
        on_waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._url, self._lock, self._work, self._name = url, lock, work, name
        self._on_lost, self._on_crash, self._on_waiting = on_lost, on_crash, on_waiting
        self._task: asyncio.Task[None] | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        self._complaint = ""
        self._is_closing = False

    def begin(self) -> None:
        """Start the background task."""
        self._task = asyncio.get_running_loop().create_task(self._stand(), name=self._name)

    async def close(self, within_s: float = 0.0) -> None:
        """Release the lead; work that was asked to stop before gets `within_s` to end. Another process takes over at once."""
        self._is_closing = True
        if self._task is None:
            return
        if within_s:
            await asyncio.wait((self._task,), timeout=within_s)
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _stand(self) -> None:
        while True:
            try:
                await lead(
                    self._url, self._lock, self._lead, self._on_waiting, name=f"headwater {self._name}"
                )
                if self._is_closing:
                    return
            except (Disconnected, LeadershipLost, DatabaseError) as error:
                self._complain(error)
            except Exception as error:  # without this task no process does the work
                self._on_crash(traceback_of(error))
            await self._backoff.wait()

    async def _lead(self, leadership: Leadership) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await self._work(leadership)
        finally:
            # Work that fails soon is tried again after growing pauses: each time it opens a session and does all of its start.
            if loop.time() - began >= _LAST_PAUSE_S:
                self._backoff.reset()
                self._complaint = ""

    def _complain(self, error: Exception) -> None:
        # Messages of the database may contain values; its code does not.
        reason = f"SQLSTATE {error.code}" if isinstance(error, DatabaseError) else str(error)
        if reason != self._complaint:
            self._complaint = reason
            self._on_lost(reason)
