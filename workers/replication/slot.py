"""The replication slot: what holds the log back for us until everything in it is published.

It is permanent and outlives restarts of everything. When it held back more than `max_slot_wal_keep_size`, the server
gives it up; then it is made anew, and subscribers are told of a gap.
"""

from dataclasses import dataclass
from typing import Any

from workers.database.errors import DatabaseError
from workers.replication import failover
from workers.replication.tables import Ask
from workers.sql.files import read_statements

PUBLICATIONS = ("supabase_realtime", "supabase_realtime_messages_publication")
STATEMENTS = read_statements("workers.replication", "slot.sql")

_TOLERANT = 180000
"""From this version on, a publication that is not there is skipped; before, reading fails at its absence."""
_MIB = 1024 * 1024
_NOT_ALLOWED = "42501"
_NOT_THERE = ("42P01", "3F000", _NOT_ALLOWED)
_CANNOT_BE_MADE = ("53400", "42602")
"""No slot is free; the name is no name for a slot."""


class Unfit(Exception):
    """The server, the role or the slot cannot be used for replication; somebody must change something."""


@dataclass(frozen=True, slots=True)
class Server:
    """Which database this is, and how far its log goes. `timeline` grows when a standby is promoted."""

    version: int
    database: str
    system: str
    timeline: int
    lsn: int

    @property
    def skips_missing_publications(self) -> bool:
        return self.version >= _TOLERANT


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a slot stands. `limit_bytes` is 0 when the server sets none."""

    is_lost: bool
    is_read: bool
    survives_failover: bool
    confirmed: int
    held_bytes: int
    limit_bytes: int


async def look_at_server(ask: Ask) -> Server:
    """Give what is to be known of the server. Raises: Unfit; DatabaseError."""
    try:
        (row,) = await ask(STATEMENTS["server"])
    except DatabaseError as error:
        if error.code != _NOT_ALLOWED:
            raise
        raise Unfit(f"the role may not look at the server: {error.message}") from None
    if row["wal_level"] != "logical":
        raise Unfit(
            f"wal_level is {row['wal_level']}: set it to logical and start the database server anew,"
            " or switch realtime.enabled off"
        )
    if not row["may_replicate"]:
        raise Unfit(
            f"role {row['role']} may not replicate: `alter role ... replication`, or name one in realtime.login"
        )
    return Server(row["version"], row["database"], row["system"], row["timeline"], row["lsn"])


async def look_at_slot(ask: Ask, name: str, database: str) -> Slot | None:
    """Give the state of the slot; None if there is none. Raises: Unfit if it is somebody else's; DatabaseError."""
    rows = await ask(STATEMENTS["slot"], name)
    if not rows:
        return None
    row = rows[0]
    if row["database"] != database or row["plugin"] != "pgoutput":
        raise Unfit(f"the slot {name} belongs to something else: name another in realtime.slot_name")
    limit_mb = max(row["limit_mb"] or 0, 0)  # -1: none
    return Slot(
        row["is_lost"],
        row["active_pid"] is not None,
        row["survives_failover"],
        row["confirmed"],
        row["held_bytes"],
        limit_mb * _MIB,
    )


async def make_slot(ask: Ask, name: str, version: int) -> int:
    """Make the slot, dropping a lost one; give the position from which it holds the log.

    `version` is the server's: where it can, it keeps the slot on its standbys. Raises: Unfit.
    """
    make = STATEMENTS["make" if version < failover.SINCE else "make_for_standbys"]
    try:
        if await ask(STATEMENTS["slot"], name):
            await ask(STATEMENTS["drop"], name)
        (row,) = await ask(make, name, timeout=None)  # it waits for those who write now
    except DatabaseError as error:
        if error.code not in _CANNOT_BE_MADE:
            raise
        raise Unfit(f"the slot {name} cannot be made: {error.message}") from None
    confirmed: int = row["confirmed"]
    return confirmed


async def drop_slot(ask: Ask, name: str) -> bool:
    """Drop the slot of this database that nobody reads; give whether there was one."""
    rows = await ask(STATEMENTS["slot"], name)
    (server,) = await ask(STATEMENTS["database"])
    if not rows or rows[0]["database"] != server[0] or rows[0]["active_pid"] is not None:
        return False
    await ask(STATEMENTS["drop"], name)
    return True


async def stream_of(ask: Ask, name: str) -> str | None:
    """Give which stream a slot was read into last; None where nobody knows: our table, or the right to it, is not there."""
    rows = await _asked_if_known(ask, STATEMENTS["stream"], name)
    return rows[0]["stream"] if rows else None


async def note_stream(ask: Ask, name: str, stream: str) -> None:
    """Note that a slot is read into a stream, where there is a place for it."""
    await _asked_if_known(ask, STATEMENTS["note_stream"], name, stream)


async def _asked_if_known(ask: Ask, statement: str, *values: object) -> list[Any]:
    try:
        return await ask(statement, *values)
    except DatabaseError as error:
        if error.code not in _NOT_THERE:
            raise
        return []


async def present_publications(ask: Ask) -> list[str]:
    """Give those of our publications that are there now."""
    found = {row[0] for row in await ask(STATEMENTS["publications"], list(PUBLICATIONS))}
    return [name for name in PUBLICATIONS if name in found]
