"""What the facts about a database mean (pure)."""

import re

from msgspec import Struct

from services.doctor.finding import Finding, Level

OLDEST_SERVER = 150000
OLDEST_WITH_WALLS = 160000
_MIB = 1024 * 1024
_HELD_BYTES = 1024 * _MIB
_FULL = 0.9
_MISSING = re.compile(r'database ".*" does not exist')


class Slot(Struct, frozen=True):
    """The slot of the row changes."""

    held_bytes: int
    active: bool
    lost: bool


class Replacement(Struct, frozen=True):
    """What a restore or reset of the database has left beside it; `is_half`: the database itself is not whole yet."""

    is_running: bool
    is_half: bool
    left_over: list[str]


class Facts(Struct, frozen=True):
    """What `python -P -m workers examine` tells."""

    version: int
    wal_level: str
    now: float
    slots_free: int
    sessions: int
    max_sessions: int
    pending: list[str]
    slot: Slot | None = None
    newer: list[str] = []
    """System migrations that the database has, and that are not known here."""
    copies_cluster: bool = False
    """Role postgres may make a physical copy of the whole server."""
    replacement: Replacement | None = None


def silent(reason: str) -> Finding:
    """Give the finding for a database that does not answer."""
    cure = "Start it, or correct its URL (DATABASE_URL); of an embedded one, `headwater logs postgres` tells why."
    if _MISSING.search(reason):
        cure = (
            "Restart the platform: a start puts back what an interrupted restore or reset of an older headwater set aside. "
            "If the database was dropped, create it empty, start, and restore a backup."
        )
    return Finding("database", Level.ERROR, f"it does not answer: {reason}", cure)


def look_at_facts(facts: Facts, *, realtime: bool) -> list[Finding]:
    """Tell what is wrong with a database that answers."""
    found = [_version(facts), _pending(facts), *_replacement(facts), _sessions(facts), *_copies(facts)]
    return found + (_realtime(facts) if realtime else [])


def _version(facts: Facts) -> Finding:
    told = f"Postgres {facts.version // 10000}.{facts.version % 10000} answers"
    if facts.version < OLDEST_SERVER:
        return Finding("database", Level.ERROR, told, "Upgrade it to Postgres 16 or newer.")
    if facts.version < OLDEST_WITH_WALLS:
        told += "; in it role postgres can grant itself the right to run programs on the server"
        cure = "Upgrade it to Postgres 16 or newer, unless whoever writes the project's SQL may do everything there."
        return Finding("database", Level.WARNING, told, cure)
    return Finding("database", Level.OK, told)


def _copies(facts: Facts) -> list[Finding]:
    if not facts.copies_cluster:
        return []
    told = "pg_hba.conf lets role postgres copy the whole server, with the verifiers of all passwords"
    cure = "Let only the logins of your standbys and backups use `replication` in pg_hba.conf; realtime does not need it."
    return [Finding("replication", Level.WARNING, told, cure)]


def _pending(facts: Facts) -> Finding:
    if facts.newer:
        told = f"the database is newer than this headwater: it has {', '.join(facts.newer)}"
        return Finding(
            "migrations", Level.ERROR, told, "Install that version of headwater, or a newer one, and restart."
        )
    if not facts.pending:
        return Finding("migrations", Level.OK, "the platform's schemas are up to date")
    told = f"{len(facts.pending)} of the platform are pending, first {facts.pending[0]}"
    cure = "See what they change by `headwater upgrade --dry-run`, then run `headwater upgrade`, or restart the platform."
    return Finding("migrations", Level.ERROR, told, cure)


def _replacement(facts: Facts) -> list[Finding]:
    found, title = facts.replacement, "restore"
    if found is None or not (found.left_over or found.is_running):
        return []
    if found.is_running:
        return [Finding(title, Level.OK, "a restore or reset of the database is under way")]
    names = ", ".join(found.left_over)
    if found.is_half:
        told = f"a reset of the database was interrupted: it is not whole, and the old one is set aside as {found.left_over[0]}"
        cure = "Run `headwater stop` and `headwater start`, which puts the old database back; or repeat the reset."
        return [Finding(title, Level.ERROR, told, cure)]
    told = f"a restore or reset was interrupted: it left {names}; the database itself is whole"
    cure = "Repeat the restore, or restart the platform: both remove what was left, which takes room on the disk."
    return [Finding(title, Level.WARNING, told, cure)]


def _sessions(facts: Facts) -> Finding:
    told = f"{facts.sessions} of {facts.max_sessions} sessions are open"
    if facts.sessions < facts.max_sessions * _FULL:
        return Finding("sessions", Level.OK, told)
    return Finding(
        "sessions", Level.WARNING, told, "Raise max_connections, or lower db.pool_size of each pool process."
    )


def _realtime(facts: Facts) -> list[Finding]:
    if facts.wal_level != "logical":
        cure = "Set wal_level = logical and restart the database, or switch realtime.enabled off."
        return [Finding("realtime", Level.ERROR, f"wal_level is {facts.wal_level}", cure)]
    if facts.slot is None:
        if facts.slots_free < 1:
            cure = "Raise max_replication_slots, or drop a slot that nobody reads."
            return [Finding("realtime", Level.ERROR, "no replication slot is free", cure)]
        return [Finding("realtime", Level.OK, "its slot is made when it first runs")]
    held = f"its slot holds {facts.slot.held_bytes // _MIB:,} MiB of the log"
    if facts.slot.lost:
        cure = "It is made anew by itself, and subscribers are told of a gap; raise max_slot_wal_keep_size."
        return [Finding("realtime", Level.ERROR, "its slot fell too far behind and was given up", cure)]
    if not facts.slot.active:
        cure = "Start the pool `replication` (`changes`), or switch realtime.enabled off: the log grows until then."
        return [Finding("realtime", Level.WARNING, f"nobody reads the log; {held}", cure)]
    if facts.slot.held_bytes > _HELD_BYTES:
        cure = (
            "Look whether NATS keeps up and has room (`headwater logs changes`), and for long transactions."
        )
        return [Finding("realtime", Level.WARNING, held, cure)]
    return [Finding("realtime", Level.OK, held)]
