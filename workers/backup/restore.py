"""Restore a backup into a running platform: its blobs are written first, then its database is exchanged in one transaction.

    blobs of versions (immutable) --> database beside the old one --> notes of functions --> exchange

Versions of objects are written under names of their own, so no row of the old database names one; the sweep is kept from
taking them for orphans meanwhile. The database is filled beside the old one, which serves until both are exchanged
(workers/project/replace.py). So a restore that fails or is killed leaves the old platform whole; a repeat goes on with the blobs
that are there. Notes of functions (which version runs, secrets) are the only blobs that are overwritten: a kill between them and
the exchange, a moment later, leaves the functions of the backup beside the old database until the restore is repeated.
A backup of an older version is brought up to date; one of a newer version is refused.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

import asyncpg

from broker.blobs.store import BlobStore
from schemas.settings.tree import Settings
from workers.backup.blobs import changeable, is_empty, load_blobs
from workers.backup.fill import fill_database
from workers.backup.manifest import DATABASE, BackupError, Manifest, read_index, read_manifest
from workers.backup.save import STATEMENTS
from workers.backup.tools import contents, extensions_in
from workers.database.migrate import migrate, read_migrations
from workers.database.superuser import login_as
from workers.project.door import OWNER, open_as_superuser
from workers.project.replace import recover, replace_beside

Tell = Callable[[str], None]


async def restore(
    url: str, store: BlobStore | None, folder: Path, settings: Settings, *, force: bool, tell: Tell
) -> Manifest:
    """Replace the database by that of a backup and write its blobs; `url` is that of a superuser.

    Raises: BackupError, before anything is changed: for a backup that is damaged or too new, and for a platform that has
    something, without `force`; later the driver's errors, BlobError, MigrationError.
    """
    tell("Looking through the backup")
    manifest, index = read_manifest(folder), read_index(folder)
    if store is None and index:
        raise BackupError("The backup has objects, and storage is switched off here: switch it on.")
    await recover(url)  # what a restore or reset left that was killed
    await migrate(url, settings)  # the roles, on a server that has none yet
    async with contextlib.AsyncExitStack() as stack:
        connection = await stack.enter_async_context(open_as_superuser(url))
        await _check(connection, manifest, folder)
        async with login_as(connection, url, OWNER) as project:
            there = not await project.fetchval(STATEMENTS["is_empty"])
        if not force and (there or (store is not None and not await is_empty(store))):
            raise BackupError(
                "This platform has tables, users or objects. Restore into a new one, or replace them with --force."
            )
        await connection.execute(STATEMENTS["hold_sweep"])
        if store is not None:
            tell(f"Writing {len(index)} blobs")
            await load_blobs(store, [one for one in index if not changeable(one)], folder, tell)

        async def fill(new: str) -> None:
            await fill_database(new, manifest, folder, settings, tell)
            if store is not None:
                await load_blobs(store, [one for one in index if changeable(one)], folder, tell)
            await stack.aclose()  # the exchange ends all sessions of the old database

        await replace_beside(url, fill, tell)
    return manifest


async def _check(connection: asyncpg.Connection, manifest: Manifest, folder: Path) -> None:
    """Make sure that the server here can take the backup. Raises: BackupError."""
    _check_versions(manifest, await connection.fetchval(STATEMENTS["server"]))
    has = {row["name"] for row in await connection.fetch(STATEMENTS["extensions"])}
    if lacking := sorted(extensions_in(await contents(folder / DATABASE)) - has):
        raise BackupError(
            f"The server here lacks extensions of the backup: {', '.join(lacking)}. Install them there first "
            "(pgcrypto and the like come with the package postgresql-contrib)."
        )


def _check_versions(manifest: Manifest, server: int) -> None:
    known: dict[str, int] = {}
    for each in read_migrations():
        known[each.series] = max(known.get(each.series, 0), each.version)
    newer = [name for name, version in manifest.migrations.items() if version > known.get(name, 0)]
    if newer:
        raise BackupError(
            f"The backup was made by a newer headwater ({manifest.headwater}): install that version, or a newer one."
        )
    if server // 10000 < manifest.server_version // 10000:
        raise BackupError(
            f"The backup is of Postgres {manifest.server_version // 10000}, the server here is {server // 10000}: "
            "restore into that version or a newer one."
        )
