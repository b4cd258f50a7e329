"""Makes a backup of a running platform: a database and blobs that are consistent with each other.

    transaction --> snapshot --> pg_dump of that snapshot
         |               '-----> versions that its rows name --> their blobs
         '-- lock: the sweep deletes no bytes until everything is copied

A version of an object is never overwritten, and its bytes are stored before a row names it. So the versions that the snapshot's
rows name can be copied at any later time, as long as the sweep does not run. Requests continue meanwhile.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

from broker.blobs.store import BlobStore
from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES
from workers.backup.blob_copies import list_places, save_blobs
from workers.backup.manifest import (
    DATABASE,
    FORMAT,
    INDEX,
    MANIFEST,
    ROLES,
    BackupContents,
    BackupError,
    BackupManifest,
    BackupSetting,
    DatabaseRight,
    begin_backup,
    describe_file,
    write_manifest,
    write_safely,
)
from workers.backup.postgres_tools import run_tool
from workers.database.sessions.superuser import superuser_options
from workers.database.sessions.throwaway_logins import login_as
from workers.project.project_connection import OWNER, open_as_superuser
from workers.sql.files import read_statements

STATEMENTS = read_statements("workers.backup", "save.sql")
_WITHOUT_ROWS = (
    "storage.tus_uploads",
    "storage.s3_multipart_uploads",
    "storage.s3_multipart_uploads_parts",
    "headwater_history.*",
)
"""Unfinished uploads, whose bytes are not in the backup and which clients start again; and history, which begins anew after a restore."""


async def save(
    url: str, store: BlobStore | None, folder: Path, version: str, report: Callable[[str], None]
) -> BackupManifest:
    """Write a backup into a folder without a manifest; `url` is a superuser's.

    Raises: BackupError; the driver's errors, OSError, BlobError.
    """
    if (folder / MANIFEST).exists():
        raise BackupError(f"{folder} has a backup already: name another folder.")
    begin_backup(folder)
    async with open_as_superuser(url) as connection, login_as(connection, url, OWNER) as project:
        await connection.execute(STATEMENTS["hold_sweep"])
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            snapshot = await connection.fetchval(STATEMENTS["snapshot"])
            report("Dumping the database")
            await _write_roles(connection, folder)
            dumping = asyncio.create_task(_dump(url, snapshot, folder, connection.get_server_version()))
            try:
                blobs, size, missing = await _save_blobs(project, snapshot, store, folder, report)
            except BaseException:
                dumping.cancel()
                await asyncio.gather(dumping, return_exceptions=True)
                raise
            await dumping
            contents = await _count_contents(project, snapshot)
            manifest = await _manifest(connection, folder, version, contents, blobs, size)
    for name in missing:
        report(f"Note: the blob {name} was missing in the store already")
    write_manifest(folder, manifest)
    return manifest


async def _write_roles(connection: asyncpg.Connection, folder: Path) -> None:
    rows = await connection.fetch(STATEMENTS["roles"], sorted(PLATFORM_ROLES), list(LOGIN_PREFIXES))
    text = "".join(f"{row['statement']};\n" for row in rows)
    await asyncio.to_thread(write_safely, folder / ROLES, text.encode())


async def _dump(url: str, snapshot: str, folder: Path, version: asyncpg.ServerVersion) -> None:
    left_out = [f"--exclude-table-data={name}" for name in _WITHOUT_ROWS]
    words = ["--format=custom", f"--snapshot={snapshot}", f"--file={folder / DATABASE}", *left_out]
    await run_tool("pg_dump", url, words, options=superuser_options(version.major * 10000))


async def _save_blobs(
    project: asyncpg.Connection,
    snapshot: str,
    store: BlobStore | None,
    folder: Path,
    report: Callable[[str], None],
) -> tuple[int, int, list[str]]:
    if store is None:
        (folder / INDEX).write_bytes(b"")
        return 0, 0, []
    async with project.transaction(isolation="repeatable_read", readonly=True):
        await project.execute(f"set transaction snapshot '{snapshot}'")
        rows = await project.fetch(STATEMENTS["versions"])
    places = await list_places(store, [(row["bucket_id"], row["version"]) for row in rows])
    report(f"Copying {len(places)} blobs")
    return await save_blobs(store, places, folder, report)


async def _count_contents(project: asyncpg.Connection, snapshot: str) -> BackupContents:
    """Return what the saved rows are, counted as role postgres in the snapshot of the dump."""
    async with project.transaction(isolation="repeatable_read", readonly=True):
        await project.execute(f"set transaction snapshot '{snapshot}'")
        [row] = await project.fetch(STATEMENTS["contents"])
    return BackupContents(**dict(row))


async def _manifest(
    connection: asyncpg.Connection,
    folder: Path,
    version: str,
    contents: BackupContents,
    blobs: int,
    size: int,
) -> BackupManifest:
    names = [name for name in (DATABASE, ROLES, INDEX) if (folder / name).exists()]
    return BackupManifest(
        format=FORMAT,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        headwater=version,
        server_version=await connection.fetchval(STATEMENTS["server"]),
        migrations={
            row["series"]: row["version"] for row in await connection.fetch(STATEMENTS["migrations"])
        },
        files={name: await asyncio.to_thread(describe_file, folder / name) for name in names},
        blobs=blobs,
        blob_bytes=size,
        contents=contents,
        owner=await connection.fetchval(STATEMENTS["owner"]),
        settings=[BackupSetting(**dict(row)) for row in await connection.fetch(STATEMENTS["settings"])],
        role_settings=[
            BackupSetting(**dict(row))
            for row in await connection.fetch(
                STATEMENTS["role_settings"], sorted(PLATFORM_ROLES), list(LOGIN_PREFIXES)
            )
        ],
        rights=[
            DatabaseRight(**dict(row))
            for row in await connection.fetch(STATEMENTS["rights"])
            if not row["role"].startswith(LOGIN_PREFIXES)
        ],
    )
