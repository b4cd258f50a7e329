"""Stops a branch that is not in use: no request for a set time, no open socket, and no session of another program in its database.

Requests are counted by the branch's own metrics. What cannot be asked keeps the branch awake.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from services.supervisor.branches.last_use import note_use
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.project.database_use import database_use, use_text
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter

_LONGEST_PAUSE_S, _SHORTEST_PAUSE_S = 30.0, 0.25
_ANSWER_S = 10.0
_LONGEST = 8 * 1024 * 1024
_COUNTED = ("headwater_requests_total",)
_OPEN = ("headwater_realtime_sockets", "headwater_graphql_sockets")


@dataclass(slots=True)
class BranchIdleness:
    """Notes when a branch was used, and stops its platform after `stop_after_s` without use; 0: never. Runs until it is cancelled."""

    folder: DataFolder
    project: Project
    stop_after_s: float
    report: Reporter
    clock: Callable[[], float] = time.monotonic

    async def run(self) -> None:
        """Look again and again; then stop this process as a signal does."""
        used_at, counted = self.clock(), -1.0
        pause_s = max(self.stop_after_s / 4, _SHORTEST_PAUSE_S) if self.stop_after_s else _LONGEST_PAUSE_S
        note_use(self.folder)
        while True:
            await asyncio.sleep(min(pause_s, _LONGEST_PAUSE_S))
            seen, is_open = await self._seen()
            if seen != counted or is_open:
                used_at, counted = self.clock(), seen
                note_use(self.folder)
            elif self.stop_after_s and self.clock() - used_at >= self.stop_after_s:
                if not await self._is_database_used():
                    self.report.info(f"This branch was not in use for {self.stop_after_s:.0f} s: it stops")
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
                used_at = self.clock()

    async def _seen(self) -> tuple[float, bool]:
        """Return how many requests there were, and whether a socket is open or that cannot be asked."""
        state = running_state(self.folder)
        port = state.ports.get("api", 0) if state is not None else 0
        if state is None:
            return -1.0, True
        if not port:
            return 0.0, False
        try:
            text = await asyncio.to_thread(_metrics, port, state.values.get("SERVICE_ROLE_KEY", ""))
        except OSError:
            return -1.0, True
        return metric_sum(text, _COUNTED), metric_sum(text, _OPEN) > 0

    async def _is_database_used(self) -> bool:
        state = running_state(self.folder)
        if state is None:
            return True
        try:
            return bool(use_text(await database_use(self.folder, self.project, state)))
        except (SupervisorError, OSError, TimeoutError, msgspec.MsgspecError):
            return True


def metric_sum(text: str, names: tuple[str, ...]) -> float:
    """Return the sum of metrics of some names in the text format of Prometheus (pure)."""
    total = 0.0
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.partition("{")[0] in names:
            total += float(value)
    return total


def _metrics(port: int, key: str) -> str:
    import urllib.request  # only the supervisor of a branch that stops by itself needs it in memory

    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"apikey": key})
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as response:  # noqa: S310 - a constant scheme and host
        return str(response.read(_LONGEST).decode(errors="replace"))
