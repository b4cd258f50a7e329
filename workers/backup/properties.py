"""What a manifest says of the database itself and of roles: owner, rights, settings.

A manifest is a file like any other: names are quoted, privileges are known words, and settings are stored as role postgres.
"""

from collections.abc import Callable, Iterable

import asyncpg

from workers.backup.manifest import Manifest, Setting
from workers.backup.save import STATEMENTS
from workers.project.door import OWNER
from workers.sql import compose

Tell = Callable[[str], None]
_RIGHTS = frozenset({"CREATE", "CONNECT", "TEMPORARY"})


async def give_properties(
    superuser: asyncpg.Connection, project: asyncpg.Connection, manifest: Manifest, tell: Tell
) -> None:
    """Give the database what belongs to itself. Whoever owns it is no superuser but the one that made it."""
    database = compose.quoted(await superuser.fetchval("select pg_catalog.current_database()"))
    if manifest.owner and not await superuser.fetchval(STATEMENTS["is_superuser"], manifest.owner):
        await superuser.execute(f"alter database {database} owner to {compose.quoted(manifest.owner)}")
    for right in manifest.rights:
        if right.role and right.privilege in _RIGHTS:  # everybody's come back when the database is whole
            end = " with grant option" if right.may_grant else ""
            await _try(
                superuser,
                f"grant {right.privilege} on database {database} to {compose.quoted(right.role)}{end}",
                tell,
            )
    for setting in manifest.settings:
        target = (
            f"role {compose.quoted(setting.role)} in database {database}"
            if setting.role
            else f"database {database}"
        )
        await _set(project, target, setting, tell)
    await project.execute("reset all")


async def give_role_settings(project: asyncpg.Connection, settings: Iterable[Setting], tell: Tell) -> None:
    """Give the project's own roles the settings that they have in all databases."""
    for setting in settings:
        await _set(project, f"role {compose.quoted(setting.role)}", setting, tell)
    await project.execute("reset all")


async def _set(project: asyncpg.Connection, target: str, setting: Setting, tell: Tell) -> None:
    name = ".".join(compose.quoted(part) for part in setting.name.split("."))
    try:
        async with project.transaction():
            await project.fetchval(STATEMENTS["remember"], setting.name, setting.value)
            await project.execute(f"alter {target} set {name} from current")
    except asyncpg.PostgresError as error:
        if setting.role != OWNER:
            tell(f"Note: the setting {setting.name} was not taken: {error}")


async def _try(connection: asyncpg.Connection, statement: str, tell: Tell) -> None:
    try:
        await connection.execute(statement)
    except asyncpg.PostgresError as error:
        tell(f"Note: {error}")
