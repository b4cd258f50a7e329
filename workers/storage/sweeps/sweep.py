"""Remove bytes that no row names: those of replaced or deleted versions, and those that never got a row.

    tombstones    triggers write one for each replaced or deleted version; after `deleted_grace`, when readers have finished,
                  its blob and its renditions are removed
    staging       files without a new byte for `staging_expiry`: client and gateway are gone; also multipart uploads to an
                  outside object store (broker/blobs/s3_uploads.py)
    orphans       blobs without a row, older than `orphan_expiry`: a gateway died between the bytes and the row
    uploads       expired resumable and multipart uploads (expired_uploads.py)
    renditions    cached renditions that are too old, or too many (renditions/cache_sweep.py)
    missing       rows without a blob, reported only (missing_blobs.py)
    replayed      objects of the time of a log that a dead process left, compared with their files (replayed_logs.py)
    emptyings     buckets whose emptying a stopped worker has not finished (buckets/emptying.py)

Blobs are removed before their tombstone: a worker that dies in between leaves work to repeat, never bytes that are
forgotten. A version that a row names is never removed, even with a tombstone: rows may have been copied by hand. Every
worker sweeps; rows that another worker has locked are skipped. Source: docs/reference/storage.md, section 11.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol
from uuid import UUID

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import OBJECTS, STAGING, TRANSFORMS, UPLOADS, BlobPath, blob, transforms
from broker.blobs.errors import BlobError
from broker.blobs.model import BlobInfo
from broker.blobs.store import BlobStore
from broker.observability.observe import gauge, observe
from schemas.settings.storage import Storage
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout, reason_of
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements
from workers.storage.buckets.emptying import sweep_emptyings
from workers.storage.buckets.quotas import set_quota_in_all
from workers.storage.model.observations import BlobsSwept, StagingSwept, SweepFailed
from workers.storage.renditions.cache_sweep import RenditionCacheLimits, sweep_renditions
from workers.storage.sweeps.expired_uploads import sweep_multipart_uploads, sweep_resumable_uploads
from workers.storage.sweeps.missing_blobs import MissingBlobsSearch
from workers.storage.sweeps.replayed_logs import compare_replayed_logs

_SQL = read_statements("workers.storage.sweeps", "sweep.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_FAILURES = (DatabaseError, Disconnected, PoolTimeout, BlobError)

_BATCH = 200
_MOST_SUSPECTS = 100_000
_PAUSE_S = 15.0
_SHARE_OF_CACHE = 8
"""The cache is swept when this worker's new renditions exceed this part of `cache_max_size` (one eighth)."""
_STAGING_PAUSE_S = 300.0
"""Between two sweeps of the staging area."""
_LISTING_PAUSE_S = 3600.0
"""Between two listings of the whole store, which are expensive even if nothing has changed."""


class _Tombstone(Struct, frozen=True):
    id: int
    bucket_id: str | None
    version: str


class RenditionCounter(Protocol):
    """Counts bytes of new renditions in `new_bytes`; the sweep resets it."""

    new_bytes: int


async def sweep_forever(
    database: ConnectionPool, blobs: BlobStore, settings: Storage, counter: RenditionCounter | None = None
) -> None:
    """Sweep repeatedly until cancelled. After a full batch the next one follows at once.

    The rendition cache is swept once an hour, and sooner after many new bytes: a client could fill the disk in between.
    """
    loop, orphans = asyncio.get_running_loop(), OrphanSweep(database, blobs, float(settings.orphan_expiry))
    staging = StagingSweep(blobs, float(settings.staging_expiry))
    missing = MissingBlobsSearch(database, blobs)
    cache = settings.image_transformation
    limits = RenditionCacheLimits(cache.cache_max_size, float(cache.cache_max_age))
    staged_at, listed_at = loop.time(), loop.time() + _LISTING_PAUSE_S * random.random()
    while True:
        await _try("quota", set_quota_in_all(database, settings.quota))
        await _try("emptyings", sweep_emptyings(database))
        count = await _try("tombstones", sweep_tombstones(database, blobs, float(settings.deleted_grace)))
        await _try("uploads", sweep_resumable_uploads(database, blobs))
        await _try("multipart uploads", sweep_multipart_uploads(database, blobs))
        await _try("replayed logs", compare_replayed_logs(database, blobs))
        if loop.time() >= staged_at:
            await _try("staging", staging.sweep())
            staged_at = loop.time() + _STAGING_PAUSE_S * random.uniform(0.5, 1.5)
        if loop.time() >= listed_at:
            await _try("renditions", sweep_renditions(database, blobs, limits))
            await _try("orphans", orphans.sweep())
            await _try("missing", missing.search())
            listed_at = loop.time() + _LISTING_PAUSE_S * random.uniform(0.5, 1.5)
        elif counter is not None and counter.new_bytes > limits.size // _SHARE_OF_CACHE:
            counter.new_bytes = 0
            await _try("renditions", sweep_renditions(database, blobs, limits))
        if count < _BATCH:
            await asyncio.sleep(_PAUSE_S * random.uniform(0.5, 1.5))


async def sweep_tombstones(database: ConnectionPool, blobs: BlobStore, grace_s: float) -> int:
    """Remove one batch of versions that were replaced `grace_s` ago; return the number of tombstones.

    Raises: BlobStoreDown, DatabaseError and its siblings; then the tombstones stay.
    """
    async with database.transaction(_SETTINGS) as transaction:
        rows = await transaction.rows(_SQL["buried"], repr(grace_s), _BATCH)
        tombstones = [msgspec.json.decode(row[0] or b"{}", type=_Tombstone) for row in rows]
        if tombstones:
            await _remove(blobs, await _unnamed_versions(transaction, tombstones))
            await transaction.rows(
                _SQL["forget"], msgspec.json.encode([tombstone.id for tombstone in tombstones])
            )
    if tombstones:
        observe(BlobsSwept(len(tombstones), 0))
    return len(tombstones)


class StagingSweep:
    """Removes staging files without a new byte for some time. Several workers may do it at once."""

    def __init__(self, blobs: BlobStore, age_s: float) -> None:
        self._blobs, self._age_s = blobs, age_s
        self._size = 0
        gauge(
            "headwater_storage_staged_bytes",
            "Bytes of uploads in progress and of interrupted ones.",
            lambda: self._size,
        )

    async def sweep(self) -> int:
        """Remove old staging files; return their number. Raises: BlobStoreDown."""
        before, size = datetime.now(UTC) - timedelta(seconds=self._age_s), 0
        ended: list[BlobPath] = []
        async for stat in self._blobs.list(STAGING):
            if stat.modified < before:
                ended.append(stat.place)
            else:
                size += stat.size
        await self._blobs.delete(ended)
        self._size = size
        count = len(ended) + await self._blobs.abort_unfinished(before)
        if count:
            observe(StagingSwept(count))
        return count


class OrphanSweep:
    """Removes blobs that had no row in two successive runs.

    Age alone does not prove it: the copy of an old blob may be as old while its row is being written.
    """

    def __init__(self, database: ConnectionPool, blobs: BlobStore, age_s: float) -> None:
        self._database, self._blobs, self._age_s = database, blobs, age_s
        self._suspects: set[BlobPath] = set()
        self._size = 0
        gauge(
            "headwater_storage_orphan_bytes",
            "Bytes of blobs that no row named at the last sweep; a blob without a row in two sweeps is removed.",
            lambda: self._size,
        )

    async def sweep(self) -> int:
        """Remove blobs without a row; return their number. A lock lets one worker at a time do it.

        Raises: as `sweep_tombstones`.
        """
        async with self._database.transaction(_SETTINGS) as transaction:
            lock = await transaction.rows(_SQL["take_turn"])
            return await self._sweep_locked() if lock[0][0] == b"t" else 0

    async def _sweep_locked(self) -> int:
        before = datetime.now(UTC) - timedelta(seconds=self._age_s)
        sizes: dict[BlobPath, int] = {}
        for folder, question in ((OBJECTS, "named"), (TRANSFORMS, "named"), (UPLOADS, "under_way")):
            async for batch in _batches(self._blobs.list(folder, older_than=before)):
                unnamed = set(await self._unnamed([stat.place for stat in batch], question))
                sizes.update({stat.place: stat.size for stat in batch if stat.place in unnamed})
        # Danger: only blobs that were also unnamed in the previous run. A blob may be written long before its row.
        ended = sizes.keys() & self._suspects
        self._suspects = set(islice(sizes.keys() - ended, _MOST_SUSPECTS))
        await self._blobs.delete(ended)
        self._size = sum(sizes[place] for place in self._suspects)
        if ended:
            observe(BlobsSwept(0, len(ended)))
        return len(ended)

    async def _unnamed(self, places: Sequence[BlobPath], question: str) -> list[BlobPath]:
        """Return the blobs whose version, or upload, no row names."""
        versions = {place: place.version for place in places if place.version is not None}
        async with self._database.transaction(_SETTINGS) as transaction:
            rows = await transaction.rows(_SQL[question], _spelled(versions.values()))
        named = {UUID(version) for version in msgspec.json.decode(rows[0][0] or b"[]", type=list[str])}
        return [place for place, version in versions.items() if version not in named]


async def _batches(stats: AsyncIterator[BlobInfo]) -> AsyncIterator[list[BlobInfo]]:
    batch: list[BlobInfo] = []
    async for stat in stats:
        batch.append(stat)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _unnamed_versions(
    transaction: Transaction, tombstones: Sequence[_Tombstone]
) -> list[tuple[str, UUID]]:
    """Return the versions of tombstones that no row of objects names, with their buckets. One that is not a UUID has no blob."""
    ended: dict[tuple[str, UUID], None] = {}
    for tombstone in tombstones:
        with suppress(ValueError):
            if tombstone.bucket_id:
                ended[tombstone.bucket_id, UUID(tombstone.version)] = None
    rows = await transaction.rows(_SQL["named_objects"], _spelled(version for _, version in ended))
    named = msgspec.json.decode(rows[0][0] or b"[]", type=list[tuple[str, str]])
    return list(ended.keys() - {(bucket, UUID(version)) for bucket, version in named})


def _spelled(versions: Iterable[UUID]) -> bytes:
    """Return versions in the spellings that SQL may have given them, as a JSON array: a blob is found by each of them."""
    lower = {text for version in versions for text in (str(version), version.hex)}
    return msgspec.json.encode(sorted(lower | {text.upper() for text in lower}))


async def _remove(blobs: BlobStore, versions: Sequence[tuple[str, UUID]]) -> None:
    """Remove the blobs of versions and their renditions."""
    for _, version in versions:
        await blobs.delete_folder(transforms(version))
    await blobs.delete(blob(bucket, version) for bucket, version in versions)


async def _try(what: str, turn: Awaitable[int | None]) -> int:
    try:
        return await turn or 0
    except _FAILURES as error:
        observe(SweepFailed(what, reason_of(error)))
        return 0
