"""The replication slot of an archive: found, or created with a new archive; what it keeps, and whether it was given up."""

import secrets
from dataclasses import dataclass

import asyncpg

from broker.archive.store import ArchiveStore, ArchiveStoreDown
from workers.backup.continuous import inventory
from workers.backup.continuous.archive import SLOT_PREFIX, Archive, ArchiveInfo, is_archive_id
from workers.database.sessions.replication import parse_lsn
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.backup.continuous", "slots.sql")
_LOST = "lost"
_LIMIT_REACHED = "the database had to keep more of its log than it may (backup.wal_limit) and has given it up"
GIVEN_UP = (
    "given up by the database, which reached its limit: a new base backup follows when the store is back"
)
"""What is reported while the store is still away."""


@dataclass(frozen=True, slots=True)
class OpenArchive:
    """An archive to continue, and the position from which the log is stored next."""

    archive: Archive
    info: ArchiveInfo
    position: int
    covered: float
    """Everything that was committed before it is stored already; seconds since 1970."""
    reason: str = ""
    """Why it is a new one; empty for one that is continued."""
    given_up: str = ""
    """The archive before, whose chain has ended."""


@dataclass(frozen=True, slots=True)
class KeptLog:
    """What a slot keeps: bytes of the log on the database's disk, and whether the server has given them up."""

    kept_bytes: int
    is_lost: bool


async def open_archive(superuser: asyncpg.Connection, store: ArchiveStore, keys: list[bytes]) -> OpenArchive:
    """Continue the archive of this database's slot, or begin a new one.

    Raises: ArchiveStoreDown, SealBroken, the driver's errors.
    """
    facts = await server_facts(superuser)
    reason, ended = "this database has none", list[str]()
    for slot in await superuser.fetch(_STATEMENTS["slots"], SLOT_PREFIX):
        id = slot["name"]
        if not is_archive_id(id):
            continue
        archive = Archive(store, keys, id)
        reason = await _fault(archive, slot, facts)
        if not reason:
            info = await archive.read_struct("info", ArchiveInfo)
            pieces = await archive.pieces()
            position = pieces[-1].end if pieces else _segment_start(slot["restart_lsn"], facts)
            if info is not None and not _is_removed(position, slot, facts):
                covered = max(info.begun_at, pieces[-1].time if pieces else 0.0)
                return OpenArchive(archive, info, position, covered)
            reason = "the server has removed the log that comes next"
        ended.append(id)
    try:
        return await _begin(superuser, store, keys, facts, reason, ended)
    except ArchiveStoreDown as error:
        raise ArchiveStoreDown(f"{GIVEN_UP} ({error})" if reason == _LIMIT_REACHED else str(error)) from None


async def server_facts(superuser: asyncpg.Connection) -> asyncpg.Record:
    """Return what identifies a server, and its clock. Raises: the driver's errors."""
    (facts,) = await superuser.fetch(_STATEMENTS["server"])
    return facts


async def slot_state(superuser: asyncpg.Connection, id: str) -> KeptLog:
    """Return what a slot keeps; one that is gone is lost."""
    row = await superuser.fetchrow(_STATEMENTS["slot_state"], id)
    if row is None:
        return KeptLog(0, is_lost=True)
    return KeptLog(int(row["kept"] or 0), row["wal_status"] == _LOST)


async def _fault(archive: Archive, slot: asyncpg.Record, facts: asyncpg.Record) -> str:
    """Return why the archive of a slot cannot be continued; empty if it can."""
    if slot["wal_status"] == _LOST or slot["restart_lsn"] is None:
        return _LIMIT_REACHED
    info = await archive.read_struct("info", ArchiveInfo)
    if info is None:
        return "the store has no archive of this database's slot"
    if (info.system, info.timeline) != (facts["system"], facts["timeline"]):
        return "the database was promoted or restored since"
    return ""


async def _begin(
    superuser: asyncpg.Connection,
    store: ArchiveStore,
    keys: list[bytes],
    facts: asyncpg.Record,
    reason: str,
    ended: list[str],
) -> OpenArchive:
    """Begin a new archive. The store is written to first: until it takes that, the slots of ended archives stay as they are."""
    archive = Archive(store, keys, SLOT_PREFIX + secrets.token_hex(6))
    info = ArchiveInfo(
        system=facts["system"],
        timeline=facts["timeline"],
        segment_size=facts["segment_size"],
        server_version=facts["version"],
        begun_at=facts["now"].timestamp(),
        has_inventory=True,
    )
    await inventory.note(archive)
    await archive.write_struct("info", info)
    for id in ended:
        await superuser.execute(_STATEMENTS["drop_slot"], id)
    restart = await superuser.fetchval(_STATEMENTS["create_slot"], archive.id)
    return OpenArchive(
        archive, info, _segment_start(restart, facts), info.begun_at, reason, ended[-1] if ended else ""
    )


def _segment_start(lsn: str, facts: asyncpg.Record) -> int:
    position = parse_lsn(lsn)
    return position - position % int(facts["segment_size"])


def _is_removed(position: int, slot: asyncpg.Record, facts: asyncpg.Record) -> bool:
    """Return whether the slot keeps the log only from a later segment on than the one of a position."""
    return position < _segment_start(slot["restart_lsn"], facts)
