"""The replication slot, which retains the log until everything in it is published.

It is permanent and outlives restarts of every process. If it retains more than `max_slot_wal_keep_size`, the server invalidates
it; then it is recreated, and subscribers are notified of a gap.
"""

from dataclasses import dataclass
from typing import Any

from workers.database.errors import DatabaseError
from workers.replication import failover
from workers.replication.tables import Ask
from workers.sql.files import read_statements

SYNC_PUBLICATION = "supabase_realtime_sync"
PUBLICATIONS = ("supabase_realtime", "supabase_realtime_messages_publication", SYNC_PUBLICATION)
STATEMENTS = read_statements("workers.replication", "slot.sql")

_TOLERANT = 180000
"""From this version on the server skips a missing publication; before, reading fails."""
_MIB = 1024 * 1024
_NOT_ALLOWED = "42501"
_NOT_THERE = ("42P01", "3F000", _NOT_ALLOWED)
_CANNOT_BE_MADE = ("53400", "42602")
"""All slots are in use; the name is not valid for a slot."""


class ReplicationImpossible(Exception):
    """The server, the role or the slot cannot be used for replication; the operator must change its configuration."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """Identity of the database, and the end of its log. `timeline` grows when a standby is promoted."""

    version: int
    database: str
    system: str
    timeline: int
    lsn: int

    @property
    def skips_missing_publications(self) -> bool:
        return self.version >= _TOLERANT


@dataclass(frozen=True, slots=True)
class SlotState:
    """State of a slot. `limit_bytes` is 0 if the server sets no limit."""

    is_lost: bool
    is_read: bool
    survives_failover: bool
    confirmed: int
    held_bytes: int
    limit_bytes: int


async def read_server(ask: Ask) -> ServerState:
    """Return the state of the server. Raises: ReplicationImpossible; DatabaseError."""
    try:
        (row,) = await ask(STATEMENTS["server"])
    except DatabaseError as error:
        if error.code != _NOT_ALLOWED:
            raise
        raise ReplicationImpossible(f"the role may not look at the server: {error.message}") from None
    if row["wal_level"] != "logical":
        raise ReplicationImpossible(
            f"wal_level is {row['wal_level']}: set it to logical and start the database server anew,"
            " or switch realtime.enabled off"
        )
    if not row["may_replicate"]:
        raise ReplicationImpossible(
            f"role {row['role']} may not replicate: `alter role ... replication`, or name one in realtime.login"
        )
    return ServerState(row["version"], row["database"], row["system"], row["timeline"], row["lsn"])


async def read_slot(ask: Ask, name: str, database: str) -> SlotState | None:
    """Return the state of the slot; None if there is none.

    Raises: ReplicationImpossible if the slot belongs to another database or plugin; DatabaseError.
    """
    rows = await ask(STATEMENTS["slot"], name)
    if not rows:
        return None
    row = rows[0]
    if row["database"] != database or row["plugin"] != "pgoutput":
        raise ReplicationImpossible(
            f"the slot {name} belongs to something else: name another in realtime.slot_name"
        )
    limit_mb = max(row["limit_mb"] or 0, 0)  # -1: none
    return SlotState(
        row["is_lost"],
        row["active_pid"] is not None,
        row["survives_failover"],
        row["confirmed"],
        row["held_bytes"],
        limit_mb * _MIB,
    )


async def create_slot(ask: Ask, name: str, version: int) -> int:
    """Create the slot, dropping a lost one; return the position from which it retains the log.

    From server version 17 on the slot is also kept on standbys. Raises: ReplicationImpossible.
    """
    make = STATEMENTS["make" if version < failover.SINCE else "make_for_standbys"]
    try:
        if await ask(STATEMENTS["slot"], name):
            await ask(STATEMENTS["drop"], name)
        (row,) = await ask(make, name, timeout=None)  # waits until transactions that write now end
    except DatabaseError as error:
        if error.code not in _CANNOT_BE_MADE:
            raise
        raise ReplicationImpossible(f"the slot {name} cannot be made: {error.message}") from None
    confirmed: int = row["confirmed"]
    return confirmed


async def drop_slot(ask: Ask, name: str) -> bool:
    """Drop the inactive slot of this database; return whether there was one."""
    rows = await ask(STATEMENTS["slot"], name)
    (server,) = await ask(STATEMENTS["database"])
    if not rows or rows[0]["database"] != server[0] or rows[0]["active_pid"] is not None:
        return False
    await ask(STATEMENTS["drop"], name)
    return True


async def stream_of(ask: Ask, name: str) -> str | None:
    """Return the stream that a slot was published to last; None if our table, or the right to read it, is missing."""
    rows = await _ask_if_exists(ask, STATEMENTS["stream"], name)
    return rows[0]["stream"] if rows else None


async def note_stream(ask: Ask, name: str, stream: str) -> None:
    """Store the stream that a slot is published to, if our table exists."""
    await _ask_if_exists(ask, STATEMENTS["note_stream"], name, stream)


async def _ask_if_exists(ask: Ask, statement: str, *values: object) -> list[Any]:
    try:
        return await ask(statement, *values)
    except DatabaseError as error:
        if error.code not in _NOT_THERE:
            raise
        return []
