"""Removal of bytes that no row names: of versions that were replaced or deleted, and of those that never got a row.

    tombstones    written by triggers with the change; older than a grace, so that who reads a version now can finish
    staging       what is being written and had no byte for `staging_expiry`: the client broke off and its edge died; the
                  same for multipart uploads to an outside store (broker/blobs/s3_uploads.py)
    orphans       blobs without a row, older than `orphan_expiry`: an edge died between the bytes and the row
    uploads       resumable ones whose time is over (tus/expiring.py), those in parts that nobody goes on with (s3/expiring.py);
                  and bytes of uploads that have no row any more, which count as orphans
    renditions    pictures made of objects that are too old, or too many (renditions.py)
    missing       rows whose bytes are gone are told (missing.py)
    emptyings     buckets whose emptying was not finished by the worker that began (emptying.py)

What was made of a version goes with it. Blobs go before their tombstone does: a worker that dies in between leaves work to
do again, never bytes that nobody knows of. A version that a row names is left, whatever a tombstone says: rows may have
been copied by hand. Every worker sweeps; what another one has in hand is skipped.
Source: reference page "storage", section 11.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol
from uuid import UUID

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import OBJECTS, STAGING, TRANSFORMS, UPLOADS, Place, blob, transforms
from broker.blobs.errors import BlobError
from broker.blobs.model import Found
from broker.blobs.store import BlobStore
from broker.observability.observe import gauge, observe
from schemas.settings.storage import Storage
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.pool import Pool
from workers.sql.files import read_statements
from workers.storage.emptying import sweep_emptyings
from workers.storage.missing import Missing
from workers.storage.observations import BlobsSwept, StagingSwept, SweepFailed
from workers.storage.quotas import set_quota_in_all
from workers.storage.renditions import Limits, sweep_renditions
from workers.storage.s3.expiring import sweep_multipart_uploads
from workers.storage.tus.expiring import sweep_uploads

_SQL = read_statements("workers.storage", "sweep.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_FAILURES = (DatabaseError, Disconnected, PoolTimeout, BlobError)

_BATCH = 200
_MOST_SUSPECTS = 100_000
_PAUSE_S = 15.0
_SHARE_OF_CACHE = 8
"""Part of `cache_max_size` by which one worker's pictures may grow before the cache is looked through."""
_STAGING_PAUSE_S = 300.0
"""Between two looks at what is being written."""
_LISTING_PAUSE_S = 3600.0
"""Between two looks through all that lies in the store, which is work even where nothing has changed."""


class _Tombstone(Struct, frozen=True):
    id: int
    bucket_id: str | None
    version: str
    is_named: bool


class Renditions(Protocol):
    """Who has pictures made: `new_bytes` of them since it was set back."""

    new_bytes: int


async def sweep_forever(
    database: Pool, blobs: BlobStore, own: Storage, made: Renditions | None = None
) -> None:
    """Sweep now and then, until cancelled. A full batch is followed by the next at once.

    Pictures are looked through once an hour, and sooner when many bytes of them were made: else a client could fill the disk
    in between.
    """
    loop, orphans = asyncio.get_running_loop(), Orphans(database, blobs, float(own.orphan_expiry))
    staging = StagingSweep(blobs, float(own.staging_expiry))
    missing = Missing(database, blobs)
    cache = own.image_transformation
    limits = Limits(cache.cache_max_size, float(cache.cache_max_age))
    staged_at, listed_at = loop.time(), loop.time() + _LISTING_PAUSE_S * random.random()
    while True:
        await _try("quota", set_quota_in_all(database, own.quota))
        await _try("emptyings", sweep_emptyings(database))
        count = await _try("tombstones", sweep_tombstones(database, blobs, float(own.deleted_grace)))
        await _try("uploads", sweep_uploads(database, blobs))
        await _try("multipart uploads", sweep_multipart_uploads(database, blobs))
        if loop.time() >= staged_at:
            await _try("staging", staging.sweep())
            staged_at = loop.time() + _STAGING_PAUSE_S * random.uniform(0.5, 1.5)
        if loop.time() >= listed_at:
            await _try("renditions", sweep_renditions(database, blobs, limits))
            await _try("orphans", orphans.sweep())
            await _try("missing", missing.look())
            listed_at = loop.time() + _LISTING_PAUSE_S * random.uniform(0.5, 1.5)
        elif made is not None and made.new_bytes > limits.size // _SHARE_OF_CACHE:
            made.new_bytes = 0
            await _try("renditions", sweep_renditions(database, blobs, limits))
        if count < _BATCH:
            await asyncio.sleep(_PAUSE_S * random.uniform(0.5, 1.5))


async def sweep_tombstones(database: Pool, blobs: BlobStore, grace_s: float) -> int:
    """Remove one batch of versions that ended `grace_s` ago; tell how many tombstones went.

    Raises: BlobStoreDown, DatabaseError and its siblings; then the tombstones stay.
    """
    async with database.transaction(_SETTINGS) as transaction:
        rows = await transaction.rows(_SQL["buried"], repr(grace_s), _BATCH)
        found = [msgspec.json.decode(row[0] or b"{}", type=_Tombstone) for row in rows]
        if found:
            await _remove(blobs, [each for each in found if not each.is_named])
            await transaction.rows(_SQL["forget"], msgspec.json.encode([each.id for each in found]))
    if found:
        observe(BlobsSwept(len(found), 0))
    return len(found)


class StagingSweep:
    """Removes what is being written and had no byte for a time. Doing it from several workers at once is fine."""

    def __init__(self, blobs: BlobStore, age_s: float) -> None:
        self._blobs, self._age_s = blobs, age_s
        self._size = 0
        gauge(
            "headwater_storage_staged_bytes",
            "Bytes of uploads that are being written, and of those that broke off.",
            lambda: self._size,
        )

    async def sweep(self) -> int:
        """Remove what is old; return how many. Raises: BlobStoreDown."""
        before, size = datetime.now(UTC) - timedelta(seconds=self._age_s), 0
        ended: list[Place] = []
        async for each in self._blobs.list(STAGING):
            if each.modified < before:
                ended.append(each.place)
            else:
                size += each.size
        await self._blobs.delete(ended)
        self._size = size
        count = len(ended) + await self._blobs.abort_begun(before)
        if count:
            observe(StagingSwept(count))
        return count


class Orphans:
    """Looks for blobs without a row. What was seen in one turn is removed in the next, if it is still alone.

    Age alone does not tell: a copy of an old blob may be as old as that while its row is being written.
    """

    def __init__(self, database: Pool, blobs: BlobStore, age_s: float) -> None:
        self._database, self._blobs, self._age_s = database, blobs, age_s
        self._suspects: set[Place] = set()
        self._size = 0
        gauge(
            "headwater_storage_orphan_bytes",
            "Bytes that no row named when they were last looked for; they are removed when that is so twice.",
            lambda: self._size,
        )

    async def sweep(self) -> int:
        """Remove what was alone twice, and what writers left; tell how many. One worker at a time does.

        Raises: as `sweep_tombstones`.
        """
        async with self._database.transaction(_SETTINGS) as transaction:
            taken = await transaction.rows(_SQL["take_turn"])
            return await self._turn() if taken[0][0] == b"t" else 0

    async def _turn(self) -> int:
        before = datetime.now(UTC) - timedelta(seconds=self._age_s)
        sizes: dict[Place, int] = {}
        for folder, question in ((OBJECTS, "named"), (TRANSFORMS, "named"), (UPLOADS, "under_way")):
            async for batch in _batches(self._blobs.list(folder, older_than=before)):
                alone = set(await self._alone([each.place for each in batch], question))
                sizes.update({each.place: each.size for each in batch if each.place in alone})
        ended = sizes.keys() & self._suspects
        self._suspects = set(islice(sizes.keys() - ended, _MOST_SUSPECTS))
        await self._blobs.delete(ended)
        self._size = sum(sizes[place] for place in self._suspects)
        if ended:
            observe(BlobsSwept(0, len(ended)))
        return len(ended)

    async def _alone(self, places: Sequence[Place], question: str) -> list[Place]:
        """Give those of some blobs whose version, or upload, no row names."""
        versions = {place: str(place.version) for place in places if place.version is not None}
        asked = msgspec.json.encode(sorted(set(versions.values())))
        async with self._database.transaction(_SETTINGS) as transaction:
            rows = await transaction.rows(_SQL[question], asked)
        named = set(msgspec.json.decode(rows[0][0] or b"[]", type=list[str]))
        return [place for place, version in versions.items() if version not in named]


async def _batches(found: AsyncIterator[Found]) -> AsyncIterator[list[Found]]:
    batch: list[Found] = []
    async for each in found:
        batch.append(each)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _remove(blobs: BlobStore, ended: Sequence[_Tombstone]) -> None:
    """Remove the bytes of versions, and what was made of them. What is no version of ours has none."""
    kept = [(each.bucket_id, each.version) for each in ended if each.bucket_id and _is_uuid(each.version)]
    for _, version in kept:
        await blobs.delete_folder(transforms(version))
    await blobs.delete(blob(bucket, version) for bucket, version in kept)


async def _try(what: str, turn: Awaitable[int | None]) -> int:
    try:
        return await turn or 0
    except _FAILURES as error:
        observe(SweepFailed(what, type(error).__name__))
        return 0


def _is_uuid(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False
