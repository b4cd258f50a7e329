"""Bring a database up to a project folder: roles, migrations that are pending, seeds.

    roles.sql  -->  migrations in the order of their names  -->  seeds that never ran
    (new databases)  (one transaction each, with its row)        (one transaction each, with path and SHA-256)

Before all of them the secrets of `[db.vault]` are put into the vault (vault.py).
A file that fails ends the work; what was applied before it stays, and is told.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from workers.project import history
from workers.project.apply import Door, run_script
from workers.project.errors import Refused
from workers.project.folder import Migration, Script, read_migrations, read_roles, read_seeds
from workers.project.history import Comparison
from workers.project.vault import fill_vault

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Local:
    """What the folder holds, and what its reader should know."""

    migrations: Sequence[Migration]
    seeds: Sequence[Script]
    roles: Script | None
    notices: Sequence[str] = field(default=())
    secrets: Mapping[str, Secret] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to bring into a database."""
        return not (self.migrations or self.seeds or self.roles or self.secrets)


def read_local(folder: Path, settings: Settings) -> Local:
    """Read the folder as far as the settings want it. Raises: Refused."""
    migrations, notices = read_migrations(folder) if settings.db.migrations.enabled else ([], [])
    seeds, more = read_seeds(folder, settings.db.seed.sql_paths) if settings.db.seed.enabled else ([], [])
    return Local(migrations, seeds, read_roles(folder), [*notices, *more], settings.db.vault)


async def start_project(door: Door, local: Local, tell: Tell, warn: Tell, *, with_seeds: bool) -> None:
    """Bring a database up at the start of a platform. Where history and folder disagree, that is told and nothing runs.

    Raises: ProjectError for a file that fails.
    """
    for notice in local.notices:
        warn(notice)
    if local.is_empty:
        return
    await fill_vault(door, local.secrets, tell, warn)
    applied = await history.applied_versions(door.connection)
    hashes = await history.seed_hashes(door.connection)
    found = history.compare(local.migrations, applied)
    seeds = [seed for seed in local.seeds if seed.name not in hashes] if with_seeds else []
    if reason := history.disagreement(found):
        warn(f"No migration was applied. {reason}")
        return
    if local.roles and not applied:
        await apply_roles(door, local.roles, tell)
    if found.pending or seeds:
        await history.lock(door.connection)
        await history.make_history(door.connection)
        found = history.compare(local.migrations, await history.applied_versions(door.connection))
        await apply_migrations(door, found.pending, tell)
        await apply_seeds(door, seeds, tell)


async def push(
    door: Door,
    local: Local,
    tell: Tell,
    *,
    include_all: bool,
    seeds: bool,
    roles: bool,
    up_to: str | None = None,
) -> int:
    """Apply what is pending; give how many files ran. Raises: ProjectError."""
    await history.lock(door.connection)
    found = history.compare(local.migrations, await history.applied_versions(door.connection))
    if reason := history.disagreement(found, include_all=include_all):
        raise Refused(reason)
    pending = planned(found, up_to)
    await history.make_history(door.connection)
    await fill_vault(door, local.secrets, tell, tell)
    if roles and local.roles:
        await apply_roles(door, local.roles, tell)
    await apply_migrations(door, pending, tell)
    ran = 0
    if seeds:
        hashes = await history.seed_hashes(door.connection)
        ran = await apply_seeds(door, [seed for seed in local.seeds if seed.name not in hashes], tell)
    return len(pending) + ran


def planned(found: Comparison, up_to: str | None = None) -> list[Migration]:
    """Give what is to be applied, in order, up to a version (pure)."""
    wanted = sorted([*found.late, *found.pending], key=lambda each: each.path.name)
    return [each for each in wanted if up_to is None or each.version <= up_to]


async def apply_roles(door: Door, roles: Script, tell: Tell) -> None:
    """Run roles.sql; roles belong to the whole server, so those that exist stay as they are. Raises: ProjectError."""

    async def nothing(_: list[str]) -> None:
        """Roles are not recorded."""

    await run_script(door, roles, nothing, keep_roles=True)
    tell(f"Roles of {roles.name} are there")


async def apply_migrations(
    door: Door, migrations: Sequence[Migration], tell: Tell, *, keep_roles: bool = False
) -> None:
    """Apply migrations, each with its row of the history. Raises: ProjectError."""
    for migration in migrations:

        async def write(texts: list[str], migration: Migration = migration) -> None:
            await history.record(door.connection, migration, texts)

        script = migration.script()
        await run_script(door, script, write, keep_roles=keep_roles)
        tell(f"Applied {script.name}")
    await door.clear()


async def apply_seeds(door: Door, seeds: Sequence[Script], tell: Tell) -> int:
    """Run seeds, each with its row; give how many. Raises: ProjectError."""
    for seed in seeds:

        async def write(_: list[str], seed: Script = seed) -> None:
            await history.record_seed(door.connection, seed)

        await run_script(door, seed, write)
        tell(f"Seeded {seed.name}")
    await door.clear()
    return len(seeds)
