"""Restore a backup into a running platform: its database is replaced in one step, its blobs are written before.

Blobs come first, so that no row names one that is missing. The database is filled beside the old one, which is back as it
was if anything fails (workers/project/reset.py); meanwhile the pools answer 503. A backup of an older version is then
brought up to date; one of a newer version is refused.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from broker.blobs import BlobStore
from schemas.settings import Settings
from workers.backup.blobs import is_empty, load_blobs
from workers.backup.fill import fill_database
from workers.backup.manifest import DATABASE, BackupError, Manifest, read_index, read_manifest
from workers.backup.save import STATEMENTS
from workers.backup.tools import contents, extensions_in
from workers.database.migrate import migrate, read_migrations
from workers.database.superuser import login_as
from workers.project.door import OWNER, open_as_superuser
from workers.project.reset import replace_database

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
    await migrate(url, settings)  # the roles, on a server that has none yet
    async with open_as_superuser(url) as connection:
        _check_versions(manifest, await connection.fetchval(STATEMENTS["server"]))
        has = {row["name"] for row in await connection.fetch(STATEMENTS["extensions"])}
        if lacking := sorted(extensions_in(await contents(folder / DATABASE)) - has):
            raise BackupError(
                f"The server here lacks extensions of the backup: {', '.join(lacking)}. Install them there first "
                "(pgcrypto and the like come with the package postgresql-contrib)."
            )
        async with login_as(connection, url, OWNER) as project:
            there = not await project.fetchval(STATEMENTS["is_empty"])
    if not force and (there or (store is not None and not await is_empty(store))):
        raise BackupError(
            "This platform has tables, users or objects. Restore into a new one, or replace them with --force."
        )
    if store is None and index:
        raise BackupError("The backup has objects, and storage is switched off here: switch it on.")
    if store is not None:
        tell(f"Writing {len(index)} blobs")
        await load_blobs(store, index, folder, tell)
    tell("Restoring the database")
    await replace_database(url, partial(fill_database, url, manifest, folder, settings, tell))
    return manifest


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
