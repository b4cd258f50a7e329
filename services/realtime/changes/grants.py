"""What roles may see of tables, as far as it is known here, and as new as a change needs it.

An answer holds until the schema changes, and for some seconds at most (`Table.in_seconds`): of changes of roles nobody
tells. Where changes come all the time it is asked again before it is over, so that none of them has to wait.
"""

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from schemas.realtime import Nobody, Table
from services.realtime.changes.asking import Asking, Place, Refused

_MOST = 4096
_GONE = Table([], [], False, True, Nobody(), 0, is_published=False, in_seconds=1.0)


@dataclass(slots=True)
class _Known:
    table: Table
    at: int
    again: float
    """From when on it is asked again in the background."""
    until: float


class Grants:
    """Remembers answers to TABLE, and asks again where the schema has changed since."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._loop = asyncio.get_running_loop()
        self._known: dict[tuple[str, Place], _Known] = {}
        self._underway: dict[tuple[str, Place], tuple[int, asyncio.Task[Table]]] = {}

    def known(self, role: str, place: Place, at_least: int) -> Table | None:
        """Give what is known, if it is new enough."""
        found = self._known.get((role, place))
        if found is None or found.at < at_least or found.until < (now := self._loop.time()):
            return None
        if found.again < now and (role, place) not in self._underway:
            self._ask(role, place, at_least)
        return found.table

    async def table(self, role: str, place: Place, at_least: int) -> Table:
        """Give what a role may see of a table by the schema as it was at a position of the log, or later.

        Many who need it ask once. It waits as long as the pool does not answer.
        """
        if (found := self.known(role, place, at_least)) is not None:
            return found
        underway = self._underway.get((role, place))
        if underway is None or underway[0] < at_least:
            return await asyncio.shield(self._ask(role, place, at_least))
        return await asyncio.shield(underway[1])

    async def close(self) -> None:
        """Ask nothing more."""
        tasks = [task for _, task in self._underway.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ask(self, role: str, place: Place, at_least: int) -> asyncio.Task[Table]:
        task = self._loop.create_task(self._learn(role, place, at_least))
        self._underway[role, place] = (at_least, task)
        return task

    async def _learn(self, role: str, place: Place, at_least: int) -> Table:
        asked_at = self._loop.time()
        try:
            table = await self._asking.table(role, place, at_least)
        except Refused:
            table = _GONE
        finally:
            if self._underway.get((role, place), (0, None))[1] is asyncio.current_task():
                del self._underway[role, place]
        at = max(table.at, at_least)
        before = self._known.pop((role, place), None)
        if before is not None and before.at > at:  # an older question, answered later
            self._known[role, place] = before
            return table
        if before is not None:
            if replace(before.table, at=0) == replace(table, at=0):
                table = before.table  # what was made of it holds on
            at = max(at, before.at) if table is before.table else at
        if len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)))
        holds_s = table.in_seconds or float("inf")
        self._known[role, place] = _Known(table, at, asked_at + holds_s / 2, asked_at + holds_s)
        return table
