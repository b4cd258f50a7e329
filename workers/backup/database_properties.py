"""Restores properties of the database and of roles from a manifest: owner, rights, settings.

The manifest may have been manipulated: names are quoted, only three privileges are accepted, and settings are stored as role
postgres.
"""

from collections.abc import Callable, Iterable

import asyncpg

from workers.backup.manifest import BackupManifest, BackupSetting
from workers.backup.save import STATEMENTS
from workers.project.project_connection import OWNER
from workers.sql import compose

Report = Callable[[str], None]
_NOT_RESTORED = "app.settings.jwt_secret"
"""Setting of earlier backups: the signing secret, which no database is to have."""
_RIGHTS = frozenset({"CREATE", "CONNECT", "TEMPORARY"})


async def restore_properties(
    superuser: asyncpg.Connection, project: asyncpg.Connection, manifest: BackupManifest, report: Report
) -> None:
    """Restore owner, rights and settings of the database. A superuser other than its creator does not become the owner."""
    database = compose.quoted(await superuser.fetchval("select pg_catalog.current_database()"))
    if manifest.owner and not await superuser.fetchval(STATEMENTS["is_superuser"], manifest.owner):
        await superuser.execute(f"alter database {database} owner to {compose.quoted(manifest.owner)}")
    for right in manifest.rights:
        if (
            right.role and right.privilege in _RIGHTS
        ):  # rights of PUBLIC are granted when the database is complete
            end = " with grant option" if right.may_grant else ""
            await _try(
                superuser,
                f"grant {right.privilege} on database {database} to {compose.quoted(right.role)}{end}",
                report,
            )
    for setting in manifest.settings:
        if setting.name == _NOT_RESTORED:
            continue
        target = (
            f"role {compose.quoted(setting.role)} in database {database}"
            if setting.role
            else f"database {database}"
        )
        await _set(project, target, setting, report)
    await project.execute("reset all")


async def restore_role_settings(
    project: asyncpg.Connection, settings: Iterable[BackupSetting], report: Report
) -> None:
    """Restore the settings that the project's own roles have in all databases."""
    for setting in settings:
        await _set(project, f"role {compose.quoted(setting.role)}", setting, report)
    await project.execute("reset all")


async def _set(project: asyncpg.Connection, target: str, setting: BackupSetting, report: Report) -> None:
    name = ".".join(compose.quoted(part) for part in setting.name.split("."))
    try:
        async with project.transaction():
            await project.fetchval(STATEMENTS["remember"], setting.name, setting.value)
            await project.execute(f"alter {target} set {name} from current")
    except asyncpg.PostgresError as error:
        if setting.role != OWNER:
            report(f"Note: the setting {setting.name} was not taken: {error}")


async def _try(connection: asyncpg.Connection, statement: str, report: Report) -> None:
    try:
        await connection.execute(statement)
    except asyncpg.PostgresError as error:
        report(f"Note: {error}")
