"""A transaction is told only when everybody sees it.

A commit stands in the log before Postgres takes the transaction out of the list of running ones: for a moment its rows can be
decoded, but no query finds them. Who would ask then about a row (a policy that only SQL can judge, a client that reads it
anew) would be told that there is none. So the leader looks at a snapshot first; as a rule one look serves all commits that
came together. Source: PostgreSQL, "System Information Functions" (`pg_snapshot`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

_PAUSE_S = 0.0005
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
    """Waits until committed transactions are seen. `ask` gives the rows of the statement `snapshot`."""

    def __init__(self, ask: Callable[[], Awaitable[list[Any]]]) -> None:
        self._ask = ask
        self._snapshot = Snapshot(0, frozenset())

    async def wait_for(self, xid: int) -> None:
        """Come back when a transaction whose commit stands in the log is seen by every statement that begins then."""
        while not self._snapshot.sees(xid):
            ((text,),) = await self._ask()
            self._snapshot = Snapshot.parse(text)
            if not self._snapshot.sees(xid):
                await asyncio.sleep(_PAUSE_S)
