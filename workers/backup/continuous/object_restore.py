"""Writes the objects that a recovered database names into the blob store, from the copies in the archive."""

import asyncio
from collections.abc import Callable

import asyncpg

from broker.archive.sealing import FileOpener
from broker.blobs.blob_names import BlobPath, blob, parse_path
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from workers.backup.continuous.archive import Archive
from workers.backup.continuous.row_statements import STATEMENTS

_AT_ONCE = 8
_LONGEST = 2**53


async def restore_objects(
    archive: Archive, store: BlobStore, owner: asyncpg.Connection, report: Callable[[str], None]
) -> tuple[int, int, list[str]]:
    """Return the number of objects, of those written, and the names of missing ones.

    Raises: SealBroken, ArchiveStoreDown, BlobStoreDown, the driver's errors.
    """
    rows = await owner.fetch(STATEMENTS["versions"])
    prefix = f"{archive.id}/objects/"
    copies = {file.name for file in await archive.store.list_files(f"{archive.id}/objects")}
    places = [blob(row["bucket_id"], row["version"]) for row in rows]
    written, missing = 0, list[str]()
    report(f"Looking for the bytes of {len(places)} objects")
    for done in range(0, len(places), _AT_ONCE):
        group = places[done : done + _AT_ONCE]
        for place, is_there in zip(
            group, await asyncio.gather(*(_has(store, place) for place in group)), strict=True
        ):
            if is_there:
                continue
            name = f"{prefix}{place.name}"
            if name in copies:
                await write_copy(archive, store, name.removeprefix(f"{archive.id}/"), place)
                written += 1
            else:
                missing.append(place.name)
    return len(places), written, missing


async def restore_functions(archive: Archive, store: BlobStore, until: float) -> int:
    """Write the deployed functions of a moment; return the number of blobs. Raises: as `restore_objects`."""
    latest: dict[str, tuple[int, str]] = {}
    prefix = f"{archive.id}/functions/"
    for file in await archive.store.list_files(f"{archive.id}/functions"):
        milliseconds, _, name = file.name.removeprefix(prefix).partition("/")
        if milliseconds.isascii() and milliseconds.isdigit() and int(milliseconds[:16]) <= until * 1000:
            latest[name] = max(latest.get(name, (0, "")), (int(milliseconds[:16]), file.name))
    count = 0
    for name, (_, path) in latest.items():
        if (place := parse_path(name)) is not None:
            await write_copy(archive, store, path.removeprefix(f"{archive.id}/"), place)
            count += 1
    return count


async def write_copy(archive: Archive, store: BlobStore, name: str, place: BlobPath) -> None:
    """Decrypt a copy into the blob store; a damaged one leaves nothing. Raises: as `restore_objects`."""
    opener = FileOpener(archive.path(name), archive.keys)
    async with store.stage(place, limit=_LONGEST) as staging:
        async for piece in archive.store.read(archive.path(name)):
            if content := opener.feed(piece):
                await staging.write(content)
        opener.finish()
        staged = await staging.finish()
    await store.promote(staged)


async def verify_copy(archive: Archive, name: str) -> None:
    """Read and decrypt a copy. Raises: SealBroken, ArchiveFileMissing, ArchiveStoreDown."""
    opener = FileOpener(name, archive.keys)
    async for piece in archive.store.read(name):
        opener.feed(piece)
    opener.finish()


async def _has(store: BlobStore, place: BlobPath) -> bool:
    try:
        await store.stat(place)
    except BlobMissing:
        return False
    return True
