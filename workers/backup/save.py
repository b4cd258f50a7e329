"""Make a backup of a running platform: database and blobs that fit to each other.

    transaction --> snapshot --> pg_dump of that snapshot
         |               '-----> versions that its rows name --> their blobs
         '-- lock: the sweep deletes no bytes until everything is copied

A version is never overwritten, and its bytes are there before a row names it. So what the rows of the snapshot name can be
copied at any time after it, as long as nobody sweeps. Requests go on meanwhile.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

from broker.blobs.store import BlobStore
from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES
from workers.backup.blobs import places_of, save_blobs
from workers.backup.manifest import (
    DATABASE,
    FORMAT,
    INDEX,
    MANIFEST,
    ROLES,
    BackupError,
    Manifest,
    Right,
    Setting,
    begin_backup,
    file_of,
    write_manifest,
    write_safely,
)
from workers.backup.tools import run_tool
from workers.database.superuser import login_as, superuser_options
from workers.project.door import OWNER, open_as_superuser
from workers.sql.files import read_statements

STATEMENTS = read_statements("workers.backup", "save.sql")
_WITHOUT_ROWS = ("storage.tus_uploads", "storage.s3_multipart_uploads", "storage.s3_multipart_uploads_parts")
"""Uploads under way: their bytes are in no backup, and clients begin them again."""


async def save(
    url: str, store: BlobStore | None, folder: Path, version: str, tell: Callable[[str], None]
) -> Manifest:
    """Write a backup into a folder, which has no manifest yet; `url` is that of a superuser.

    Raises: BackupError; the driver's errors, OSError, BlobError.
    """
    if (folder / MANIFEST).exists():
        raise BackupError(f"{folder} has a backup already: name another folder.")
    begin_backup(folder)
    async with open_as_superuser(url) as connection, login_as(connection, url, OWNER) as project:
        await connection.execute(STATEMENTS["hold_sweep"])
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            snapshot = await connection.fetchval(STATEMENTS["snapshot"])
            tell("Dumping the database")
            await _write_roles(connection, folder)
            dumping = asyncio.create_task(_dump(url, snapshot, folder, connection.get_server_version()))
            try:
                blobs, size, missing = await _blobs(project, snapshot, store, folder, tell)
            except BaseException:
                dumping.cancel()
                await asyncio.gather(dumping, return_exceptions=True)
                raise
            await dumping
            manifest = await _manifest(connection, folder, version, blobs, size)
    for name in missing:
        tell(f"Note: the blob {name} was missing in the store already")
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


async def _blobs(
    project: asyncpg.Connection,
    snapshot: str,
    store: BlobStore | None,
    folder: Path,
    tell: Callable[[str], None],
) -> tuple[int, int, list[str]]:
    if store is None:
        (folder / INDEX).write_bytes(b"")
        return 0, 0, []
    async with project.transaction(isolation="repeatable_read", readonly=True):
        await project.execute(f"set transaction snapshot '{snapshot}'")
        rows = await project.fetch(STATEMENTS["versions"])
    places = await places_of(store, [(row["bucket_id"], row["version"]) for row in rows])
    tell(f"Copying {len(places)} blobs")
    return await save_blobs(store, places, folder, tell)


async def _manifest(
    connection: asyncpg.Connection, folder: Path, version: str, blobs: int, size: int
) -> Manifest:
    names = [name for name in (DATABASE, ROLES, INDEX) if (folder / name).exists()]
    return Manifest(
        format=FORMAT,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        headwater=version,
        server_version=await connection.fetchval(STATEMENTS["server"]),
        migrations={
            row["series"]: row["version"] for row in await connection.fetch(STATEMENTS["migrations"])
        },
        files={name: await asyncio.to_thread(file_of, folder / name) for name in names},
        blobs=blobs,
        blob_bytes=size,
        owner=await connection.fetchval(STATEMENTS["owner"]),
        settings=[Setting(**dict(row)) for row in await connection.fetch(STATEMENTS["settings"])],
        role_settings=[
            Setting(**dict(row))
            for row in await connection.fetch(
                STATEMENTS["role_settings"], sorted(PLATFORM_ROLES), list(LOGIN_PREFIXES)
            )
        ],
        rights=[
            Right(**dict(row))
            for row in await connection.fetch(STATEMENTS["rights"])
            if not row["role"].startswith(LOGIN_PREFIXES)
        ],
    )
