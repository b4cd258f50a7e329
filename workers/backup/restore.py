"""Restores a backup into a running platform: first the blobs, then the database, exchanged in one transaction.

    blobs of versions (immutable) --> database beside the old one --> mutable blobs of functions --> exchange

Versions of objects have unique names, so no row of the old database refers to one; a lock keeps the sweep from deleting them as
orphans meanwhile. The database is filled beside the old one, which serves requests until both are exchanged
(workers/project/replace_database.py). So a restore that fails or is killed leaves the old platform complete, and a repeated one
skips the blobs that already exist. The records of functions (which version runs, secrets) are the only blobs that are
overwritten: a kill between them and the exchange leaves the functions of the backup beside the old database until the restore is
repeated. A backup of an older version is migrated; one of a newer version is rejected.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

import asyncpg

from broker.blobs.store import BlobStore
from schemas.settings.tree import Settings
from workers.backup.blob_copies import is_empty, is_mutable, load_blobs
from workers.backup.fill_database import fill_database
from workers.backup.manifest import DATABASE, BackupError, BackupManifest, read_index, read_manifest
from workers.backup.postgres_tools import extensions_in, list_entries
from workers.backup.save import STATEMENTS
from workers.database.migrations.migrate import migrate, read_migrations
from workers.database.sessions.throwaway_logins import login_as
from workers.project.carried_rows import carry_rows
from workers.project.project_connection import OWNER, open_as_superuser
from workers.project.replace_database import recover, replace_beside

Report = Callable[[str], None]


async def restore(
    url: str, store: BlobStore | None, folder: Path, settings: Settings, *, force: bool, report: Report
) -> BackupManifest:
    """Replace the database and the blobs by a backup's; `url` is a superuser's.

    Raises: before anything is changed, BackupError for a backup that is damaged or too new, and without `force` for a platform
    that is not empty; later the driver's errors, BlobError, MigrationError.
    """
    report("Looking through the backup")
    manifest, index = read_manifest(folder), read_index(folder)
    if store is None and index:
        raise BackupError("The backup has objects, and storage is switched off here: switch it on.")
    await recover(url)  # removes what a killed restore or reset left
    await migrate(url, settings)  # creates the roles on a new server
    async with contextlib.AsyncExitStack() as stack:
        connection = await stack.enter_async_context(open_as_superuser(url))
        await _check(connection, manifest, folder)
        async with login_as(connection, url, OWNER) as project:
            has_content = not await project.fetchval(STATEMENTS["is_empty"])
        if not force and (has_content or (store is not None and not await is_empty(store))):
            raise BackupError(
                "This platform has tables, users or objects. Restore into a new one, or replace them with --force."
            )
        await connection.execute(STATEMENTS["hold_sweep"])
        if store is not None:
            report(f"Writing {len(index)} blobs")
            await load_blobs(store, [blob for blob in index if not is_mutable(blob)], folder, report)

        async def fill(new: str) -> None:
            await fill_database(new, manifest, folder, settings, report)
            if store is not None:
                await load_blobs(store, [blob for blob in index if is_mutable(blob)], folder, report)
            await carry_rows(url, new)
            await stack.aclose()  # the exchange ends all sessions of the old database

        await replace_beside(url, fill, report)
    return manifest


async def _check(connection: asyncpg.Connection, manifest: BackupManifest, folder: Path) -> None:
    """Check that this server can take the backup. Raises: BackupError."""
    _check_versions(manifest, await connection.fetchval(STATEMENTS["server"]))
    has = {row["name"] for row in await connection.fetch(STATEMENTS["extensions"])}
    if lacking := sorted(extensions_in(await list_entries(folder / DATABASE)) - has):
        raise BackupError(
            f"The server here lacks extensions of the backup: {', '.join(lacking)}. Install them there first "
            "(pgcrypto and the like come with the package postgresql-contrib)."
        )


def _check_versions(manifest: BackupManifest, server: int) -> None:
    last: dict[str, int] = {}
    for migration in read_migrations():
        last[migration.series] = max(last.get(migration.series, 0), migration.version)
    newer = [name for name, version in manifest.migrations.items() if version > last.get(name, 0)]
    if newer:
        raise BackupError(
            f"The backup was made by a newer headwater ({manifest.headwater}): install that version, or a newer one."
        )
    if server // 10000 < manifest.server_version // 10000:
        raise BackupError(
            f"The backup is of Postgres {manifest.server_version // 10000}, the server here is {server // 10000}: "
            "restore into that version or a newer one."
        )
