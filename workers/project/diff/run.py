"""Compare what the migrations make with the live database, or with the declared schema, over a shadow server.

    declared schema, if any --> shadow, emptied --> snapshot          the schema that is wanted
    live database, else     ---------------------->
    migrations              --> shadow          --> snapshot          what is there
    the difference as SQL   --> shadow, rolled back                   it is tried before it is given

The shadow is a server of its own: roles and settings of the live one are never touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from schemas.settings.tree import Settings
from workers.database.migrate import migrate
from workers.project import history
from workers.project.apply import Door, run_script
from workers.project.bring_up import Local, Tell, apply_migrations, apply_roles
from workers.project.diff.compare import compare
from workers.project.diff.model import Snapshot
from workers.project.diff.read import project_schemas, read_snapshot
from workers.project.door import Links, in_database, open_as_superuser, open_door
from workers.project.errors import Refused
from workers.project.folder import Script, read_declared

_DATABASE = "postgres"


@dataclass(frozen=True, slots=True)
class Difference:
    """The statements, and what was found when they were tried on what the migrations make."""

    statements: list[str]
    doubts: list[str]


async def difference(
    links: Links, settings: Settings, folder: Path, local: Local, tell: Tell,
    *, schemas: Sequence[str], against: str,
) -> Difference:  # fmt: skip
    """Give what the migrations lack. Raises: ProjectError, MigrationError, the driver's errors."""
    if not links.shadow:
        raise Refused("HEADWATER_SHADOW_URL is needed: a superuser of a server that may be emptied")
    declared, notices = read_declared(folder, settings.db.migrations.schema_paths)
    for notice in notices:
        tell(f"Note: {notice}")
    if against == "declared" and not declared:
        raise Refused(
            "This project declares no schema: supabase/schemas/*.sql, or [db.migrations] schema_paths."
        )
    if declared and against != "database":
        wanted, names = await _declared(links, settings, local, declared, schemas)
        tell("Comparing the migrations with the declared schema")
    else:
        async with open_door(links.project) as door:
            names = list(schemas) or await project_schemas(door.connection)
            wanted = await read_snapshot(door.connection, names)
        tell("Comparing the migrations with the database")
    await _empty(links.shadow, settings)
    async with open_door(in_database(links.shadow, _DATABASE)) as door:
        await _prepare(door, local)
        await apply_migrations(door, local.migrations, lambda _: None, keep_roles=True)
        seen = list(schemas) or sorted({*names, *await project_schemas(door.connection)})
        there = await read_snapshot(door.connection, seen)
        statements = compare(there, wanted)
        return Difference(statements, await _tried(door, statements, wanted, seen))


async def _declared(
    links: Links, settings: Settings, local: Local, declared: Sequence[Script], schemas: Sequence[str]
) -> tuple[Snapshot, list[str]]:
    async def nothing(_: list[str]) -> None:
        """A declared schema has no history."""

    await _empty(links.shadow, settings)
    async with open_door(in_database(links.shadow, _DATABASE)) as door:
        await _prepare(door, local)
        for script in declared:
            await run_script(door, script, nothing, keep_roles=True)
        await door.clear()
        names = list(schemas) or await project_schemas(door.connection)
        return await read_snapshot(door.connection, names), names


async def _empty(url: str, settings: Settings) -> None:
    """Make the shadow's database anew, with the platform's schemas."""
    async with open_as_superuser(in_database(url, "template1")) as aside:
        await aside.execute(f"drop database if exists {_DATABASE} with (force)")
        await aside.execute(f"create database {_DATABASE} template template0")
    await migrate(in_database(url, _DATABASE), settings)


async def _prepare(door: Door, local: Local) -> None:
    await history.make_history(door.connection)
    if local.roles:
        await apply_roles(door, local.roles, lambda _: None)


async def _tried(
    door: Door, statements: Sequence[str], wanted: Snapshot, schemas: Sequence[str]
) -> list[str]:
    """Run the statements on the shadow; give what they could not do."""
    for statement in statements:
        try:
            await door.connection.execute(statement)
        except asyncpg.PostgresError as error:
            first = statement.partition("\n")[0]
            return [f"this statement does not run as it stands: {first}\n  {error}"]
    await door.clear()
    left = compare(await read_snapshot(door.connection, schemas), wanted)
    return [f"still different afterwards: {statement.partition(chr(10))[0]}" for statement in left]
