"""Findings about a database, from the facts that a worker read (pure)."""

import re

from msgspec import Struct

from schemas.positions import ReplicaFacts
from services.doctor.drains import LogDrainFacts, drain_findings
from services.doctor.durable_jobs import DurableJobFacts, durable_job_findings
from services.doctor.finding import DoctorFinding, FindingLevel
from services.doctor.history import HistoryFacts, history_findings
from services.doctor.queues import QueueConsumerFacts, queue_findings
from services.doctor.streams import StreamFacts, stream_findings
from services.doctor.webhooks import WebhookFacts, webhook_findings

OLDEST_SERVER = 150000
OLDEST_SAFE_SERVER = 160000
_MIB = 1024 * 1024
_HELD_BYTES = 1024 * _MIB
_FAR_BEHIND_BYTES = 64 * _MIB
_FULL = 0.9
_MISSING = re.compile(r'database ".*" does not exist')


class SlotFacts(Struct, frozen=True):
    """The replication slot of the row changes."""

    held_bytes: int
    active: bool
    lost: bool


class Replacement(Struct, frozen=True):
    """What an interrupted restore or reset left beside the database; `is_half`: the database itself is incomplete."""

    is_running: bool
    is_half: bool
    left_over: list[str]


class DatabaseFacts(Struct, frozen=True):
    """The output of `python -P -m workers examine`."""

    version: int
    wal_level: str
    now: float
    slots_free: int
    sessions: int
    max_sessions: int
    pending: list[str]
    slot: SlotFacts | None = None
    newer: list[str] = []
    """System migrations that the database has and this version does not know."""
    copies_cluster: bool = False
    """Role postgres may make a physical copy of the whole server."""
    replacement: Replacement | None = None
    replicas: list[ReplicaFacts] = []
    webhooks: list[WebhookFacts] = []
    queues: list[QueueConsumerFacts] = []
    log_drains: list[LogDrainFacts] = []
    streams: list[StreamFacts] = []
    history: list[HistoryFacts] = []
    jobs: list[DurableJobFacts] = []


def unreachable(reason: str) -> DoctorFinding:
    """Return the finding for a database that does not answer."""
    cure = "Start it, or correct its URL (HEADWATER_DB_URL); of an embedded one, `headwater logs postgres` tells why."
    if _MISSING.search(reason):
        cure = (
            "Restart the platform: a start puts back what an interrupted restore or reset of an older headwater set aside. "
            "If the database was dropped, create it empty, start, and restore a backup."
        )
    return DoctorFinding("database", FindingLevel.ERROR, f"it does not answer: {reason}", cure)


def look_at_facts(facts: DatabaseFacts, *, realtime: bool) -> list[DoctorFinding]:
    """Return the findings about a database that answers."""
    findings = [_version(facts), _pending(facts), *_replacement(facts), _sessions(facts), *_copies(facts)]
    findings += [_replica(replica) for replica in facts.replicas]
    findings += webhook_findings(facts.webhooks)
    findings += queue_findings(facts.queues)
    findings += drain_findings(facts.log_drains)
    findings += stream_findings(facts.streams)
    findings += history_findings(facts.history)
    findings += durable_job_findings(facts.jobs)
    return findings + (_realtime_findings(facts) if realtime else [])


def _version(facts: DatabaseFacts) -> DoctorFinding:
    text = f"Postgres {facts.version // 10000}.{facts.version % 10000} answers"
    if facts.version < OLDEST_SERVER:
        return DoctorFinding("database", FindingLevel.ERROR, text, "Upgrade it to Postgres 16 or newer.")
    if facts.version < OLDEST_SAFE_SERVER:
        text += "; in it role postgres can grant itself the right to run programs on the server"
        cure = "Upgrade it to Postgres 16 or newer, unless whoever writes the project's SQL may do everything there."
        return DoctorFinding("database", FindingLevel.WARNING, text, cure)
    return DoctorFinding("database", FindingLevel.OK, text)


def _replica(replica: ReplicaFacts) -> DoctorFinding:
    if replica.fault:
        cure = "Reads run on the primary meanwhile. Start it and have it follow the primary, or take it out of db.replicas.urls."
        return DoctorFinding("replica", FindingLevel.WARNING, f"{replica.name}: {replica.fault}", cure)
    text = f"{replica.name} follows the primary, {replica.behind_bytes / _MIB:.1f} MiB of the log behind"
    if replica.behind_bytes < _FAR_BEHIND_BYTES:
        return DoctorFinding("replica", FindingLevel.OK, text)
    cure = "Look for long reads on it (max_standby_streaming_delay), a full disk, or a slow network; reads run on the primary meanwhile."
    return DoctorFinding("replica", FindingLevel.WARNING, text, cure)


def _copies(facts: DatabaseFacts) -> list[DoctorFinding]:
    if not facts.copies_cluster:
        return []
    text = "pg_hba.conf lets role postgres copy the whole server, with the verifiers of all passwords"
    cure = "Let only the logins of your standbys and backups use `replication` in pg_hba.conf; realtime does not need it."
    return [DoctorFinding("replication", FindingLevel.WARNING, text, cure)]


def _pending(facts: DatabaseFacts) -> DoctorFinding:
    if facts.newer:
        text = f"the database is newer than this headwater: it has {', '.join(facts.newer)}"
        return DoctorFinding(
            "migrations",
            FindingLevel.ERROR,
            text,
            "Install that version of headwater, or a newer one, and restart.",
        )
    if not facts.pending:
        return DoctorFinding("migrations", FindingLevel.OK, "the platform's schemas are up to date")
    text = f"{len(facts.pending)} of the platform are pending, first {facts.pending[0]}"
    cure = "See what they change by `headwater upgrade --dry-run`, then run `headwater upgrade`, or restart the platform."
    return DoctorFinding("migrations", FindingLevel.ERROR, text, cure)


def _replacement(facts: DatabaseFacts) -> list[DoctorFinding]:
    replacement, title = facts.replacement, "restore"
    if replacement is None or not (replacement.left_over or replacement.is_running):
        return []
    if replacement.is_running:
        return [DoctorFinding(title, FindingLevel.OK, "a restore or reset of the database is under way")]
    names = ", ".join(replacement.left_over)
    if replacement.is_half:
        text = f"a reset of the database was interrupted: it is not whole, and the old one is set aside as {replacement.left_over[0]}"
        cure = "Run `headwater stop` and `headwater start`, which puts the old database back; or repeat the reset."
        return [DoctorFinding(title, FindingLevel.ERROR, text, cure)]
    text = f"a restore or reset was interrupted: it left {names}; the database itself is whole"
    cure = "Repeat the restore, or restart the platform: both remove what was left, which takes room on the disk."
    return [DoctorFinding(title, FindingLevel.WARNING, text, cure)]


def _sessions(facts: DatabaseFacts) -> DoctorFinding:
    text = f"{facts.sessions} of {facts.max_sessions} sessions are open"
    if facts.sessions < facts.max_sessions * _FULL:
        return DoctorFinding("sessions", FindingLevel.OK, text)
    return DoctorFinding(
        "sessions",
        FindingLevel.WARNING,
        text,
        "Raise max_connections, or lower db.pool_size of each pool process.",
    )


def _realtime_findings(facts: DatabaseFacts) -> list[DoctorFinding]:
    if facts.wal_level != "logical":
        cure = "Set wal_level = logical and restart the database, or switch realtime.enabled off."
        return [DoctorFinding("realtime", FindingLevel.ERROR, f"wal_level is {facts.wal_level}", cure)]
    if facts.slot is None:
        if facts.slots_free < 1:
            cure = "Raise max_replication_slots, or drop a slot that no client reads."
            return [DoctorFinding("realtime", FindingLevel.ERROR, "no replication slot is free", cure)]
        return [DoctorFinding("realtime", FindingLevel.OK, "its slot is made when it first runs")]
    held = f"its slot holds {facts.slot.held_bytes // _MIB:,} MiB of the log"
    if facts.slot.lost:
        cure = "It is created again automatically, and subscribers are notified of a gap; raise max_slot_wal_keep_size."
        return [
            DoctorFinding(
                "realtime", FindingLevel.ERROR, "its slot fell too far behind and was given up", cure
            )
        ]
    if not facts.slot.active:
        cure = "Start the pool `replication` (`changes`), or switch realtime.enabled off: the log grows until then."
        return [DoctorFinding("realtime", FindingLevel.WARNING, f"no process reads the log; {held}", cure)]
    if facts.slot.held_bytes > _HELD_BYTES:
        cure = (
            "Look whether NATS keeps up and has room (`headwater logs changes`), and for long transactions."
        )
        return [DoctorFinding("realtime", FindingLevel.WARNING, held, cure)]
    return [DoctorFinding("realtime", FindingLevel.OK, held)]
