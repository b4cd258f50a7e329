"""Plans a restore to a moment: which archive, which base backup, which pieces of the log, and where Postgres stops.

The base backup is the last one that was complete before the moment, with those that it is built on (base_links.py). The pieces from its beginning on must be an unbroken chain to the moment. A
commit gets its time a little before it is in the log, so pieces are read up to one that covers a minute more; Postgres stops at the
first commit after the moment. If the log ends before such a commit, the end of the log is the moment: nothing was committed in between.
"""

import time
from dataclasses import dataclass

from broker.archive.store import ArchiveStore
from schemas.recovery import RecoveryPlan
from workers.backup.continuous.archive import (
    Archive,
    ArchiveInfo,
    BaseInfo,
    MigrationMark,
    MigrationMarks,
    WalPiece,
    list_archives,
    moment_text,
)
from workers.backup.continuous.base_links import links_of, restorable
from workers.backup.continuous.moments import (
    LatestMoment,
    MigrationMoment,
    Moment,
    MomentRejected,
    PositionMoment,
    TimeMoment,
    TransactionMoment,
    parse_moment,
)
from workers.backup.continuous.retention import last_moment
from workers.database.sessions.replication import lsn_text

BEHIND_S = 60.0
_ROOM = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """What an archive has."""

    archive: Archive
    info: ArchiveInfo
    bases: list[BaseInfo]
    """Those whose moments can be restored, sorted by age."""
    all_bases: list[BaseInfo]
    """Also those on which only later ones are built."""
    pieces: list[WalPiece]
    last: float
    marks: list[MigrationMark]

    @property
    def first(self) -> float | None:
        """The earliest moment that can be restored."""
        return self.bases[0].ended_at if self.bases else None


@dataclass(frozen=True, slots=True)
class RecoveryFiles:
    """A plan, and the files to read."""

    plan: RecoveryPlan
    content: ArchiveContent
    links: list[BaseInfo]
    """The base backup to begin with comes last, after those that it is built on, the full one first."""
    pieces: list[WalPiece]

    @property
    def base(self) -> BaseInfo:
        """The base backup from which the log is replayed."""
        return self.links[-1]


async def plan_recovery(
    store: ArchiveStore, keys: list[bytes], text: str, archive: str, now: float | None = None
) -> RecoveryFiles:
    """Plan the restore to a moment. Raises: MomentRejected, ArchiveStoreDown, SealBroken."""
    moment = parse_moment(text, time.time() if now is None else now)
    contents = await read_archives(store, keys, archive)
    if not contents:
        what = f"no archive {archive}" if archive else "no archive"
        raise MomentRejected(
            f"The store has {what}: look at [backup] of the settings, and at `headwater backup --list`."
        )
    content = _content_of(contents, moment)
    base = _base_of(content, moment)
    links = links_of(content.all_bases, base)
    base_bytes = sum(link.content_bytes for link in links)
    combined_bytes = links[0].content_bytes if len(links) > 1 else 0  # every file may change
    pieces = chain(content.pieces, base, _end_of(moment))
    settings, target, until = _target_settings(content, moment)
    objects = len(await store.list_files(f"{content.archive.id}/objects"))
    wal_bytes = max(0, pieces[-1].end - base.start_lsn)
    plan = RecoveryPlan(
        archive=content.archive.id,
        moment=target if isinstance(moment, TimeMoment) else text,
        target=target,
        settings=settings,
        until=until,
        base=base.name,
        base_at=base.began_at,
        base_bytes=base_bytes,
        bases=len(links),
        pieces=len(pieces),
        wal_bytes=wal_bytes,
        disk_bytes=base_bytes + combined_bytes + wal_bytes + 2 * content.info.segment_size + _ROOM,
        server_version=content.info.server_version,
        first=content.first or 0.0,
        last=content.last,
        objects=objects,
        migrations_after=[mark.version for mark in content.marks if mark.time > until],
    )
    return RecoveryFiles(plan, content, links, pieces)


async def read_archives(store: ArchiveStore, keys: list[bytes], only: str = "") -> list[ArchiveContent]:
    """Return what the archives of a store have, the oldest first. Raises: ArchiveStoreDown, SealBroken."""
    contents = []
    for id, info in (await list_archives(store, keys)).items():
        if only and id != only:
            continue
        archive = Archive(store, keys, id)
        bases = await archive.bases()
        marks = await archive.read_struct("migrations", MigrationMarks) or MigrationMarks()
        contents.append(
            ArchiveContent(
                archive,
                info,
                restorable(bases),
                bases,
                await archive.pieces(),
                await last_moment(archive, info.begun_at),
                marks.marks,
            )
        )
    return contents


def chain(pieces: list[WalPiece], base: BaseInfo, end: float | int | None) -> list[WalPiece]:
    """Return the pieces from a base backup to an end: a time (float), a position (int) or the end of the archive (None) (pure).

    Raises: MomentRejected if one is missing.
    """
    position, chosen = base.start_lsn, list[WalPiece]()
    for piece in pieces:
        if piece.end <= position:
            continue
        if piece.start > position:
            before = chosen[-1].time if chosen else base.began_at
            raise MomentRejected(
                f"The log from {lsn_text(position)} to {lsn_text(piece.start)} is missing in the archive, so nothing between "
                f"{moment_text(before)} and {moment_text(piece.time)} can be restored, nor anything later until the next base "
                f"backup. Choose an earlier moment, or one after a later base backup (`headwater backup --list`)."
            )
        chosen.append(piece)
        position = piece.end
        if position >= base.stop_lsn and _reaches(piece, end):
            break
    if position < base.stop_lsn:
        raise MomentRejected(
            f"The log of the base backup {base.name} itself is missing after {lsn_text(position)}: choose an earlier moment."
        )
    return chosen


def _reaches(piece: WalPiece, end: float | int | None) -> bool:
    match end:
        case float():
            return piece.time >= end
        case int():
            return piece.end >= end
    return False


def _end_of(moment: Moment) -> float | int | None:
    match moment:
        case TimeMoment(time):
            return float(time + BEHIND_S)
        case PositionMoment(lsn):
            return lsn
    return None


def _content_of(contents: list[ArchiveContent], moment: Moment) -> ArchiveContent:
    """Return the one archive that has a moment. Raises: MomentRejected."""
    usable = [content for content in contents if content.bases]
    if not usable:
        raise MomentRejected("The archive has no complete base backup yet: nothing can be restored from it.")
    match moment:
        case TimeMoment(time):
            matching = [content for content in usable if content.bases[0].ended_at <= time <= content.last]
        case MigrationMoment(version):
            matching = [content for content in usable if _mark(content, version) is not None][-1:]
            if not matching:
                raise MomentRejected(
                    f"No archive has seen the migration {version} being applied: choose a time (`headwater backup --list`)."
                )
        case _:
            matching = usable[-1:] if len({content.info.system for content in usable}) == 1 else usable
    if len(matching) > 1:
        ids = ", ".join(content.archive.id for content in matching)
        raise MomentRejected(f"Several archives have this moment: name one with --archive ({ids}).")
    if matching:
        return matching[0]
    raise MomentRejected(_outside(usable, moment))


def _outside(usable: list[ArchiveContent], moment: Moment) -> str:
    spans = [f"{moment_text(content.bases[0].ended_at)} to {moment_text(content.last)}" for content in usable]
    wanted = moment_text(moment.time) if isinstance(moment, TimeMoment) else "This moment"
    return f"{wanted} is not in the archive, which has: {'; '.join(spans)}."


def _base_of(content: ArchiveContent, moment: Moment) -> BaseInfo:
    """Return the base backup to begin with. Raises: MomentRejected."""
    match moment:
        case TimeMoment(time):
            suitable = [base for base in content.bases if base.ended_at <= time]
        case PositionMoment(lsn):
            suitable = [base for base in content.bases if base.stop_lsn <= lsn]
        case MigrationMoment(version):
            seen = mark.time if (mark := _mark(content, version)) else content.last
            suitable = [base for base in content.bases if base.ended_at < seen - BEHIND_S]
            suitable = suitable or content.bases[:1]
        case TransactionMoment():  # when it ran is not known, so all of the log is searched
            suitable = content.bases[:1]
        case LatestMoment():
            suitable = content.bases
    if not suitable:
        raise MomentRejected(
            f"The position is before the oldest base backup, which ends at {lsn_text(content.bases[0].stop_lsn)}."
        )
    return suitable[-1]


def _mark(content: ArchiveContent, version: str) -> MigrationMark | None:
    """Return the mark of a migration that was applied while the archive existed, the last time."""
    return next(
        (mark for mark in reversed(content.marks) if mark.version == version and not mark.is_older), None
    )


def _target_settings(content: ArchiveContent, moment: Moment) -> tuple[dict[str, str], str, float]:
    """Return the settings of Postgres that stop at a moment, the moment in words, and the latest time of the result."""
    match moment:
        case TimeMoment(time):
            text = moment_text(time)
            return {"recovery_target_time": text.replace(" UTC", "+00")}, text, time
        case PositionMoment(lsn):
            return {"recovery_target_lsn": lsn_text(lsn)}, f"position {lsn_text(lsn)}", content.last
        case TransactionMoment(id, is_included):
            return _transaction(id, is_included), f"{_side(is_included)} transaction {id}", content.last
        case MigrationMoment(version, is_included) if mark := _mark(content, version):
            words = f"{_side(is_included)} migration {version} (transaction {mark.transaction}, seen {moment_text(mark.time)})"
            return _transaction(mark.transaction, is_included), words, mark.time - 0.001 * (not is_included)
    return {}, f"everything up to {moment_text(content.last)}", content.last


def _transaction(id: str, is_included: bool) -> dict[str, str]:
    return {"recovery_target_xid": id, "recovery_target_inclusive": "on" if is_included else "off"}


def _side(is_included: bool) -> str:
    return "with" if is_included else "before"
