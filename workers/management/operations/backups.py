"""Operations on backups: list, make, follow, delete, and what a restore would give. A restore is a command of the machine.

The supervisor makes backups, because that needs a superuser of the database; this pool names the backup and reads how far it is
(broker/processes/backup_requests.py).
"""

import asyncio
import secrets
import shlex
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from broker.processes.backup_requests import (
    BACKUP_NAME,
    BackupRequest,
    BackupStatus,
    backup_folder,
    read_status,
    withdraw_request,
    write_request,
)
from workers.backup.manifest import (
    BLOBS,
    MANIFEST,
    BackupContents,
    BackupError,
    BackupManifest,
    read_index,
    read_manifest,
)
from workers.database.migrations.migrate import read_migrations
from workers.management.areas.requested_runs import next_run
from workers.management.areas.supervisor_requests import wait_until_taken
from workers.management.interface.backends.typed_rows import read_rows
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.management.operations.continuous_backup import restore_command
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "backups.sql")
_LONGEST_MANIFEST = 4 * 1024 * 1024
_MOST_LISTED = 1000


class BackupSummary(Struct, frozen=True):
    """A whole backup: its moment, the versions that it was made by, the bytes of its database and its objects.

    `contents`: what the saved database had; null for a backup of an older version.
    """

    name: str
    made_at: str
    headwater: str
    server_version: int
    database_bytes: int
    blobs: int
    blob_bytes: int
    contents: BackupContents | None = None


class BackupList(Struct, frozen=True):
    """Whole backups, the newest first; `schedule` is empty without one, `next_run_at` in seconds since 1970."""

    backups: list[BackupSummary]
    folder: str
    schedule: str
    kept: int
    next_run_at: float | None = None
    status: BackupStatus | None = None


class BackupReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A backup by its name."""

    name: str


class PresentContents(Struct, frozen=True):
    """What the platform has now, which a restore replaces."""

    bytes: int
    tables: int
    users: int
    objects: int
    server_version: int


class RestorePlan(Struct, frozen=True):
    """What a restore would give. `problems`: why it would be refused; `migrations`: of the platform, applied to the restored database.

    `command` restores it; it is run on the machine. Extensions of the backup are checked by that command.
    """

    backup: BackupSummary
    replaces: PresentContents
    problems: list[str]
    migrations: list[str]
    command: str


async def list_backups(context: OperationContext, arguments: NoArguments) -> BackupList:
    """Return the backups, the schedule, and the state of the one under way."""
    del arguments
    settings = context.configuration.management
    folder = backup_folder(settings)
    return BackupList(
        await asyncio.to_thread(_summaries, folder),
        str(folder),
        settings.backup_schedule,
        settings.backups_kept,
        next_run(settings.backup_schedule, "GMT") if settings.backup_schedule else None,
        await asyncio.to_thread(read_status, folder),
    )


async def create(context: OperationContext, arguments: NoArguments) -> BackupStatus:
    """Begin a backup; `backups.status` reports how far it is. Requests go on meanwhile."""
    del arguments
    folder = backup_folder(context.configuration.management)
    now = datetime.fromtimestamp(time.time(), UTC)
    request = BackupRequest(f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}")
    status = await asyncio.to_thread(read_status, folder)
    try:
        is_first = await asyncio.to_thread(write_request, folder, request)
    except OSError as error:
        raise ManagementError(409, "folder", f"{folder} cannot be written: {error.strerror}") from None
    if not is_first or (status is not None and status.state == "running"):
        if is_first:
            withdraw_request(folder)
        raise ManagementError(
            409, "backup_under_way", "A backup is under way", hint="backups.status reports it."
        )
    context.after = request
    return await _taken(folder, request.name)


async def read_progress(context: OperationContext, arguments: NoArguments) -> list[BackupStatus]:
    """Return the backup under way, or the last one; nothing if none was requested yet."""
    del arguments
    status = await asyncio.to_thread(read_status, backup_folder(context.configuration.management))
    return [status] if status else []


async def delete(context: OperationContext, arguments: BackupReference) -> Done:
    """Delete a backup."""
    folder = backup_folder(context.configuration.management)
    path = _path(folder, arguments.name)
    context.before = await asyncio.to_thread(_summary, path)
    try:
        await asyncio.to_thread(_remove, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ManagementError(409, "folder", f"The backup cannot be deleted: {reason}") from None
    return Done()


async def plan_restore(context: OperationContext, arguments: BackupReference) -> RestorePlan:
    """Check that a backup is whole and can be restored here, and say what it would replace. Nothing is changed."""
    folder = backup_folder(context.configuration.management)
    path = _path(folder, arguments.name)
    summary = await asyncio.to_thread(_summary, path)
    [present] = await read_rows(context, PresentContents, SQL["present"])
    problems, migrations = await asyncio.to_thread(_check, path, present.server_version)
    command = f"{restore_command()} {shlex.quote(str(path))} --force"
    return RestorePlan(summary, present, problems, migrations, command)


async def _taken(folder: Path, name: str) -> BackupStatus:
    """Wait until the supervisor has begun a backup and return its status. Raises: ManagementError (409)."""

    def begun() -> BackupStatus | None:
        status = read_status(folder)
        return status if status is not None and status.name == name else None

    if (status := await wait_until_taken(begun)) is not None:
        return status
    if not withdraw_request(folder) and (status := await wait_until_taken(begun)) is not None:
        return status  # it was taken at this moment
    raise ManagementError(
        409,
        "no_supervisor",
        "No supervisor makes backups here: the platform was not started by `headwater start`, or runs elsewhere",
        hint="Run `headwater backup FOLDER` on the machine of the database.",
    )


def _remove(path: Path) -> None:
    """Remove the folder of a backup, its manifest first: what is left after an error is no backup. Raises: OSError."""
    if path.is_symlink():
        raise OSError("its folder is a symbolic link")
    (path / MANIFEST).unlink()
    shutil.rmtree(path)


def _path(folder: Path, name: str) -> Path:
    """Return the folder of a backup. Raises: ManagementError (404) for a text that cannot be the name of a backup."""
    if not BACKUP_NAME.fullmatch(name) or not (folder / name / MANIFEST).is_file():
        raise not_found(f"backup {name[:80]!r}")
    return folder / name


def newest_backup(folder: Path) -> BackupSummary | None:
    """Return the newest whole backup, None without one. Reads files."""
    listed = _summaries(folder)
    return listed[0] if listed else None


def _summaries(folder: Path) -> list[BackupSummary]:
    try:
        names = sorted(
            (path.name for path in folder.iterdir() if BACKUP_NAME.fullmatch(path.name)), reverse=True
        )
    except OSError:
        return []
    listed = []
    for name in names[:_MOST_LISTED]:
        try:
            listed.append(_summary(folder / name))
        except ManagementError:
            continue  # under way, or interrupted
    return listed


def _summary(path: Path) -> BackupSummary:
    """Return what a manifest says. Raises: ManagementError (404)."""
    try:
        with (path / MANIFEST).open("rb") as file:
            manifest = msgspec.json.decode(file.read(_LONGEST_MANIFEST), type=BackupManifest)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        raise not_found(f"whole backup {path.name}") from None
    return BackupSummary(
        path.name,
        manifest.made_at,
        manifest.headwater,
        manifest.server_version,
        sum(file.size for file in manifest.files.values()),
        manifest.blobs,
        manifest.blob_bytes,
        manifest.contents,
    )


def _check(path: Path, server_version: int) -> tuple[list[str], list[str]]:
    """Return why a backup would be refused, and the migrations that it would get. Reads all of its files but the blobs."""
    try:
        manifest, index = read_manifest(path), read_index(path)
    except BackupError as error:
        return [str(error)], []
    problems = []
    lacking = sum(1 for blob in index if not _has_size(path / BLOBS / blob.name, blob.size))
    if lacking:
        problems.append(f"{lacking} of {len(index)} blobs are missing or not what was written.")
    if server_version // 10000 < manifest.server_version // 10000:
        problems.append(
            f"The backup is of Postgres {manifest.server_version // 10000}, the server here is {server_version // 10000}."
        )
    migrations = read_migrations()
    last = {
        migration.series: migration.version
        for migration in sorted(migrations, key=lambda migration: migration.version)
    }
    if any(version > last.get(series, 0) for series, version in manifest.migrations.items()):
        problems.append(f"The backup was made by a newer headwater ({manifest.headwater}).")
    missing = [
        f"{migration.series}/{migration.version:04}"
        for migration in migrations
        if migration.version > manifest.migrations.get(migration.series, 0)
    ]
    return problems, sorted(missing)


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("backups.list", "List backups", NoArguments, BackupList, reader, list_backups),
        Operation("backups.create", "Begin a backup", NoArguments, BackupStatus, developer, create, changes=True),
        Operation("backups.status", "The backup under way, or the last one", NoArguments, list[BackupStatus], reader, read_progress),
        Operation("backups.plan_restore", "What a restore would give", BackupReference, RestorePlan, reader, plan_restore),
        Operation("backups.delete", "Delete a backup", BackupReference, Done, Right.OWNER, delete, changes=True, is_confirmed=True),
    ]  # fmt: skip
