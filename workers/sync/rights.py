"""Watches what decides who sees which rows, and compares shapes that may have changed without a change of their rows.

Every `_EVERY_S` seconds digests of policies, rights, roles, tables and functions are read. Shapes that a difference concerns are
resolved again: one that its caller may not read any more ends, all others have their keys compared. Shapes whose policies the catalog does not
explain are compared at intervals as long as they are asked for: a policy may depend on the time, or on a table of which nothing is
known. Source: docs/sync.md.
"""

import asyncio

from broker.observability.observe import observe, traceback_of
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.sync.catalog import RightsDigest, read_rights, unpublish_listed
from workers.sync.follower import StreamFollower
from workers.sync.observations import SyncCrashed, SyncWaits
from workers.sync.pending import PendingChange
from workers.sync.registry import ShapeRegistry
from workers.sync.shape import Shape, ShapeState

_EVERY_S = 1.5
COMPARED_S = 3.0
"""Seconds between comparisons of a shape whose policies may depend on anything."""
_SHARE = 20
"""A comparison may take one part in so many of the time."""
_IN_USE_S = 120.0
_LEAST_S = 0.005


class RightsWatch:
    """Watches from `start` to `close`."""

    def __init__(self, database: ConnectionPool, registry: ShapeRegistry, follower: StreamFollower) -> None:
        self._database, self._registry, self._follower = database, registry, follower
        self._task: asyncio.Task[None] | None = None
        self._rights: RightsDigest | None = None

    def start(self) -> None:
        """Start to watch."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                if self._registry.by_handle:
                    await self._look()
                    self._compare_due()
                    await self._registry.sweep()
            except (Disconnected, PoolTimeout, DatabaseError) as error:
                observe(SyncWaits(str(error)))
            except Exception as error:  # no other task would report it
                observe(SyncCrashed(traceback_of(error)))
                self._registry.end_all("the pool failed")
            await asyncio.sleep(_EVERY_S)

    async def _look(self) -> None:
        rights = await read_rights(self._database)
        before, self._rights = self._rights, rights
        digest = rights.text.encode()
        if digest == self._follower.fingerprint:
            return
        self._rights = before  # until all shapes have obeyed the change
        self._registry.definitions.forget_resolved()
        if (before is None or before.others != rights.others) and await unpublish_listed(self._database):
            # until now the reader of the log had to leave all shapes out
            self._registry.definitions.forget_published()
            self._registry.end_all("a publication of realtime lists columns of a table that has a shape")
        for shape in list(self._registry.by_handle.values()):
            if before is None or concerns(before, rights, shape):
                await self._registry.renew(shape)
                if shape.state is not ShapeState.ENDED:
                    shape.add(PendingChange(0, compares=True))
        self._rights, self._follower.fingerprint = rights, digest

    def _compare_due(self) -> None:
        """Start the comparisons that are due, those that wait longest first, as far as the time until the next look goes."""
        now = asyncio.get_running_loop().time()
        due = [
            shape for shape in self._registry.by_handle.values() if is_due(shape, now) and not shape.is_behind
        ]
        left_s = _EVERY_S
        for shape in sorted(due, key=lambda one: one.compared_at):
            if left_s <= 0:
                return
            left_s -= max(shape.compare_s, _LEAST_S)
            shape.add(PendingChange(0, compares=True))


def concerns(before: RightsDigest, after: RightsDigest, shape: Shape) -> bool:
    """Return whether a change of rights may change what a shape has. Functions matter to policies that are not plain alone."""
    resolved = shape.resolved
    return (
        before.others != after.others
        or (resolved.is_opaque and before.functions != after.functions)
        or any(
            str(oid) not in after.tables or before.tables.get(str(oid)) != after.tables[str(oid)]
            for oid in resolved.watched  # one that is gone may have been made and dropped between two looks
        )
    )


def is_due(shape: Shape, now: float) -> bool:
    """Return whether a shape that is asked for is to be compared."""
    if not shape.resolved.is_opaque or shape.state is not ShapeState.LIVE or now - shape.used_at > _IN_USE_S:
        return False
    return now - shape.compared_at > max(COMPARED_S - _EVERY_S, _SHARE * shape.compare_s)
