"""The applied migrations and seeds of a database, and their comparison with the folder.

`supabase_migrations.schema_migrations` and `seed_files` are the tables of the official tool, so that a project can be moved
in either direction. Source: docs/reference/platform.md, section 2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import asyncpg

from workers.project.project_folder import FOLDER, ProjectMigration, Script, StoredMigration
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "history.sql")
_LOCK = 0x68656165  # the number after the lock of the system migrations
_LOCK_S = 120.0


@dataclass(frozen=True, slots=True)
class HistoryComparison:
    """The folder compared with the history."""

    pending: list[ProjectMigration]
    """Migrations after the last applied one."""
    late: list[ProjectMigration]
    """Migrations that were never applied and are older than the last applied one."""
    missing: list[str]
    """Versions in the history without a file in the folder."""


def compare(local: Sequence[ProjectMigration], applied: Iterable[str]) -> HistoryComparison:
    """Compare the migrations of the folder with the versions of the history (pure)."""
    applied_set = set(applied)
    versions = {migration.version for migration in local}
    last = max(applied_set, default="")
    new = [migration for migration in local if migration.version not in applied_set]
    return HistoryComparison(
        pending=[migration for migration in new if migration.version > last],
        late=[migration for migration in new if migration.version < last],
        missing=sorted(applied_set - versions),
    )


def disagreement(comparison: HistoryComparison, *, include_all: bool = False) -> str | None:
    """Return why the pending migrations cannot simply be applied, and what to do; None if they can (pure)."""
    if comparison.missing:
        versions = " ".join(comparison.missing)
        return (
            f"The database has migrations that {FOLDER}/migrations has not: {', '.join(comparison.missing)}.\n"
            "Get their files (of another branch, perhaps, or by `headwater migration fetch`), or strike them from the history:\n"
            f"  headwater migration repair --status reverted {versions}"
        )
    if comparison.late and not include_all:
        names = "\n".join(f"  {FOLDER}/migrations/{migration.path.name}" for migration in comparison.late)
        return (
            f"These migrations were never applied and are older than the last one that was:\n{names}\n"
            "Give them newer numbers, or apply them all the same:\n"
            "  headwater db push --include-all"
        )
    return None


async def lock(connection: asyncpg.Connection) -> None:
    """Take the lock of this database's project, which the session holds until it closes. Raises: TimeoutError."""
    try:
        await connection.execute(_STATEMENTS["lock"], _LOCK, timeout=_LOCK_S)
    except TimeoutError:
        raise TimeoutError(
            f"another command has been applying migrations or seeds to this database for {_LOCK_S:.0f} s"
        ) from None


async def make_history(connection: asyncpg.Connection) -> None:
    """Create the tables of the history, unless they exist."""
    exists = await connection.fetchrow(_STATEMENTS["exists"])
    if exists is None or not all(exists.values()):
        await connection.execute(_STATEMENTS["make"])


async def applied_versions(connection: asyncpg.Connection) -> list[str]:
    """Return the applied versions; none without a history."""
    exists = await connection.fetchrow(_STATEMENTS["exists"])
    if exists is None or not exists["migrations"]:
        return []
    return [row["version"] for row in await connection.fetch(_STATEMENTS["applied"])]


async def applied_names(connection: asyncpg.Connection) -> dict[str, str]:
    """Return the names of the applied migrations by version."""
    exists = await connection.fetchrow(_STATEMENTS["exists"])
    if exists is None or not exists["migrations"]:
        return {}
    rows = await connection.fetch(_STATEMENTS["applied_with_names"])
    return {row["version"]: row["name"] or "" for row in rows}


async def stored_migrations(connection: asyncpg.Connection) -> list[StoredMigration]:
    """Return the applied migrations with their statements; none without a history."""
    exists = await connection.fetchrow(_STATEMENTS["exists"])
    if exists is None or not exists["migrations"]:
        return []
    rows = await connection.fetch(_STATEMENTS["stored"])
    return [StoredMigration(row["version"], row["name"] or "", row["statements"] or []) for row in rows]


async def record(connection: asyncpg.Connection, migration: ProjectMigration, statements: list[str]) -> None:
    """Record an applied migration, inside its transaction."""
    await connection.execute(_STATEMENTS["record"], migration.version, migration.name, statements)


async def mark_applied(
    connection: asyncpg.Connection, migration: ProjectMigration, statements: list[str]
) -> None:
    """Record a migration as applied without running it."""
    await connection.execute(_STATEMENTS["mark_applied"], migration.version, migration.name, statements)


async def mark_reverted(connection: asyncpg.Connection, versions: list[str]) -> None:
    """Delete versions from the history."""
    await connection.execute(_STATEMENTS["mark_reverted"], versions)


async def forget_all(connection: asyncpg.Connection) -> None:
    """Delete all migrations from the history."""
    await connection.execute(_STATEMENTS["forget_all"])


async def seed_hashes(connection: asyncpg.Connection) -> dict[str, str]:
    """Return the SHA-256 of each seed that ran by its path; none without a history."""
    exists = await connection.fetchrow(_STATEMENTS["exists"])
    if exists is None or not exists["seeds"]:
        return {}
    return {row["path"]: row["hash"] for row in await connection.fetch(_STATEMENTS["seeds"])}


async def record_seed(connection: asyncpg.Connection, seed: Script) -> None:
    """Record a seed that ran, inside its transaction."""
    await connection.execute(_STATEMENTS["record_seed"], seed.name, seed.digest)
