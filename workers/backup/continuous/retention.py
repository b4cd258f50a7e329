"""Deletes what only moments before `backup.retention` need.

The newest base backup that is older than the retention stays, with all log since, so every moment of the retention can be restored. If it is
incremental, those that it is built on stay too, without their log: their `info` is marked (`is_link_only`) before that is deleted. What base
backups that were interrupted left is deleted too, and archives of this database whose last moment is older than the retention.
"""

from dataclasses import dataclass

from msgspec import structs

from workers.backup.continuous import inventory
from workers.backup.continuous.archive import (
    ARCHIVES,
    Archive,
    BaseInfo,
    CoveredMoment,
    WalPiece,
    list_archives,
)
from workers.backup.continuous.base_links import links_of
from workers.backup.continuous.moments import MomentRejected


@dataclass(frozen=True, slots=True)
class DeletedFiles:
    """What was deleted, and the beginning of the oldest base backup that is left."""

    bases: int
    pieces: int
    oldest: float


@dataclass(frozen=True, slots=True)
class SupersededFiles:
    """What no moment of the retention needs, and base backups of which only later ones need the content."""

    bases: list[BaseInfo]
    links: list[BaseInfo]
    pieces: list[WalPiece]


def superseded(bases: list[BaseInfo], pieces: list[WalPiece], horizon: float) -> SupersededFiles:
    """Return what no moment after `horizon` needs (pure). `bases` are sorted by age."""
    older = [base for base in bases if base.ended_at <= horizon]
    kept = bases[max(0, len(older) - 1) :]
    if not kept:
        return SupersededFiles([], [], [])
    linked = {link.name for base in kept for link in _links(bases, base)}
    return SupersededFiles(
        [base for base in older[:-1] if base.name not in linked],
        [base for base in older[:-1] if base.name in linked],
        [piece for piece in pieces if piece.end <= kept[0].start_lsn],
    )


def _links(bases: list[BaseInfo], base: BaseInfo) -> list[BaseInfo]:
    """Return what a base backup is built on; one that has lost a part of it needs nothing more."""
    try:
        return links_of(bases, base)
    except MomentRejected:
        return []


async def apply_retention(archive: Archive, now: float, retention: float) -> DeletedFiles:
    """Delete what is too old in an archive. Raises: ArchiveStoreDown, SealBroken."""
    bases, pieces = await archive.bases(), await archive.pieces()
    old = superseded(bases, pieces, now - retention)
    for link in old.links:
        if not link.is_link_only:
            await archive.write_struct(f"base/{link.name}/info", structs.replace(link, is_link_only=True))
    left = [base for base in bases if base not in old.bases]
    complete = {f"{archive.id}/base/{base.name}/" for base in left}
    files = [file.name for file in await archive.store.list_files(f"{archive.id}/base")]
    stale = [name for name in files if name[: name.rindex("/") + 1] not in complete]
    # The file `info` goes first: a base backup whose deletion is interrupted is not complete any more. Names begin with the time: the newest
    # goes first, so that none is left without what it is built on.
    await inventory.forget(archive, [name.removeprefix(f"{archive.id}/") for name in stale])
    await archive.store.delete(sorted((name for name in stale if name.endswith("/info")), reverse=True))
    await archive.store.delete([name for name in stale if not name.endswith("/info")])
    await archive.store.delete([piece.name for piece in old.pieces])
    oldest = next((base.began_at for base in left if base not in old.links), now)
    return DeletedFiles(len(old.bases), len(old.pieces), oldest)


async def delete_old_archives(current: Archive, system: str, now: float, retention: float) -> int:
    """Delete the archives of this database that ended before the retention; return their number.

    Raises: ArchiveStoreDown, SealBroken.
    """
    count = 0
    for id, info in (await list_archives(current.store, current.keys)).items():
        other = Archive(current.store, current.keys, id)
        if (
            id == current.id
            or info.system != system
            or await last_moment(other, info.begun_at) > now - retention
        ):
            continue
        await inventory.forget(
            other, [file.name.removeprefix(f"{id}/") for file in await current.store.list_files(id)]
        )
        await current.store.delete([file.name for file in await current.store.list_files(id)])
        await current.store.delete(
            [f"{ARCHIVES}/{id}"]
        )  # last: without it what is left could not be deleted any more
        count += 1
    return count


async def last_moment(archive: Archive, begun_at: float) -> float:
    """Return the last moment that an archive covers. Raises: ArchiveStoreDown, SealBroken."""
    covered = await archive.read_struct("covered", CoveredMoment)
    pieces = await archive.pieces()
    moments = [begun_at, *([covered.time] if covered else []), *([pieces[-1].time] if pieces else [])]
    return max(moments)
