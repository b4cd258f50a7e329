"""`python -P -m workers recover-moment TASK`: the steps of a restore to a moment that need the archive or SQL.

The task is JSON (schemas/recovery.py); so is the answer, on standard output. Reports go to standard error. Exit codes: 0 done, 1 failed, 2
refused.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec
from msgspec import Struct

from broker.archive.sealing import SealBroken
from broker.archive.store import ArchiveFileMissing, ArchiveStore, ArchiveStoreDown, open_archive_store
from broker.blobs.errors import BlobError
from broker.blobs.store import BlobStore
from broker.processes.data_folder import data_folder
from schemas.recovery import (
    FetchFilesTask,
    FillTask,
    ListTask,
    PlanTask,
    RecoveredFacts,
    RecoveryPlan,
    RecoveryTask,
)
from schemas.settings.backup_checks import backup_keys
from schemas.settings.tree import Settings, SettingsError
from workers.backup.continuous.archive import Archive
from workers.backup.continuous.inspection import inspect
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.object_restore import restore_functions, restore_objects
from workers.backup.continuous.recovery_files import check_room, fetch_files
from workers.backup.continuous.recovery_plan import plan_recovery
from workers.backup.continuous.row_statements import STATEMENTS
from workers.database.sessions.throwaway_logins import UnknownRole, login_as
from workers.project.errors import ProjectRejected
from workers.project.project_connection import OWNER, open_as_superuser

DONE, FAILED, REFUSED = 0, 1, 2
_NO_KEY = "backup.key (HEADWATER_BACKUP_KEY) is not set. Archives are encrypted: set it to the key that the archive was made with."


def run(settings: Settings, environment: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run a task; return the exit code."""
    try:
        task = msgspec.json.decode(arguments[0] if arguments else "", type=RecoveryTask)
        keys = backup_keys(settings.backup)
        if not keys:
            return _fail(_NO_KEY, REFUSED)
        store = open_archive_store(settings.backup)
        answer = asyncio.run(_run(task, settings, environment, store, keys))
    except msgspec.MsgspecError as error:
        return _fail(f"The task cannot be read: {error}", REFUSED)
    except (
        MomentRejected,
        SealBroken,
        ArchiveFileMissing,
        SettingsError,
        ProjectRejected,
        UnknownRole,
    ) as error:
        return _fail(_sentence(error), REFUSED)
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        ArchiveStoreDown,
        BlobError,
        OSError,
        TimeoutError,
    ) as error:
        return _fail(f"It failed: {str(error) or type(error).__name__}", FAILED)
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    return DONE


async def _run(
    task: RecoveryTask,
    settings: Settings,
    environment: Mapping[str, str],
    store: ArchiveStore,
    keys: list[bytes],
) -> Struct | Sequence[Struct]:
    match task:
        case ListTask(verify):
            return await inspect(store, keys, verify=verify, report=_print)
        case PlanTask(moment, archive):
            return (await plan_recovery(store, keys, moment, archive)).plan
        case FetchFilesTask():
            return await _fetch(store, keys, task)
        case FillTask(archive, until):
            url = environment.get("HEADWATER_MIGRATE_URL", "")
            return await _fill(Archive(store, keys, archive), until, settings, url)


async def _fetch(store: ArchiveStore, keys: list[bytes], task: FetchFilesTask) -> RecoveryPlan:
    files = await plan_recovery(store, keys, task.moment, task.archive)
    folder = Path(task.folder)
    check_room(files, folder)
    await fetch_files(files, folder, _print, task.combine)
    base = files.base
    return msgspec.structs.replace(files.plan, vault_key=base.vault_key, sealing_key=base.sealing_key)


async def _fill(archive: Archive, until: float, settings: Settings, url: str) -> RecoveredFacts:
    """Fill the blob store of a recovered database; functions only where the store belongs to it alone."""
    storage = msgspec.structs.replace(settings.storage, staging_limit=0)
    store = BlobStore.open(storage, data_folder()) if storage.enabled else None
    try:
        async with open_as_superuser(url) as connection, login_as(connection, url, OWNER) as owner:
            objects, written, missing, functions = 0, 0, list[str](), 0
            if store is not None:
                await store.check()
                objects, written, missing = await restore_objects(archive, store, owner, _print)
                if settings.storage.backend == "file" and not Path(settings.storage.path).is_absolute():
                    functions = await restore_functions(archive, store, until)
            (counts,) = await owner.fetch(STATEMENTS["counts"])
            return RecoveredFacts(objects, written, missing, functions, counts["tables"], counts["users"])
    finally:
        if store is not None:
            await store.close()


def _sentence(error: Exception) -> str:
    if isinstance(error, ArchiveFileMissing):
        return f"The archive is damaged: {error} is missing."
    return str(error) if isinstance(error, MomentRejected) else f"The archive cannot be used: {error}."


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fail(text: str, code: int) -> int:
    _print(text)
    return code
