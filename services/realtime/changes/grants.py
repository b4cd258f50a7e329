"""What roles may see of tables: cached answers of the pool, as recent as each change requires.

An answer is valid until the schema changes, and for some seconds at most (`TableGrant.valid_s`), because changes of roles are
not in the log. While changes arrive continuously an answer is queried again when half of its time is over, so that no change
has to wait for it.
"""

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from schemas.bounded_cache import BoundedCache
from schemas.realtime import NoRow, TableGrant
from services.realtime.changes.pool_queries import FeedQueries, RowQueryRejected, TableName

_MOST = 4096
_GONE = TableGrant([], [], False, True, NoRow(), 0, is_published=False, valid_s=1.0)


@dataclass(slots=True)
class _CachedGrant:
    grant: TableGrant
    at: int
    """Position of the log up to which it is valid for certain."""
    refresh_at: float
    """From this time on it is queried again in the background."""
    expires_at: float


class Grants:
    """Caches answers to TABLE, and sends the query again if the schema changed since."""

    def __init__(self, queries: FeedQueries) -> None:
        self._queries = queries
        self._loop = asyncio.get_running_loop()
        self._cached = BoundedCache[tuple[str, TableName], _CachedGrant](_MOST)
        self._underway: dict[tuple[str, TableName], tuple[int, asyncio.Task[TableGrant]]] = {}

    def cached(self, role: str, table: TableName, least_lsn: int) -> TableGrant | None:
        """Return the cached answer if it is recent enough, and refresh it in the background when it is due."""
        cached = self._cached.get((role, table))
        if cached is None or cached.at < least_lsn or cached.expires_at < (now := self._loop.time()):
            return None
        if cached.refresh_at < now and (role, table) not in self._underway:
            self._start_query(role, table, least_lsn)
        return cached.grant

    async def table(self, role: str, table: TableName, least_lsn: int) -> TableGrant:
        """Return what a role may see of a table by the schema as it was at a position of the log, or later.

        Concurrent callers share one query. It waits as long as the pool does not answer.
        """
        if (grant := self.cached(role, table, least_lsn)) is not None:
            return grant
        underway = self._underway.get((role, table))
        if underway is None or underway[0] < least_lsn:
            return await asyncio.shield(self._start_query(role, table, least_lsn))
        return await asyncio.shield(underway[1])

    async def close(self) -> None:
        """Cancel all queries."""
        tasks = [task for _, task in self._underway.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start_query(self, role: str, table: TableName, least_lsn: int) -> asyncio.Task[TableGrant]:
        task = self._loop.create_task(self._query(role, table, least_lsn))
        self._underway[role, table] = (least_lsn, task)
        return task

    async def _query(self, role: str, table: TableName, least_lsn: int) -> TableGrant:
        sent_at = self._loop.time()
        try:
            grant = await self._queries.table(role, table, least_lsn)
        except RowQueryRejected:
            grant = _GONE
        finally:
            if self._underway.get((role, table), (0, None))[1] is asyncio.current_task():
                del self._underway[role, table]
        at = max(grant.at, least_lsn)
        before = self._cached.get((role, table))
        if before is not None and before.at > at:  # this query was sent earlier and answered later
            return grant
        if before is not None:
            if replace(before.grant, at=0) == replace(grant, at=0):
                grant = before.grant  # the same object: what was computed from it stays valid
            at = max(at, before.at) if grant is before.grant else at
        valid_s = grant.valid_s or float("inf")
        self._cached.put((role, table), _CachedGrant(grant, at, sent_at + valid_s / 2, sent_at + valid_s))
        return grant
