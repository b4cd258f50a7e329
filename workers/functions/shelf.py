"""The functions as they are now: read at the start, looked at again while they are used, changed ones told.

A look costs a `stat` for each file, in a thread. There is one every `watch` milliseconds while requests come, fewer
while none do, and a request that comes after a pause waits for one: what was saved before it was sent is what it runs.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.overlay import Overlay, read_all
from workers.functions.registry import Function

_RESTING_S = 2.0
_IN_USE_S = 30.0


class FunctionsRead(Observation, frozen=True):
    """The functions of the project were read: those that are there, and what is wrong with others."""

    functions: list[str]
    warnings: list[str]


class FunctionsUnread(Observation, frozen=True):
    """The folder of the functions could not be read; what was known of them holds."""

    level: ClassVar[str] = "error"
    reason: str


class Shelf:
    """The functions of one folder. `on_change` is called with the old value of each that changed or went."""

    def __init__(self, root: Path, named: Mapping[str, FunctionSettings], runtime: EdgeRuntime) -> None:
        self.functions: Mapping[str, Function] = {}
        self.on_change: Callable[[Function], None] = lambda _: None
        self._root, self._named, self._runtime = root, named, runtime
        self._every_s = runtime.watch / 1000
        self._looked_at = 0.0
        self._asked_at = 0.0
        self._warnings: list[str] = []
        self._overlay = Overlay()
        self._looking: asyncio.Task[None] | None = None
        self._repeating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read them, and look again from now on."""
        await self.look()
        if self._every_s:
            self._repeating = asyncio.get_running_loop().create_task(self._repeat())

    async def stop(self) -> None:
        """Look no more."""
        if self._repeating is not None:
            self._repeating.cancel()
            await asyncio.wait([self._repeating])

    async def get(self, name: str) -> Function | None:
        """Give a function by its name, as it is now."""
        self._asked_at = now = time.monotonic()
        if self._every_s and now - self._looked_at > self._every_s * 2:
            await self.look()
        return self.functions.get(name)

    async def use(self, overlay: Overlay) -> None:
        """Have this lie over the folder: when it returns, requests get it."""
        self._overlay = overlay
        if self._looking is not None and not self._looking.done():
            await asyncio.wait([self._looking])  # it began without it
        await self.look()

    async def look(self) -> None:
        """Look now. Several who ask at the same time wait for the same look."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        await asyncio.shield(self._looking)

    async def _look(self) -> None:
        try:
            found, warnings = await asyncio.to_thread(
                read_all, self._root, self._named, self._runtime, self._overlay
            )
        except OSError as error:
            observe(FunctionsUnread(str(error)))
            return
        finally:
            self._looked_at = time.monotonic()
        before, self.functions = self.functions, found
        changed = [old for name, old in before.items() if old != found.get(name)]
        if changed or before.keys() != found.keys() or warnings != self._warnings:
            self._warnings = warnings
            observe(FunctionsRead(sorted(found), warnings))
        for old in changed:
            self.on_change(old)

    async def _repeat(self) -> None:
        while True:
            is_used = time.monotonic() - self._asked_at < _IN_USE_S
            await asyncio.sleep(self._every_s if is_used else max(self._every_s, _RESTING_S))
            await self.look()
