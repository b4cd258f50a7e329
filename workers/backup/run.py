"""`python -P -m workers backup FOLDER` and `... restore FOLDER [--force]`, as the command line calls them.

The URL of a superuser comes as `HEADWATER_MIGRATE_URL`. Exit codes: 0 done, 1 it failed, 2 it cannot be begun.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec

from broker.blobs.errors import BlobError
from broker.blobs.store import BlobStore
from broker.processes.lifecycle import data_folder
from schemas.settings.tree import Settings
from workers.backup.manifest import BackupError, Manifest
from workers.backup.restore import restore
from workers.backup.save import save
from workers.database.migrate import MigrationError
from workers.project.errors import Refused

DONE, FAILED, REFUSED = 0, 1, 2
VERSION = "HEADWATER_VERSION"


def run(settings: Settings, environment: Mapping[str, str], words: Sequence[str]) -> int:
    """Do what the words say; give the exit code."""
    url = environment.get("HEADWATER_MIGRATE_URL", "")
    if len(words) < 2 or not url:
        return _refuse("A folder and HEADWATER_MIGRATE_URL are needed.", REFUSED)
    try:
        manifest = asyncio.run(_do(words, url, settings, environment.get(VERSION, "")))
    except (BackupError, Refused) as error:
        return _refuse(str(error), REFUSED)
    except MigrationError as error:
        return _refuse(f"The platform's schemas could not be brought up to date: {error}", FAILED)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, BlobError, OSError, TimeoutError) as error:
        return _refuse(f"It failed: {error}", FAILED)
    size = sum(file.size for file in manifest.files.values()) + manifest.blob_bytes
    _tell(
        f"{'Saved' if words[0] == 'backup' else 'Restored'}: the database and {manifest.blobs} blobs, {size:,} bytes"
    )
    return DONE


async def _do(words: Sequence[str], url: str, settings: Settings, version: str) -> Manifest:
    storage = msgspec.structs.replace(settings.storage, staging_limit=0)  # it is for uploads of clients
    store = BlobStore.open(storage, data_folder()) if storage.enabled else None
    try:
        folder = Path(words[1])
        if words[0] == "backup":
            return await save(url, store, folder, version, _tell)
        return await restore(url, store, folder, settings, force="--force" in words[2:], tell=_tell)
    finally:
        if store is not None:
            await store.close()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _refuse(text: str, code: int) -> int:
    _tell(text)
    return code
