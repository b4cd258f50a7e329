"""Waits until a committed transaction is visible to queries, before its changes are published.

Theory. A commit is in the log before Postgres removes the transaction from the list of running ones. For a moment its rows can be
decoded, but no query finds them. A query about such a row (a policy that only SQL can evaluate, a client that reads the row
again) would find nothing. So the leader reads a snapshot first; usually one snapshot serves all commits that arrived together.

With synchronous replication a commit becomes visible only when a standby has it. If the server takes our own reader for that
standby (`synchronous_standby_names = '*'`), the commit waits for us. Then it is published at once, and the operator is warned.
Source: PostgreSQL, "System Information Functions" (`pg_snapshot`), "Synchronous Replication".
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from broker.observability.observe import observe
from workers.database.transaction_snapshot import TransactionSnapshot
from workers.replication.observations import CommitsWait

_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 0.02
_LONG = 10
"""Snapshots after which the database is queried for what the commit waits for."""


class CommitVisibility:
    """Waits until committed transactions are visible.

    `read_snapshot` returns the rows of the statement `snapshot`, `read_awaited` those of `awaited`.
    """

    def __init__(
        self,
        read_snapshot: Callable[[], Awaitable[list[Any]]],
        read_awaited: Callable[[], Awaitable[list[Any]]],
    ) -> None:
        self._read_snapshot, self._read_awaited = read_snapshot, read_awaited
        self._snapshot = TransactionSnapshot(0, frozenset())
        self._is_awaited = False

    async def wait_for(self, xid: int) -> None:
        """Wait until a transaction whose commit is in the log is visible to every statement that starts afterwards."""
        reads, pause_s = 0, _PAUSE_S
        while not self._snapshot.can_see(xid):
            ((text,),) = await self._read_snapshot()
            self._snapshot = TransactionSnapshot.parse(text)
            if self._snapshot.can_see(xid):
                return
            reads += 1
            if (reads > _LONG or self._is_awaited) and await self._waits_for_us():
                return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)

    async def _waits_for_us(self) -> bool:
        before, ((self._is_awaited,),) = self._is_awaited, await self._read_awaited()
        if self._is_awaited and not before:
            observe(CommitsWait())
        return self._is_awaited
