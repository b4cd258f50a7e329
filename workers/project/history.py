"""Which migrations and seeds a database has, and how that compares with the folder.

`supabase_migrations.schema_migrations` and `seed_files` are those of the official tool, so that a project may be moved
in either direction. Source: reference page "platform", section 2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import asyncpg

from workers.project.folder import FOLDER, Migration, Script
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.project", "history.sql")
_LOCK = 0x68656165  # the next after that of the system migrations
_LOCK_S = 120.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The folder against the history."""

    pending: list[Migration]
    """Those after the last one applied."""
    late: list[Migration]
    """Those that were never applied and are older than the last one applied."""
    missing: list[str]
    """Versions that the database has and the folder has not."""


def compare(local: Sequence[Migration], applied: Iterable[str]) -> Comparison:
    """Compare the migrations of the folder with the versions of the history (pure)."""
    there = set(applied)
    known = {migration.version for migration in local}
    last = max(there, default="")
    new = [migration for migration in local if migration.version not in there]
    return Comparison(
        pending=[migration for migration in new if migration.version > last],
        late=[migration for migration in new if migration.version < last],
        missing=sorted(there - known),
    )


def disagreement(found: Comparison, *, include_all: bool = False) -> str | None:
    """Say why the pending migrations must not simply be applied, and what to do; None if they may (pure)."""
    if found.missing:
        versions = " ".join(found.missing)
        return (
            f"The database has migrations that {FOLDER}/migrations has not: {', '.join(found.missing)}.\n"
            "Get their files (of another branch, perhaps), or strike them from the history:\n"
            f"  headwater migration repair --status reverted {versions}"
        )
    if found.late and not include_all:
        names = "\n".join(f"  {FOLDER}/migrations/{each.path.name}" for each in found.late)
        return (
            f"These migrations were never applied and are older than the last one that was:\n{names}\n"
            "Give them newer numbers, or apply them all the same:\n"
            "  headwater db push --include-all"
        )
    return None


async def lock(connection: asyncpg.Connection) -> None:
    """Wait until nobody else works on this database's project. Raises: TimeoutError."""
    await connection.execute(_STATEMENTS["lock"], _LOCK, timeout=_LOCK_S)


async def make_history(connection: asyncpg.Connection) -> None:
    """Make the tables where they are missing."""
    there = await connection.fetchrow(_STATEMENTS["exists"])
    if there is None or not all(there.values()):
        await connection.execute(_STATEMENTS["make"])


async def applied_versions(connection: asyncpg.Connection) -> list[str]:
    """Give the versions that the database has; none where there is no history."""
    there = await connection.fetchrow(_STATEMENTS["exists"])
    if there is None or not there["migrations"]:
        return []
    return [row["version"] for row in await connection.fetch(_STATEMENTS["applied"])]


async def applied_names(connection: asyncpg.Connection) -> dict[str, str]:
    """Give the names of the applied migrations by their version."""
    there = await connection.fetchrow(_STATEMENTS["exists"])
    if there is None or not there["migrations"]:
        return {}
    rows = await connection.fetch(_STATEMENTS["applied_with_names"])
    return {row["version"]: row["name"] or "" for row in rows}


async def record(connection: asyncpg.Connection, migration: Migration, statements: list[str]) -> None:
    """Write down that a migration was applied, inside its transaction."""
    await connection.execute(_STATEMENTS["record"], migration.version, migration.name, statements)


async def mark_applied(connection: asyncpg.Connection, migration: Migration, statements: list[str]) -> None:
    """Write down a migration as applied without running it."""
    await connection.execute(_STATEMENTS["mark_applied"], migration.version, migration.name, statements)


async def mark_reverted(connection: asyncpg.Connection, versions: list[str]) -> None:
    """Strike versions from the history."""
    await connection.execute(_STATEMENTS["mark_reverted"], versions)


async def forget_all(connection: asyncpg.Connection) -> None:
    """Strike everything from the history."""
    await connection.execute(_STATEMENTS["forget_all"])


async def seed_hashes(connection: asyncpg.Connection) -> dict[str, str]:
    """Give the SHA-256 of each seed that ran, by its path; none where there is no history."""
    there = await connection.fetchrow(_STATEMENTS["exists"])
    if there is None or not there["seeds"]:
        return {}
    return {row["path"]: row["hash"] for row in await connection.fetch(_STATEMENTS["seeds"])}


async def record_seed(connection: asyncpg.Connection, seed: Script) -> None:
    """Write down that a seed ran, inside its transaction."""
    await connection.execute(_STATEMENTS["record_seed"], seed.name, seed.digest)
