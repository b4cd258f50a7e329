"""A restore to a moment: the steps that the command line asks the workers for, and what they answer (JSON)."""

from msgspec import Struct, field

from schemas.keys.secret_record import SecretRecord


class PlanTask(Struct, frozen=True, tag="plan"):
    """Find what a restore would read and give, and change nothing."""

    moment: str
    """As a user writes it: `2026-11-22 10:15`, `before the last hour`, `before migration 20261122101500`..."""
    archive: str = ""
    """Id of the archive, where several have the moment."""


class FetchFilesTask(Struct, frozen=True, tag="fetch"):
    """Write the database's files of a plan into an empty folder."""

    moment: str
    archive: str
    folder: str
    combine: str = ""
    """Path of pg_combinebackup of the database's version; needed for an incremental base backup."""


class FillTask(Struct, frozen=True, tag="fill"):
    """Write the objects that a recovered database names into the blob store, and report what the database has."""

    archive: str
    until: float
    """Seconds since 1970: deployed functions are those of this moment."""


class ListTask(Struct, frozen=True, tag="list"):
    """List the archives of the store."""

    verify: bool = False
    """Read and decrypt everything."""


RecoveryTask = PlanTask | FetchFilesTask | FillTask | ListTask


class RecoveryPlan(SecretRecord, Struct, frozen=True):
    """What a restore reads and gives. Times are seconds since 1970."""

    archive: str
    moment: str
    """The moment as a `FetchFilesTask` names it: a relative one is made absolute."""
    target: str
    """The moment in words."""
    settings: dict[str, str]
    """Settings of Postgres that stop the recovery there."""
    until: float
    """No later moment is in the result."""
    base: str
    base_at: float
    base_bytes: int
    """Of it and those that it is built on."""
    pieces: int
    wal_bytes: int
    """Bytes of the log to replay."""
    disk_bytes: int
    """Bytes that the restore needs on the disk."""
    server_version: int
    first: float
    """The earliest moment of the archive that can be restored."""
    last: float
    """The latest one."""
    objects: int
    """Copies of objects in the archive."""
    bases: int = 1
    """More than one: the base backup is incremental, and that number of them is read."""
    vault_key: str = ""
    """Only in the answer to a fetch."""
    sealing_key: str = ""
    """Only in the answer to a fetch."""
    migrations_after: list[str] = field(default_factory=list)
    """Migrations of the project that were applied after the moment, and which the result lacks."""


class PlanAnswer(Struct, frozen=True):
    """The answer of the process `archive` to a `PlanTask`: a plan, or the reason why there is none."""

    plan: RecoveryPlan | None = None
    error: str = ""
    is_rejected: bool = False
    """The moment cannot be restored; else the same request may succeed later."""


class RecoveredFacts(Struct, frozen=True):
    """What a recovered database has."""

    objects: int
    """Objects that its rows name."""
    written: int
    """Of those, the ones whose bytes were missing in the blob store and came from the archive."""
    missing: list[str]
    """Objects without bytes, neither in the store nor in the archive."""
    functions: int
    tables: int
    users: int


class ListedArchive(Struct, frozen=True):
    """An archive of the store."""

    archive: str
    first: float | None
    """The earliest moment that can be restored; None before the first base backup is complete."""
    last: float
    bases: int
    incrementals: int
    """Of `bases`, those that have only the changes since another."""
    stored_bytes: int
    faults: list[str]
    """Why a part of it cannot be restored: a gap, a damaged or missing file."""
    is_new: bool = False
    """It has no complete base backup yet, and nothing else is wrong."""
