"""Deletes what only moments before `backup.retention` need.

The newest base backup that is older than the retention stays, with all log since, so every moment of the retention can be restored. What base
backups that were interrupted left is deleted too, and archives of this database whose last moment is older than the retention.
"""

from dataclasses import dataclass

from workers.backup.continuous.archive import (
    ARCHIVES,
    Archive,
    BaseInfo,
    CoveredMoment,
    WalPiece,
    list_archives,
)


@dataclass(frozen=True, slots=True)
class DeletedFiles:
    """What was deleted, and the beginning of the oldest base backup that is left."""

    bases: int
    pieces: int
    oldest: float


def superseded(
    bases: list[BaseInfo], pieces: list[WalPiece], horizon: float
) -> tuple[list[BaseInfo], list[WalPiece]]:
    """Return the base backups and pieces that no moment after `horizon` needs (pure). `bases` are sorted by age."""
    needed = [base for base in bases if base.ended_at > horizon]
    older = [base for base in bases if base.ended_at <= horizon]
    kept = [*older[-1:], *needed]
    if not kept:
        return [], []
    return older[:-1], [piece for piece in pieces if piece.end <= kept[0].start_lsn]


async def apply_retention(archive: Archive, now: float, retention: float) -> DeletedFiles:
    """Delete what is too old in an archive. Raises: ArchiveStoreDown, SealBroken."""
    bases, pieces = await archive.bases(), await archive.pieces()
    old_bases, old_pieces = superseded(bases, pieces, now - retention)
    left = [base for base in bases if base not in old_bases]
    complete = {f"{archive.id}/base/{base.name}/" for base in left}
    files = [file.name for file in await archive.store.list_files(f"{archive.id}/base")]
    stale = [name for name in files if name[: name.rindex("/") + 1] not in complete]
    # The file `info` goes first: a base backup whose deletion is interrupted is not complete any more.
    await archive.store.delete([name for name in stale if name.endswith("/info")])
    await archive.store.delete([name for name in stale if not name.endswith("/info")])
    await archive.store.delete([piece.name for piece in old_pieces])
    return DeletedFiles(len(old_bases), len(old_pieces), left[0].began_at if left else now)


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
        await current.store.delete([f"{ARCHIVES}/{id}"])
        await current.store.delete([file.name for file in await current.store.list_files(id)])
        count += 1
    return count


async def last_moment(archive: Archive, begun_at: float) -> float:
    """Return the last moment that an archive covers. Raises: ArchiveStoreDown, SealBroken."""
    covered = await archive.read_struct("covered", CoveredMoment)
    pieces = await archive.pieces()
    moments = [begun_at, *([covered.time] if covered else []), *([pieces[-1].time] if pieces else [])]
    return max(moments)
