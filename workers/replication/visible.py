"""A transaction is told only when everybody sees it.

A commit stands in the log before Postgres takes the transaction out of the list of running ones: for a moment its rows can be
decoded, but no query finds them. Who would ask then about a row (a policy that only SQL can judge, a client that reads it
anew) would be told that there is none. So the leader looks at a snapshot first; as a rule one look serves all commits that
came together.

With synchronous replication a commit is seen only when a standby has it. Should the server take our own reader for that
standby (`synchronous_standby_names = '*'`), the commit waits for us: then it is told at once, and the operator is warned.
Source: PostgreSQL, "System Information Functions" (`pg_snapshot`), "Synchronous Replication".
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from broker.observability.observe import observe
from workers.replication.observations import CommitsWait

_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 0.02
_LONG = 10
"""Looks after which it is asked what the commit waits for."""
_HALF = 1 << 31


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Transactions that are seen: those below `end` that are not `running`. Numbers have 64 bits."""

    end: int
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> "Snapshot":
        """Read Postgres' form `xmin:xmax:xip,...`."""
        _, end, running = text.split(":")
        return cls(int(end), frozenset(map(int, running.split(","))) if running else frozenset())

    def sees(self, xid: int) -> bool:
        """Tell whether a transaction is seen; `xid` has 32 bits, as in the log, and lies within half of them of `end`."""
        full = self.end - ((self.end - xid) & 0xFFFFFFFF)
        if self.end - full >= _HALF:
            full += 1 << 32
        return full < self.end and full not in self.running


class Visible:
    """Waits until committed transactions are seen.

    `ask` gives the rows of the statement `snapshot`, `ask_awaited` those of `awaited`.
    """

    def __init__(
        self, ask: Callable[[], Awaitable[list[Any]]], ask_awaited: Callable[[], Awaitable[list[Any]]]
    ) -> None:
        self._ask, self._ask_awaited = ask, ask_awaited
        self._snapshot = Snapshot(0, frozenset())
        self._is_awaited = False

    async def wait_for(self, xid: int) -> None:
        """Come back when a transaction whose commit stands in the log is seen by every statement that begins then."""
        looks, pause_s = 0, _PAUSE_S
        while not self._snapshot.sees(xid):
            ((text,),) = await self._ask()
            self._snapshot = Snapshot.parse(text)
            if self._snapshot.sees(xid):
                return
            looks += 1
            if (looks > _LONG or self._is_awaited) and await self._waits_for_us():
                return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)

    async def _waits_for_us(self) -> bool:
        was, ((self._is_awaited,),) = self._is_awaited, await self._ask_awaited()
        if self._is_awaited and not was:
            observe(CommitsWait())
        return self._is_awaited
