"""The functions that exist now: read at the start, checked again while they are used; changes are reported.

Reading costs one `stat` for each file, in a thread. It happens every `watch` milliseconds while requests arrive, and every two
seconds after 30 s without requests. A request whose last reading is older than two intervals waits for a new one, so it runs
what was saved before it was sent. Requests that arrive during a reading share it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.catalog.overlay import Overlay, read_with_overlay
from workers.functions.catalog.registry import HostedFunction

_IDLE_INTERVAL_S = 2.0
_IN_USE_S = 30.0


class FunctionsRead(Observation, frozen=True):
    """The functions of the project were read: their names, and warnings about the others."""

    functions: list[str]
    warnings: list[str]


class FunctionsUnread(Observation, frozen=True):
    """The folder of the functions could not be read; the previous functions stay in force."""

    level: ClassVar[str] = "error"
    reason: str


class FunctionCatalog:
    """The functions of one project. `on_change` is called with the old value of each function that changed or was removed."""

    def __init__(self, root: Path, named: Mapping[str, FunctionSettings], runtime: EdgeRuntime) -> None:
        self.functions: Mapping[str, HostedFunction] = {}
        self.on_change: Callable[[HostedFunction], None] = lambda _: None
        self._root, self._named, self._runtime = root, named, runtime
        self._every_s = runtime.watch / 1000
        self._read_at = 0.0
        self._used_at = 0.0
        self._warnings: list[str] = []
        self._overlay = Overlay()
        self._reading: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the functions and watch them from now on."""
        await self.look()
        if self._every_s:
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Stop watching."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])

    async def get(self, name: str) -> HostedFunction | None:
        """Return a function by name, as it is now."""
        self._used_at = now = time.monotonic()
        if self._every_s and now - self._read_at > self._every_s * 2:
            await self.look()
        return self.functions.get(name)

    async def use(self, overlay: Overlay) -> None:
        """Use an overlay over the folder; when this returns, requests get it."""
        self._overlay = overlay
        if self._reading is not None and not self._reading.done():
            await asyncio.wait([self._reading])  # it started without the overlay
        await self.look()

    async def look(self) -> None:
        """Read the functions now. Callers at the same time share one reading."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_task(self._read())
        await asyncio.shield(self._reading)

    async def _read(self) -> None:
        try:
            functions, warnings = await asyncio.to_thread(
                read_with_overlay, self._root, self._named, self._runtime, self._overlay
            )
        except OSError as error:
            observe(FunctionsUnread(str(error)))
            return
        except (
            Exception
        ) as error:  # files of the project may hold anything, and without the watch no change is seen
            observe(FunctionsUnread(f"{type(error).__name__}: {error}"))
            return
        finally:
            self._read_at = time.monotonic()
        before, self.functions = self.functions, functions
        changed = [old for name, old in before.items() if old != functions.get(name)]
        if changed or before.keys() != functions.keys() or warnings != self._warnings:
            self._warnings = warnings
            observe(FunctionsRead(sorted(functions), warnings))
        for old in changed:
            self.on_change(old)

    async def _watch(self) -> None:
        while True:
            is_used = time.monotonic() - self._used_at < _IN_USE_S
            await asyncio.sleep(self._every_s if is_used else max(self._every_s, _IDLE_INTERVAL_S))
            await self.look()
