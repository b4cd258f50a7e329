"""The cache of renditions: pictures made of objects, kept until they are too old or there are too many bytes of them.

    first look     what is too old goes; the rest is added up by the minute in which it was made
    second look    only if there is too much: what was made before the minute from which on all of it has room

So memory stays flat, however many there are. The oldest go first: when a picture was last asked for is written nowhere, for
reading must not write. A picture that goes is made anew when it is asked for. One that is being written lies elsewhere until
it is whole, and what is younger than a minute stays, so that who has just been told of it finds it.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from broker.blobs.blob_names import TRANSFORMS, Place
from broker.blobs.model import Found
from broker.blobs.store import BlobStore
from broker.observability.observe import observe
from workers.database.pool import Pool
from workers.sql.files import read_statements
from workers.storage.observations import RenditionsSwept

_SQL = read_statements("workers.storage", "sweep.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_BATCH = 200
_YOUNG_S = 60.0
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept. `young_s`: what is younger is left alone."""

    size: int
    age_s: float
    young_s: float = _YOUNG_S


@dataclass(slots=True)
class _Removal:
    """Removes blobs in batches, and counts them."""

    blobs: BlobStore
    count: int = 0
    size: int = 0
    _batch: list[Place] = field(default_factory=list)

    async def add(self, found: Found) -> None:
        self._batch.append(found.place)
        self.count += 1
        self.size += found.size
        if len(self._batch) == _BATCH:
            await self.finish()

    async def finish(self) -> None:
        batch, self._batch = self._batch, []
        await self.blobs.delete(batch)


async def sweep_renditions(database: Pool, blobs: BlobStore, limits: Limits) -> int:
    """Remove what is too much or too old; tell how many blobs went. One worker at a time does.

    Raises: BlobStoreDown, DatabaseError and its siblings.
    """
    async with database.transaction(_SETTINGS) as transaction:
        taken = await transaction.rows(_SQL["take_renditions"])
        if taken[0][0] != b"t":
            return 0
        removal = _Removal(blobs)
        await _sweep(removal, limits, datetime.now(UTC))
    if removal.count:
        observe(RenditionsSwept(removal.count, removal.size))
    return removal.count


async def _sweep(removal: _Removal, limits: Limits, now: datetime) -> None:
    expired, young = now - timedelta(seconds=limits.age_s), now - timedelta(seconds=limits.young_s)
    by_minute: Counter[int] = Counter()
    async for found in removal.blobs.list(TRANSFORMS):
        if found.modified < expired and found.modified < young:
            await removal.add(found)
        else:
            by_minute[_minute(found)] += found.size
    await removal.finish()
    cut = cut_of(by_minute, limits.size)
    if cut is None:
        return
    minute, surplus = cut
    async for found in _older(removal.blobs, young, lambda each: _minute(each) <= minute):
        if _minute(found) == minute:
            if surplus <= 0:
                continue
            surplus -= found.size
        await removal.add(found)
    await removal.finish()


def cut_of(by_minute: Counter[int], most: int) -> tuple[int, int] | None:
    """Give the minute before which all goes, and the bytes that go of those of the minute; None if all has room. Pure."""
    surplus = sum(by_minute.values()) - most
    if surplus <= 0:
        return None
    for minute in sorted(by_minute):
        if by_minute[minute] >= surplus:
            return minute, surplus
        surplus -= by_minute[minute]
    return max(by_minute), surplus


async def _older(blobs: BlobStore, than: datetime, is_meant: Callable[[Found], bool]) -> AsyncIterator[Found]:
    async for found in blobs.list(TRANSFORMS, older_than=than):
        if is_meant(found):
            yield found


def _minute(found: Found) -> int:
    return int(found.modified.timestamp()) // _MINUTE_S
