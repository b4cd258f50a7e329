"""Bring the system schemas up to date: numbered SQL files, applied once each, in order, forward only.

A series is a folder of `schemas/migrations`; files of a series have numbers without gaps. Each runs in a transaction of
its own together with its row in `headwater.migrations`. An advisory lock lets two processes start at once: the second
waits and finds nothing to do. What settings decide (passwords, JWT settings, exposure of new tables) is compared at
every start and changed where it differs.
"""

import asyncio
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import asyncpg

from schemas.settings import Settings
from workers.database.assertions import assert_settings

SERIES = ("roles", "platform", "auth", "storage", "realtime", "graphql")
"""The series in the order in which they are applied."""

_LOCK = 0x68656164  # "head": any number that nobody else takes
_CONNECT_S = 30.0
_FILE_S = 120.0

_HISTORY = """
create schema if not exists headwater;
create table if not exists headwater.migrations (
  series text not null,
  version int not null,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now(),
  primary key (series, version)
);
revoke all on schema headwater from public;
"""


class MigrationError(Exception):
    """The database cannot be brought up to date: which file, and why."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of a series."""

    series: str
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.series}/{self.version:04}_{self.name}"


def read_migrations() -> list[Migration]:
    """Give all migrations in the order in which they are applied. Raises: MigrationError for a gap in the numbers."""
    found: list[Migration] = []
    for series in SERIES:
        folder = resources.files("schemas").joinpath("migrations", series)
        files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
        for expected, file in enumerate(files, start=1):
            number, _, name = file.removesuffix(".sql").partition("_")
            if not number.isdigit() or int(number) != expected:
                raise MigrationError(f"{series}/{file} should have the number {expected:04}")
            found.append(Migration(series, expected, name, folder.joinpath(file).read_text()))
    return found


async def migrate(url: str, settings: Settings, migrations: list[Migration] | None = None) -> list[Migration]:
    """Apply what is missing and give it. `url` is that of a superuser.

    Raises: MigrationError; asyncpg.PostgresError or OSError when the database does not answer.
    """
    known = read_migrations() if migrations is None else migrations
    connection = await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
    try:
        await connection.execute("select pg_catalog.pg_advisory_lock($1)", _LOCK, timeout=_FILE_S)
        applied = await _apply_missing(connection, known)
        await assert_settings(connection, settings)
    finally:
        await connection.close()
    return applied


async def _apply_missing(connection: asyncpg.Connection, known: list[Migration]) -> list[Migration]:
    if await connection.fetchval("select pg_catalog.to_regclass('headwater.migrations')") is None:
        await connection.execute(_HISTORY)
    rows = await connection.fetch("select series, version, checksum from headwater.migrations")
    done = {(row["series"], row["version"]): row["checksum"] for row in rows}
    applied = []
    for migration in known:
        checksum = done.get((migration.series, migration.version))
        if checksum is None:
            await _apply(connection, migration)
            applied.append(migration)
        elif checksum != migration.checksum:
            raise MigrationError(
                f"{migration} was changed after it had been applied: restore it, and add a new file"
            )
    return applied


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute("set local search_path = ''; set local client_min_messages = warning")
            await connection.execute(migration.sql, timeout=_FILE_S)
            await connection.execute("reset search_path")
            await connection.execute(
                "insert into headwater.migrations (series, version, name, checksum) values ($1, $2, $3, $4)",
                migration.series,
                migration.version,
                migration.name,
                migration.checksum,
            )
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{migration} failed: {error}") from error


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Bring the database of the settings up to date; give the exit code: 0, or 1 with a sentence on stderr."""
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    if not url:
        print("headwater: migrate needs HEADWATER_MIGRATE_URL or DATABASE_URL", file=sys.stderr)
        return 2
    try:
        applied = asyncio.run(migrate(url, settings))
    except (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        print(f"headwater: the database could not be brought up to date: {error}", file=sys.stderr)
        return 1
    if applied:
        print(f"applied {len(applied)} system migrations, up to {applied[-1]}")
    return 0
