"""Applies a project folder to a database: roles, pending migrations, seeds.

    roles.sql  -->  migrations in the order of their names  -->  seeds that never ran
    (new databases)  (one transaction each, with its row)        (one transaction each, with path and SHA-256)

Before all of them the secrets of `[db.vault]` are stored in the vault (vault_secrets.py).
The first file that fails stops the run; what was applied before it stays, and has been reported.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from workers.project import history
from workers.project.errors import ProjectRejected
from workers.project.history import HistoryComparison
from workers.project.project_folder import ProjectMigration, Script, read_migrations, read_roles, read_seeds
from workers.project.script_runner import ProjectConnection, run_script
from workers.project.vault_secrets import fill_vault

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files of a project folder, with notices about skipped ones."""

    migrations: Sequence[ProjectMigration]
    seeds: Sequence[Script]
    roles: Script | None
    notices: Sequence[str] = field(default=())
    secrets: Mapping[str, Secret] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to apply to a database."""
        return not (self.migrations or self.seeds or self.roles or self.secrets)


def read_project_files(folder: Path, settings: Settings) -> ProjectFiles:
    """Read the folder, as far as the settings enable it. Raises: ProjectRejected."""
    migrations, notices = read_migrations(folder) if settings.db.migrations.enabled else ([], [])
    seeds, more = read_seeds(folder, settings.db.seed.sql_paths) if settings.db.seed.enabled else ([], [])
    return ProjectFiles(migrations, seeds, read_roles(folder), [*notices, *more], settings.db.vault)


async def start_project(
    project: ProjectConnection, files: ProjectFiles, report: Report, warn: Report, *, with_seeds: bool
) -> None:
    """Apply a project at the start of a platform. If history and folder disagree, warn and apply nothing.

    Raises: ProjectError for a file that fails.
    """
    for notice in files.notices:
        warn(notice)
    if files.is_empty:
        return
    await fill_vault(project, files.secrets, report, warn)
    applied = await history.applied_versions(project.connection)
    hashes = await history.seed_hashes(project.connection)
    comparison = history.compare(files.migrations, applied)
    seeds = [seed for seed in files.seeds if seed.name not in hashes] if with_seeds else []
    if reason := history.disagreement(comparison):
        warn(f"No migration was applied. {reason}")
        return
    if files.roles and not applied:
        await apply_roles(project, files.roles, report)
    if comparison.pending or seeds:
        await history.lock(project.connection)
        await history.make_history(project.connection)
        comparison = history.compare(files.migrations, await history.applied_versions(project.connection))
        await apply_migrations(project, comparison.pending, report)
        await apply_seeds(project, seeds, report)


async def push(
    project: ProjectConnection,
    files: ProjectFiles,
    report: Report,
    *,
    include_all: bool,
    seeds: bool,
    roles: bool,
    up_to: str | None = None,
) -> int:
    """Apply pending files; return how many ran. Raises: ProjectError."""
    await history.lock(project.connection)
    comparison = history.compare(files.migrations, await history.applied_versions(project.connection))
    if reason := history.disagreement(comparison, include_all=include_all):
        raise ProjectRejected(reason)
    pending = planned_migrations(comparison, up_to)
    await history.make_history(project.connection)
    await fill_vault(project, files.secrets, report, report)
    if roles and files.roles:
        await apply_roles(project, files.roles, report)
    await apply_migrations(project, pending, report)
    ran = 0
    if seeds:
        hashes = await history.seed_hashes(project.connection)
        ran = await apply_seeds(project, [seed for seed in files.seeds if seed.name not in hashes], report)
    return len(pending) + ran


def planned_migrations(comparison: HistoryComparison, up_to: str | None = None) -> list[ProjectMigration]:
    """Return the migrations to apply, in order, up to a version (pure)."""
    migrations = sorted([*comparison.late, *comparison.pending], key=lambda migration: migration.path.name)
    return [migration for migration in migrations if up_to is None or migration.version <= up_to]


async def apply_roles(project: ProjectConnection, roles: Script, report: Report) -> None:
    """Run roles.sql. Roles belong to the whole server, so existing ones stay as they are. Raises: ProjectError."""

    async def record_nothing(_: list[str]) -> None:
        """Roles are not recorded."""

    await run_script(project, roles, record_nothing, keep_roles=True)
    report(f"Roles of {roles.name} are there")


async def apply_migrations(
    project: ProjectConnection,
    migrations: Sequence[ProjectMigration],
    report: Report,
    *,
    keep_roles: bool = False,
) -> None:
    """Apply migrations, each with its row in the history. Raises: ProjectError."""
    for migration in migrations:

        async def write(texts: list[str], migration: ProjectMigration = migration) -> None:
            await history.record(project.connection, migration, texts)

        script = migration.script()
        await run_script(project, script, write, keep_roles=keep_roles)
        report(f"Applied {script.name}")
    await project.reset()


async def apply_seeds(project: ProjectConnection, seeds: Sequence[Script], report: Report) -> int:
    """Run seeds, each with its row in the history; return how many. Raises: ProjectError."""
    for seed in seeds:

        async def write(_: list[str], seed: Script = seed) -> None:
            await history.record_seed(project.connection, seed)

        await run_script(project, seed, write)
        report(f"Seeded {seed.name}")
    await project.reset()
    return len(seeds)
