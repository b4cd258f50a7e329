"""Restore a backup into a running platform: its database is replaced in one step, its blobs are written before.

Blobs come first, so that no row names one that is missing. The database is filled beside the old one, which is back as it
was if anything fails (workers/project/reset.py); meanwhile the pools answer 503. A backup of an older version is then
brought up to date; one of a newer version is refused.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import asyncpg

from broker.blobs import BlobStore
from schemas.settings import Settings
from workers.backup.blobs import is_empty, load_blobs
from workers.backup.manifest import DATABASE, ROLES, BackupError, Manifest, read_index, read_manifest
from workers.backup.publishing import make_by_hand, parted
from workers.backup.save import STATEMENTS
from workers.backup.tools import contents, extensions_in, run_tool
from workers.database.migrate import migrate, read_migrations
from workers.project.reset import replace_database
from workers.sql import compose

_CONNECT_S = 30.0
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
    connection = await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
    try:
        _check_versions(manifest, await connection.fetchval(STATEMENTS["server"]))
        has = {row["name"] for row in await connection.fetch(STATEMENTS["extensions"])}
        if lacking := sorted(extensions_in(await contents(folder / DATABASE)) - has):
            raise BackupError(
                f"The server here lacks extensions of the backup: {', '.join(lacking)}. Install them there first "
                "(pgcrypto and the like come with the package postgresql-contrib)."
            )
        there = not await connection.fetchval(STATEMENTS["is_empty"])
    finally:
        await connection.close()
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
    await replace_database(url, partial(_fill, url, manifest, folder, settings, tell))
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


async def _fill(url: str, manifest: Manifest, folder: Path, settings: Settings, tell: Tell) -> None:
    if (folder / ROLES).exists():
        connection = await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
        try:
            await _roles(connection, (folder / ROLES).read_text(encoding="utf-8"))
        finally:
            await connection.close()
    rest, by_hand = parted(await contents(folder / DATABASE))
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as listed:
        listed.write(rest)
        listed.flush()
        words = ["--exit-on-error", f"--use-list={listed.name}", str(folder / DATABASE)]
        await run_tool("pg_restore", url, words)
    connection = await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
    try:
        await make_by_hand(connection, folder / DATABASE, by_hand)
        await _properties(connection, manifest, tell)
    finally:
        await connection.close()
    await migrate(url, settings)


async def _roles(connection: asyncpg.Connection, text: str) -> None:
    """Make the project's own roles; those that are there stay."""
    for statement in filter(None, map(str.strip, text.split(";\n"))):
        try:
            await connection.execute(statement)
        except asyncpg.DuplicateObjectError:
            continue


async def _properties(connection: asyncpg.Connection, manifest: Manifest, tell: Tell) -> None:
    """Give the database what belongs to itself: rights, and settings for all roles or for one."""
    name = compose.quoted(await connection.fetchval("select current_database()"))
    if manifest.owner:
        await connection.execute(f"alter database {name} owner to {compose.quoted(manifest.owner)}")
    for right in manifest.rights:
        if right.role:  # everybody's come back when the database is whole
            end = " with grant option" if right.may_grant else ""
            await connection.execute(
                f"grant {right.privilege} on database {name} to {compose.quoted(right.role)}{end}"
            )
    for setting in manifest.settings:
        target = (
            f"role {compose.quoted(setting.role)} in database {name}" if setting.role else f"database {name}"
        )
        try:
            async with connection.transaction():
                await connection.fetchval(STATEMENTS["remember"], setting.name, setting.value)
                quoted = ".".join(compose.quoted(part) for part in setting.name.split("."))
                await connection.execute(f"alter {target} set {quoted} from current")
        except asyncpg.PostgresError as error:
            tell(f"Note: the setting {setting.name} was not taken: {error}")
