"""Copies of blobs: out of the store into a folder, and back, checked by their hashes."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from broker.blobs.blob_names import FUNCTIONS, OBJECTS, Place, blob, found
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from workers.backup.manifest import BLOBS, INDEX, BackupError, Blob, close_safely, write_safely

_AT_ONCE = 8
_EVERY = 500
_CHUNK = 1024 * 1024
Tell = Callable[[str], None]
A = TypeVar("A")
B = TypeVar("B")


async def places_of(store: BlobStore, versions: Iterable[tuple[str, str]]) -> list[Place]:
    """Give the places of versions, each with its bucket, and of everything that was deployed."""
    places = [blob(bucket, version) for bucket, version in versions]
    return places + [each.place async for each in store.list(FUNCTIONS)]


async def save_blobs(
    store: BlobStore, places: Sequence[Place], folder: Path, tell: Tell
) -> tuple[int, int, list[str]]:
    """Copy blobs and write their index; give their number, their bytes, and the names of those that are not there."""
    missing: list[str] = []
    saved: list[Blob] = []
    async for one in _each(places, lambda place: _save(store, place, folder), tell, len(places)):
        if isinstance(one, Blob):
            saved.append(one)
        else:
            missing.append(one)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in saved)
    await store.run(write_safely, folder / INDEX, lines)
    return len(saved), sum(one.size for one in saved), missing


async def load_blobs(store: BlobStore, blobs: Sequence[Blob], folder: Path, tell: Tell) -> None:
    """Write the blobs of a backup into a store. Raises: BackupError.

    Left as they are: versions of objects that are there with the same size, for a version is written once.
    """
    async for _ in _each(blobs, lambda one: _load(store, one, folder), tell, len(blobs)):
        pass


def changeable(one: Blob) -> bool:
    """Return whether a blob of this name may be written again with other bytes: what is deployed, not versions of objects (pure)."""
    return one.name.startswith(f"{FUNCTIONS.name}/")


async def is_empty(store: BlobStore) -> bool:
    """Tell whether a store has no object."""
    async for _ in store.list(OBJECTS):
        return False
    return True


async def _save(store: BlobStore, place: Place, folder: Path) -> Blob | str:
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
    return Blob(place.name, size, hashed.hexdigest())


async def _load(store: BlobStore, one: Blob, folder: Path) -> None:
    place = found(one.name)
    if place is None:
        raise BackupError(f"{one.name} is not the name of a blob: the backup is damaged.")
    if not changeable(one):
        with contextlib.suppress(BlobMissing):
            if (await store.stat(place)).size == one.size:
                return
    hashed = hashlib.sha256()
    try:
        file = await store.run((folder / BLOBS / one.name).open, "rb")
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


async def _each(
    things: Sequence[A], work: Callable[[A], Awaitable[B]], tell: Tell, total: int
) -> AsyncIterator[B]:
    """Do some work on each thing, a few at a time, and tell how far it is."""
    for done in range(0, total, _AT_ONCE):
        for one in await asyncio.gather(*map(work, things[done : done + _AT_ONCE])):
            yield one
        if done % _EVERY < _AT_ONCE and done:
            tell(f"{done} of {total} blobs")
