"""Operations on continuous backup: what is stored, and what a restore to a moment would give. A restore is a command of the machine.

The process `archive` alone has the key of what is stored, so it makes the plan of a restore (workers/backup/continuous/plan_service.py). It reports into a file of the data folder (broker/processes/archive_status.py);
on another machine than its own only its metrics are known.
"""

import asyncio
import math
import shlex
import time
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from broker.nats.connection import NoResponders
from broker.processes.archive_status import ArchiveStatus, StoredBase, read_archive_status
from broker.processes.data_folder import data_folder
from broker.processes.drill_status import DrillStatus, read_drill_status
from broker.subjects import ARCHIVE_PLAN
from schemas.errors import Unavailable
from schemas.recovery import PlanAnswer, PlanTask, RecoveryPlan
from schemas.settings.backup import Backup
from schemas.settings.storage import S3, Azure, Gcs
from workers.management.interface import argument_limits as limits
from workers.management.interface.backends.metrics_text import MetricSamples, read_metrics
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_LAG, _BASE_AGE = "headwater_archive_lag_seconds", "headwater_archive_base_age_seconds"
_WAITING, _UP = "headwater_archive_waiting_bytes", "headwater_archive_up"
SILENT_S = 120.0
"""A file that is older was left by a process that is gone: the process writes it every ten seconds."""
_LEAST_LAG_S = 30.0
_PLAN_S = 25.0
"""Longer than the process `archive` takes for one plan at most."""

ContinuousState = Literal["off", "starting", "good", "behind", "failing", "silent"]


class ContinuousBackup(Struct, frozen=True):
    """What continuous backup has stored. Times are seconds since 1970, by the database's clock.

    `state`: off; starting (no base backup is complete yet); good; behind (the last stored moment is older than it should be); failing
    (`fault` says why); silent (the process `archive` does not report). `lag_s`: age of the last stored moment; `covered_until`: that moment.
    `oldest`: the earliest moment that can be restored; null where only metrics are known. `waiting_bytes`: of the log, on the database's disk.
    """

    state: ContinuousState
    place: str
    """The folder or the bucket; empty while it is off."""
    interval_s: float
    base_interval_s: float
    retention_s: float
    wal_limit_bytes: int
    archive: str = ""
    lag_s: float | None = None
    covered_until: float | None = None
    oldest: float | None = None
    base_at: float | None = None
    base_running: bool = False
    bases: Sequence[StoredBase] = ()
    """Complete base backups, the newest first; 100 at most."""
    waiting_bytes: int = 0
    stored_bytes: int = 0
    """Bytes of the log that the process has stored since it started, compressed and encrypted."""
    fault: str = ""
    reported_at: float | None = None
    """By the clock of the machine of the process `archive`."""
    is_on_this_machine: bool = True
    """Whether the file of the process `archive` could be read; else base backups and moments are unknown here."""
    command: str = ""
    """Begins the command that restores a moment; `--to MOMENT` follows."""
    drill: DrillStatus | None = None
    """The last restore drill; null before the first, and on another machine than that of the data folder."""


class PlannedMoment(Struct, frozen=True):
    """The moment of a restore: as `headwater restore --to` takes it, such as `2026-11-22T10:15:00Z` or `before the last hour`."""

    moment: Annotated[str, limits.text(200)]
    archive: Annotated[str, limits.text(100, least=0)] = ""
    """Name of the archive, where several have the moment."""


class MomentPlan(Struct, frozen=True):
    """What a restore to a moment would read and give. Nothing was changed. Times are seconds since 1970.

    `problem`: why the moment cannot be restored; then the rest is empty. `bases`: base backups that are read, more than one where the last is
    incremental. `migrations_after`: migrations of the project that were applied later, and which the result lacks.
    """

    problem: str = ""
    target: str = ""
    """The moment in words."""
    archive: str = ""
    base_at: float = 0.0
    bases: int = 0
    base_bytes: int = 0
    pieces: int = 0
    wal_bytes: int = 0
    """Of the log, which is replayed."""
    disk_bytes: int = 0
    """What the restore needs on the disk."""
    objects: int = 0
    """Copies of objects in the archive."""
    server_version: int = 0
    migrations_after: Sequence[str] = ()
    command: str = ""
    """Restores it."""


async def plan_moment(context: OperationContext, query: PlannedMoment) -> MomentPlan:
    """Return what a restore to a moment would read and give; the process `archive` must run."""
    moment = check_text("moment", query.moment, longest=200)
    task = PlanTask(moment, check_text("archive", query.archive, longest=100, least=0))
    try:
        answer = msgspec.json.decode(
            await context.pools.ask(ARCHIVE_PLAN, msgspec.json.encode(task), _PLAN_S), type=PlanAnswer
        )
    except NoResponders:
        raise ManagementError(
            503, "unavailable", "The process archive does not run, and it alone can read what is stored",
            hint="Set backup.continuous and look at `headwater logs archive`.",
        ) from None  # fmt: skip
    if answer.is_rejected:
        return MomentPlan(problem=answer.error)
    if answer.plan is None:
        raise ManagementError(503, "unavailable", answer.error)
    return described_plan(answer.plan)


def described_plan(plan: RecoveryPlan) -> MomentPlan:
    """Return a plan as administrators see it (pure)."""
    return MomentPlan(
        target=plan.target,
        archive=plan.archive,
        base_at=plan.base_at,
        bases=plan.bases,
        base_bytes=plan.base_bytes,
        pieces=plan.pieces,
        wal_bytes=plan.wal_bytes,
        disk_bytes=plan.disk_bytes,
        objects=plan.objects,
        server_version=plan.server_version,
        migrations_after=plan.migrations_after,
        command=f"{restore_command()} --to {shlex.quote(plan.moment)} --archive {plan.archive}",
    )


async def read_state(context: OperationContext, arguments: NoArguments) -> ContinuousBackup:
    """Return what is stored, which moments can be restored, and what the last restore drill found."""
    del arguments
    drill = await asyncio.to_thread(read_drill_status, data_folder())
    return msgspec.structs.replace(await _read_stored(context), drill=drill)


async def _read_stored(context: OperationContext) -> ContinuousBackup:
    settings = context.configuration.backup
    now = time.time()
    status = await asyncio.to_thread(read_archive_status, data_folder())
    if not settings.continuous:
        return described(settings, status, now)
    if status is not None and now - status.written_at <= SILENT_S:
        return described(settings, status, now)
    try:
        text = await context.pools.metrics()
    except (
        ManagementError,
        Unavailable,
    ):  # the command line of the machine, or a broker that does not answer
        return described(settings, status, now)
    metrics = read_metrics(text, (_LAG, _BASE_AGE, _WAITING, _UP))
    if not metrics.of(_UP):
        return described(settings, status, now)
    return _from_metrics(settings, metrics, now)


def described(settings: Backup, status: ArchiveStatus | None, now: float) -> ContinuousBackup:
    """Return the state by the file of the process `archive`, None where there is none (pure).

    While continuous backup is off, moments that were stored earlier can be restored all the same.
    """
    if status is None:
        return _by_settings(settings, "silent" if settings.continuous else "off")
    lag_s = None if status.lag_s is None else round(status.lag_s + max(0.0, now - status.written_at), 1)
    return _by_settings(
        settings,
        _state(settings, status, lag_s, now),
        archive=status.archive,
        lag_s=lag_s,
        covered_until=status.covered_until,
        oldest=status.oldest,
        base_at=status.base_at,
        base_running=status.base_running,
        bases=status.bases,
        waiting_bytes=status.waiting_bytes,
        stored_bytes=status.stored_bytes,
        fault=status.fault,
        reported_at=status.written_at,
    )


def _state(settings: Backup, status: ArchiveStatus, lag_s: float | None, now: float) -> ContinuousState:
    if not settings.continuous:
        return "off"
    if now - status.written_at > SILENT_S:
        return "silent"
    if status.fault:
        return "failing"
    if status.base_at is None or lag_s is None:
        return "starting"
    return "good" if lag_s <= _longest_lag(settings) else "behind"


def _from_metrics(settings: Backup, metrics: MetricSamples, now: float) -> ContinuousBackup:
    lag_s, base_age = _figure(metrics, _LAG), _figure(metrics, _BASE_AGE)
    state: ContinuousState = "good" if (lag_s or 0.0) <= _longest_lag(settings) else "behind"
    if not metrics.total(_UP):
        state = "failing" if lag_s is not None else "starting"
    elif base_age is None:
        state = "starting"
    return _by_settings(
        settings,
        state,
        lag_s=lag_s,
        covered_until=None if lag_s is None else now - lag_s,
        base_at=None if base_age is None else now - base_age,
        waiting_bytes=round(_figure(metrics, _WAITING) or 0.0),
        is_on_this_machine=False,
    )


def _figure(metrics: MetricSamples, name: str) -> float | None:
    """Return a figure of the process `archive`, None for one that it does not know yet."""
    value = metrics.greatest(name)
    return None if value is None or math.isnan(value) else round(value, 1)


def _longest_lag(settings: Backup) -> float:
    return max(_LEAST_LAG_S, 4 * settings.interval)


def _by_settings(settings: Backup, state: ContinuousState, **values: object) -> ContinuousBackup:
    return ContinuousBackup(
        state=state,
        place=place_of(settings) if settings.continuous else "",
        interval_s=float(settings.interval),
        base_interval_s=float(settings.base_interval),
        retention_s=float(settings.retention),
        wal_limit_bytes=round(settings.wal_limit),
        command=restore_command(),
        **values,  # type: ignore[arg-type]  # names and types are those of the struct
    )


def place_of(settings: Backup) -> str:
    """Return where backups are stored, without keys (pure)."""
    match settings.backend:
        case "s3":
            return _bucket("s3", settings.s3)
        case "gcs":
            return _bucket("gcs", settings.gcs)
        case "azure":
            return _bucket("azure", settings.azure)
        case _:
            return settings.path


def _bucket(scheme: str, store: S3 | Gcs | Azure) -> str:
    name = store.container if isinstance(store, Azure) else store.bucket
    return f"{scheme}://{'/'.join(part for part in (name, store.prefix.strip('/')) if part)}"


def restore_command() -> str:
    """Return `headwater restore` with the data folder of this platform."""
    return f"headwater restore --data {shlex.quote(str(data_folder().absolute()))}"


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("backups.continuous", "What continuous backup has stored", NoArguments, ContinuousBackup, Right.READER, read_state),
        Operation("backups.plan_moment", "What a restore to a moment would give", PlannedMoment, MomentPlan, Right.READER, plan_moment),
    ]  # fmt: skip
