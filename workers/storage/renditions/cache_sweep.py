"""Keep the cache of renditions below its maximum age and size.

    first pass     delete renditions that are too old; add up the bytes of the others by the minute of their creation
    second pass    only if the sum is too large: delete the oldest minutes until the rest fits

Counting by minute keeps memory flat for any number of renditions. The oldest are deleted first, not the least used: a
read writes nothing. A deleted rendition is rendered again on demand. Renditions younger than a minute stay, so that a
client that was just given one can still load it; one that is being written is in the staging area.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from broker.blobs.blob_names import TRANSFORMS, BlobPath
from broker.blobs.model import BlobInfo
from broker.blobs.store import BlobStore
from broker.observability.observe import observe
from workers.database.connection_pool.pool import ConnectionPool
from workers.sql.files import read_statements
from workers.storage.model.observations import RenditionsSwept

_SQL = read_statements("workers.storage.sweeps", "sweep.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_BATCH = 200
_YOUNG_S = 60.0
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class RenditionCacheLimits:
    """Maximum size and age; renditions younger than `young_s` are never deleted."""

    size: int
    age_s: float
    young_s: float = _YOUNG_S


@dataclass(slots=True)
class _Removal:
    """Deletes blobs in batches and counts them."""

    blobs: BlobStore
    count: int = 0
    size: int = 0
    _batch: list[BlobPath] = field(default_factory=list)

    async def add(self, stat: BlobInfo) -> None:
        self._batch.append(stat.place)
        self.count += 1
        self.size += stat.size
        if len(self._batch) == _BATCH:
            await self.finish()

    async def finish(self) -> None:
        batch, self._batch = self._batch, []
        await self.blobs.delete(batch)


async def sweep_renditions(database: ConnectionPool, blobs: BlobStore, limits: RenditionCacheLimits) -> int:
    """Delete what is too old or too much; return the number of blobs. A lock lets one worker at a time do it.

    Raises: BlobStoreDown, DatabaseError and its siblings.
    """
    async with database.transaction(_SETTINGS) as transaction:
        lock = await transaction.rows(_SQL["take_renditions"])
        if lock[0][0] != b"t":
            return 0
        removal = _Removal(blobs)
        await _sweep(removal, limits, datetime.now(UTC))
    if removal.count:
        observe(RenditionsSwept(removal.count, removal.size))
    return removal.count


async def _sweep(removal: _Removal, limits: RenditionCacheLimits, now: datetime) -> None:
    expired, young = now - timedelta(seconds=limits.age_s), now - timedelta(seconds=limits.young_s)
    by_minute: Counter[int] = Counter()
    async for stat in removal.blobs.list(TRANSFORMS):
        if stat.modified < expired and stat.modified < young:
            await removal.add(stat)
        else:
            by_minute[_minute(stat)] += stat.size
    await removal.finish()
    cut = oldest_beyond(by_minute, limits.size)
    if cut is None:
        return
    minute, surplus = cut
    async for stat in _older(removal.blobs, young, lambda stored: _minute(stored) <= minute):
        if _minute(stat) == minute:
            if surplus <= 0:
                continue
            surplus -= stat.size
        await removal.add(stat)
    await removal.finish()


def oldest_beyond(by_minute: Counter[int], most: int) -> tuple[int, int] | None:
    """Return the newest minute to delete from and how many of its bytes; None if everything fits. Pure."""
    surplus = sum(by_minute.values()) - most
    if surplus <= 0:
        return None
    for minute in sorted(by_minute):
        if by_minute[minute] >= surplus:
            return minute, surplus
        surplus -= by_minute[minute]
    return max(by_minute), surplus


async def _older(
    blobs: BlobStore, than: datetime, is_meant: Callable[[BlobInfo], bool]
) -> AsyncIterator[BlobInfo]:
    async for stat in blobs.list(TRANSFORMS, older_than=than):
        if is_meant(stat):
            yield stat


def _minute(stat: BlobInfo) -> int:
    return int(stat.modified.timestamp()) // _MINUTE_S
