"""Copies the bytes of objects and deployed functions into the archive, each version once.

A version of an object is written once under a name of its own, so it is copied once. New versions are found by the rows that changed since the
last look; after each base backup all rows are compared with the copies, which also finds rows whose `updated_at` was set by hand. An object
that is deleted before the next look is not copied: a restore to a moment in between lacks it and says so. A look that takes long is
repeated less often, so that it uses a twentieth of the time at most.
"""

import time
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta

import asyncpg

from broker.archive.sealing import FileSealer
from broker.blobs.blob_names import FUNCTIONS, BlobPath, blob
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from workers.backup.continuous.archive import Archive, ObjectDeletions
from workers.backup.continuous.copy_lists import CopyLists
from workers.backup.continuous.row_statements import STATEMENTS

_OVERLAP = timedelta(seconds=90)
"""A row is committed later than its `updated_at`: looks overlap by the longest time of a request and some."""
_SHARE = 20
_FUNCTIONS_EVERY_S = 60.0
_ROOM = 4 * 1024 * 1024


class ObjectCopies:
    """The copies of one archive."""

    def __init__(self, archive: Archive, blobs: BlobStore) -> None:
        self._archive, self._blobs = archive, blobs
        self._copied: set[str] = set()
        self._functions: set[str] = set()
        self._lists = CopyLists(archive)
        self._lost: set[str] = set()
        """Copies of objects that lists have and the store has not."""
        self._since = datetime.fromtimestamp(0, UTC)
        self._next_look = self._next_functions = 0.0

    async def load(self) -> None:
        """Read which copies exist, and list those that no list has yet. Raises: ArchiveStoreDown, SealBroken."""
        prefix = f"{self._archive.id}/"
        for folder, names in (("objects", self._copied), ("functions", self._functions)):
            stored = await self._archive.store.list_files(f"{prefix}{folder}")
            names.update(file.name.removeprefix(prefix) for file in stored)
        listed = await self._lists.load()
        await self._lists.add((self._copied | self._functions) - listed)
        self._lost = {name for name in listed - self._copied if name.startswith("objects/")}

    async def copy_new(self, owner: asyncpg.Connection) -> int:
        """Copy what is new, if it is time for a look; return the number. `owner` is a session of role postgres.

        Raises: ArchiveStoreDown, BlobStoreDown, the driver's errors.
        """
        if time.monotonic() < self._next_look:
            return 0
        began = time.monotonic()
        rows = await owner.fetch(STATEMENTS["new_versions"], self._since)
        self._next_look = time.monotonic() + _SHARE * (time.monotonic() - began)
        count = await self._copy((row["bucket_id"], row["version"]) for row in rows)
        if rows:
            self._since = rows[0]["now"] - _OVERLAP
        return count

    async def copy_functions(self) -> int:
        """Copy deployed functions that are new or changed, about once a minute; return the number of blobs.

        Raises: ArchiveStoreDown, BlobStoreDown.
        """
        if time.monotonic() < self._next_functions:
            return 0
        self._next_functions = time.monotonic() + _FUNCTIONS_EVERY_S
        new: list[str] = []
        try:
            async for entry in self._blobs.list(FUNCTIONS):
                name = f"functions/{int(entry.modified.timestamp() * 1000)}/{entry.place.name}"
                if name not in self._functions and await self._copy_blob(entry.place, name):
                    self._functions.add(name)
                    new.append(name)
        finally:
            await self._lists.add(new)
        return len(new)

    async def compare(self, owner: asyncpg.Connection, now: float, before: float) -> int:
        """Copy what is missing; delete the copies that no row has named since before `before`. Return the number of deleted ones.

        Raises: ArchiveStoreDown, BlobStoreDown, SealBroken, the driver's errors.
        """
        rows = await owner.fetch(STATEMENTS["versions"])
        await self._copy((row["bucket_id"], row["version"]) for row in rows)
        live = {_object_name(blob(row["bucket_id"], row["version"])) for row in rows}
        earlier = await self._archive.read_struct("deleted", ObjectDeletions) or ObjectDeletions()
        self._lost -= self._copied
        since = {name: earlier.since.get(name, now) for name in (self._copied | self._lost) - live}
        gone = [name for name, moment in since.items() if moment < before]
        await self._lists.drop(gone)
        await self._archive.store.delete([self._archive.path(name) for name in gone])
        self._copied.difference_update(gone)
        self._lost.difference_update(gone)
        remaining = {name: moment for name, moment in since.items() if name not in gone}
        if remaining != earlier.since:
            await self._archive.write_struct("deleted", ObjectDeletions(remaining))
        return len(gone)

    async def _copy(self, versions: Iterable[tuple[str, str]]) -> int:
        new: list[str] = []
        try:
            for bucket, version in versions:
                place = blob(bucket, version)
                name = _object_name(place)
                if name not in self._copied and await self._copy_blob(place, name):
                    self._copied.add(name)
                    new.append(name)
        finally:
            await self._lists.add([name for name in new if name not in self._lost])
        return len(new)

    async def _copy_blob(self, place: BlobPath, name: str) -> bool:
        """Copy a blob; return False if it was deleted meanwhile."""
        sealer = FileSealer(self._archive.path(name), self._archive.keys[0])
        try:
            async with self._blobs.read(place) as reading:
                if reading.size <= _ROOM:
                    data = b"".join([chunk async for chunk in reading.chunks])
                    await self._archive.write(name, data)
                    return True

                async def sealed() -> AsyncIterator[bytes]:
                    async for chunk in reading.chunks:
                        if ready := sealer.feed(chunk):
                            yield ready
                    yield sealer.finish()

                await self._archive.store.put_stream(self._archive.path(name), sealed())
        except BlobMissing:
            return False
        return True


def _object_name(place: BlobPath) -> str:
    return f"objects/{place.name}"
