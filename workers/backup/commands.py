"""`python -P -m workers backup FOLDER` and `... restore FOLDER [--force]`, as the command line calls them.

`HEADWATER_MIGRATE_URL` is the URL of a superuser. Exit codes: 0 done, 1 failed, 2 cannot be started.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec

from broker.blobs.errors import BlobError
from broker.blobs.store import BlobStore
from broker.processes.data_folder import data_folder
from schemas.settings.tree import Settings
from workers.backup.manifest import BackupError, BackupManifest
from workers.backup.restore import restore
from workers.backup.save import save
from workers.database.migrations.migrate import MigrationError
from workers.project.errors import ProjectRejected

DONE, FAILED, REFUSED = 0, 1, 2
VERSION = "HEADWATER_VERSION"


def run(settings: Settings, environment: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run `backup` or `restore`; return the exit code."""
    url = environment.get("HEADWATER_MIGRATE_URL", "")
    if len(arguments) < 2 or not url:
        return _fail("A folder and HEADWATER_MIGRATE_URL are needed.", REFUSED)
    try:
        manifest = asyncio.run(_run(arguments, url, settings, environment.get(VERSION, "")))
    except (BackupError, ProjectRejected) as error:
        return _fail(str(error), REFUSED)
    except MigrationError as error:
        return _fail(f"The platform's schemas could not be brought up to date: {error}", FAILED)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, BlobError, OSError, TimeoutError) as error:
        return _fail(f"It failed: {str(error) or type(error).__name__}", FAILED)
    size = sum(file.size for file in manifest.files.values()) + manifest.blob_bytes
    _print(
        f"{'Saved' if arguments[0] == 'backup' else 'Restored'}: the database and {manifest.blobs} blobs, {size:,} bytes"
    )
    return DONE


async def _run(arguments: Sequence[str], url: str, settings: Settings, version: str) -> BackupManifest:
    storage = msgspec.structs.replace(
        settings.storage, staging_limit=0
    )  # the limit is for uploads of clients
    store = BlobStore.open(storage, data_folder()) if storage.enabled else None
    try:
        folder = Path(arguments[1])
        if arguments[0] == "backup":
            return await save(url, store, folder, version, _print)
        return await restore(url, store, folder, settings, force="--force" in arguments[2:], report=_print)
    finally:
        if store is not None:
            await store.close()


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fail(text: str, code: int) -> int:
    _print(text)
    return code
