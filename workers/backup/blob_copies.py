"""Copies blobs from the store into a backup folder and back, verified by their hashes."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from broker.blobs.blob_names import FUNCTIONS, OBJECTS, BlobPath, blob, parse_path
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from workers.backup.manifest import BLOBS, INDEX, BackupBlob, BackupError, close_safely, file_of, write_safely

_CONCURRENCY = 8
_REPORT_EVERY = 500
_CHUNK = 1024 * 1024
Report = Callable[[str], None]
A = TypeVar("A")
B = TypeVar("B")


async def list_places(store: BlobStore, versions: Iterable[tuple[str, str]]) -> list[BlobPath]:
    """Return the places of object versions (bucket, version), and of all blobs of functions."""
    places = [blob(bucket, version) for bucket, version in versions]
    return places + [entry.place async for entry in store.list(FUNCTIONS)]


async def save_blobs(
    store: BlobStore, places: Sequence[BlobPath], folder: Path, report: Report
) -> tuple[int, int, list[str]]:
    """Copy blobs and write their index; return their number, their bytes, and the names of missing ones."""
    missing: list[str] = []
    saved: list[BackupBlob] = []
    async for one in _process(places, lambda place: _save(store, place, folder), report, len(places)):
        if isinstance(one, BackupBlob):
            saved.append(one)
        else:
            missing.append(one)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in saved)
    await store.run(write_safely, folder / INDEX, lines)
    return len(saved), sum(one.size for one in saved), missing


async def load_blobs(store: BlobStore, blobs: Sequence[BackupBlob], folder: Path, report: Report) -> None:
    """Write the blobs of a backup into a store. Raises: BackupError.

    Existing object versions of the same size are skipped, because a version is written only once.
    """
    async for _ in _process(blobs, lambda one: _load(store, one, folder), report, len(blobs)):
        pass


def is_mutable(one: BackupBlob) -> bool:
    """Return whether a blob may be overwritten with other bytes: blobs of functions, not versions of objects (pure)."""
    return one.name.startswith(f"{FUNCTIONS.name}/")


async def is_empty(store: BlobStore) -> bool:
    """Return whether a store contains no object."""
    async for _ in store.list(OBJECTS):
        return False
    return True


async def _save(store: BlobStore, place: BlobPath, folder: Path) -> BackupBlob | str:
    target = folder / BLOBS / place.name
    await store.run(target.parent.mkdir, parents=True, exist_ok=True)
    hashed, size = hashlib.sha256(), 0
    try:
        async with store.read(place) as reading:
            file = await store.run(target.open, "wb")
            try:
                async for chunk in reading.chunks:
                    hashed.update(chunk)
                    size += len(chunk)
                    await store.run(file.write, chunk)
                await store.run(close_safely, file)
            finally:
                await store.run(file.close)
    except BlobMissing:
        return place.name
    return BackupBlob(place.name, size, hashed.hexdigest())


async def _load(store: BlobStore, one: BackupBlob, folder: Path) -> None:
    place = parse_path(one.name)
    if place is None:
        raise BackupError(f"{one.name} is not the name of a blob: the backup is damaged.")
    if not is_mutable(one):
        with contextlib.suppress(BlobMissing):
            if (await store.stat(place)).size == one.size:
                return
    hashed = hashlib.sha256()
    try:
        file = await store.run(file_of(folder, f"{BLOBS}/{one.name}").open, "rb")
    except OSError as error:
        raise BackupError(f"{folder / BLOBS / one.name} cannot be read: {error.strerror}") from None
    try:
        async with store.stage(place, limit=one.size) as staging:
            while chunk := await store.run(file.read, _CHUNK):
                hashed.update(chunk)
                await staging.write(chunk)
            if hashed.hexdigest() != one.sha256:
                raise BackupError(f"{one.name} is not what was written: the backup is damaged.")
            staged = await staging.finish()
        await store.promote(staged)
    finally:
        await store.run(file.close)


async def _process(
    items: Sequence[A], work: Callable[[A], Awaitable[B]], report: Report, total: int
) -> AsyncIterator[B]:
    """Process items, a few at a time, and report progress."""
    for done in range(0, total, _CONCURRENCY):
        for one in await asyncio.gather(*map(work, items[done : done + _CONCURRENCY])):
            yield one
        if done % _REPORT_EVERY < _CONCURRENCY and done:
            report(f"{done} of {total} blobs")
