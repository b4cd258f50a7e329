"""Watches what decides who sees which rows, and compares shapes that may have changed without a change of their rows.

Every `_EVERY_S` seconds a digest of policies, rights, roles, tables and functions is read. When it differs, every shape is resolved
again: one that its caller may not read any more ends, all others have their keys compared. Shapes whose policies the catalog does not
explain are compared at intervals as long as they are asked for: a policy may depend on the time, or on a table of which nothing is
known. Source: docs/sync.md.
"""

import asyncio

from broker.observability.observe import observe, traceback_of
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.sync.catalog import read_fingerprint, unpublish_listed
from workers.sync.follower import StreamFollower
from workers.sync.observations import SyncCrashed, SyncWaits
from workers.sync.registry import ShapeRegistry
from workers.sync.shape import PendingChange, Shape, ShapeState

_EVERY_S = 1.5
COMPARED_S = 3.0
"""Seconds between comparisons of a shape whose policies may depend on anything."""
_SHARE = 20
"""A comparison may take one part in so many of the time."""
_IN_USE_S = 120.0


class RightsWatch:
    """Watches from `start` to `close`."""

    def __init__(self, database: ConnectionPool, registry: ShapeRegistry, follower: StreamFollower) -> None:
        self._database, self._registry, self._follower = database, registry, follower
        self._task: asyncio.Task[None] | None = None
        self.digest = b""

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
        digest = await read_fingerprint(self._database)
        before = self._follower.fingerprint
        if digest == before:
            return
        self._registry.forget_resolved()
        if await unpublish_listed(
            self._database
        ):  # until now the reader of the log had to leave all shapes out
            self._registry.forget_published()
            self._registry.end_all("a publication of realtime lists columns of a table that has a shape")
        shapes = list(self._registry.by_handle.values())
        for shape in shapes:
            await self._registry.renew(shape)
            if shape.state is not ShapeState.ENDED:
                shape.add(PendingChange(0, compares=True))
        self._follower.fingerprint = digest

    def _compare_due(self) -> None:
        now = asyncio.get_running_loop().time()
        for shape in self._registry.by_handle.values():
            if is_due(shape, now) and not shape.is_behind:
                shape.add(PendingChange(0, compares=True))


def is_due(shape: Shape, now: float) -> bool:
    """Return whether a shape that is asked for is to be compared."""
    if not shape.resolved.is_opaque or shape.state is not ShapeState.LIVE or now - shape.used_at > _IN_USE_S:
        return False
    return now - shape.compared_at > max(COMPARED_S - _EVERY_S, _SHARE * shape.compare_s)
