"""Bring the system schemas up to date: numbered SQL files, applied once each, in order, forward only.

A series is a folder of `schemas/migrations`. Each part of a file (files.py) runs in a transaction of its own, in a session of
the role that it names; the superuser's session inserts the row in `headwater.migrations` after the last part. After an
interruption between the two, the file is run again. What settings decide (passwords, JWT settings, exposure of new tables) is
compared at every start and changed where it differs (settings_state.py).

A start with nothing to do runs one query after the one that settles its session (sessions/superuser.py), and takes no lock.
Otherwise an advisory lock lets one process at a time migrate a database, and a lock on the table of roles one process at a time
on a server; the process that waited then checks again and finds nothing to do. A history with more migrations than this program
has is left alone, because machines are upgraded one after another.

Event triggers do not fire during migrations, including those of the platform, so each part announces itself that the schema
changed (statement `mark`).
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import asyncpg

from schemas.database_logins import sharing_logins
from schemas.platform_identity import PlatformIdentity, identity_of
from schemas.settings.tree import Settings
from workers.database.migrations.files import (
    SERIES,
    MigrationError,
    MigrationPart,
    SystemMigration,
    read_migrations,
    read_superseded,
)
from workers.database.migrations.platform_claim import claim_database
from workers.database.migrations.settings_state import (
    compare_rows,
    find_changes,
    make_changes,
    read_state,
    record_decision,
    warnings_of,
)
from workers.database.sessions.superuser import FIXED, NotSuperuser, connect_as_superuser
from workers.database.sessions.throwaway_logins import UnknownRole, drop_leftover_logins, login_as
from workers.sql.files import read_statements

__all__ = ["SERIES", "MigrationError", "SystemMigration", "migrate", "read_migrations"]

OLDEST_SERVER = 15
"""The oldest major version of Postgres that the migrations run on."""
OLDEST_SAFE_SERVER = 16
"""The oldest version in which CREATEROLE cannot grant every role. In older ones, role postgres can run programs on the server."""

_STATEMENTS = read_statements("workers.database.migrations", "migrate.sql")
_COMMITS_TOGETHER = {"synchronous_commit": "off"}
"""The commits of the parts are flushed to disk together with the last transaction of a run. A crash before that loses the last
parts together with their rows in the history, and the next run applies them again."""
_LOCK = 0x68656164  # "head": any number that no other lock uses
_SEALED = "sealing_key"
"""The decision that says which keys encrypted the stored values."""
_NEEDS_SUPERUSER = (
    "The platform's migrations make event triggers, roles with REPLICATION and BYPASSRLS and their logins, which Postgres lets "
    "a superuser do alone. Name one of this database in HEADWATER_MIGRATE_URL (postgresql://supabase_admin:password@host:5432/database): "
    "it is used for migrations, backups and restores only, and the URL of the database stays as it is"
)
_QUERY_S = 30.0
_WAIT_S = 120.0
_PART_S = 120.0


class MigrationSessions:
    """The sessions of one run: the superuser's, and one for each role that a part names, opened when first needed."""

    def __init__(self, superuser: asyncpg.Connection, url: str, report: Callable[[str], None]) -> None:
        self.superuser = superuser
        self._url, self._report = url, report
        self._of_role: dict[str, asyncpg.Connection] = {}
        self._stack = contextlib.AsyncExitStack()

    async def of(self, role: str | None) -> asyncpg.Connection:
        """Return the session of a role; of the superuser for None. Raises: UnknownRole; the driver's errors."""
        if role is None:
            return self.superuser
        if role not in self._of_role:
            settings = {**FIXED, **_COMMITS_TOGETHER}
            session = login_as(self.superuser, self._url, role, settings=settings, fires_event_triggers=False)
            connection = await self._stack.enter_async_context(session)
            connection.add_log_listener(lambda _, message: _report_raised(message, self._report))
            self._of_role[role] = connection
        return self._of_role[role]

    async def close(self) -> None:
        """Close the sessions and drop their logins."""
        await self._stack.aclose()
        await self.superuser.close()


@dataclass(frozen=True, slots=True)
class Resealing:
    """The ids of the keys that encrypt stored values now, and what encrypts all of them again (workers/sealing); it returns warnings."""

    key_ids: str
    run: Callable[[MigrationSessions, Settings], Awaitable[list[str]]]


async def migrate(
    url: str,
    settings: Settings,
    migrations: list[SystemMigration] | None = None,
    report: Callable[[str], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
    resealing: Resealing | None = None,
    platform: PlatformIdentity | None = None,
) -> list[SystemMigration]:
    """Apply missing migrations and return them. `url` is a superuser's; `report` gets the notices that migrations raise,
    `warn` what the operator has to know or do. `platform` is refused while another one works with the database.

    Raises: MigrationError; asyncpg.PostgresError or OSError when the database does not answer.
    """
    all_migrations = read_migrations() if migrations is None else migrations
    connection = await _connect(url)
    sessions = MigrationSessions(connection, url, report)
    try:
        if platform is not None:
            await _prepare(connection, settings)
            await prepare_history(connection)
            key_ids = resealing.key_ids if resealing else ""
            await claim_database(connection, settings, platform, key_ids, report)
        if await _is_current(connection, all_migrations, settings, resealing):
            return []
        connection.add_log_listener(lambda _, message: _report_raised(message, report))
        await _prepare(connection, settings)
        return await bring_up_to_date(sessions, all_migrations, settings, warn, resealing)
    finally:
        await sessions.close()


async def bring_up_to_date(
    sessions: MigrationSessions,
    all_migrations: list[SystemMigration],
    settings: Settings,
    warn: Callable[[str], None] = lambda _: None,
    resealing: Resealing | None = None,
) -> list[SystemMigration]:
    """Apply missing migrations in order, then the changes that settings require; return the migrations. Raises: as `migrate`."""
    for name, value in _COMMITS_TOGETHER.items():
        await sessions.superuser.execute("select pg_catalog.set_config($1, $2, false)", name, value)
    await drop_leftover_logins(sessions.superuser)
    await prepare_history(sessions.superuser)
    missing = await unapplied(sessions.superuser, all_migrations)
    for migration in missing:
        await apply(sessions, migration)
    for warning in await _apply_settings(sessions.superuser, settings):
        warn(warning)
    if resealing is not None:
        for warning in await resealing.run(sessions, settings):
            warn(warning)
        await record_decision(sessions.superuser, _SEALED, resealing.key_ids)
    return missing


@contextlib.asynccontextmanager
async def open_for_migrations(
    url: str, settings: Settings, report: Callable[[str], None] = lambda _: None
) -> AsyncIterator[MigrationSessions]:
    """Open a superuser session that holds the database's migration lock. Raises: MigrationError, the driver's errors."""
    connection = await _connect(url)
    sessions = MigrationSessions(connection, url, report)
    try:
        await _prepare(connection, settings)
        yield sessions
    finally:
        await sessions.close()


async def prepare_history(connection: asyncpg.Connection) -> None:
    """Create the tables of the history, unless they exist."""
    await connection.execute(_STATEMENTS["make_history"], timeout=_QUERY_S)


async def applied_versions(connection: asyncpg.Connection) -> list[tuple[str, int]]:
    """Return series and version of the applied migrations; nothing without a history."""
    try:
        rows = await connection.fetch(_STATEMENTS["applied"], timeout=_QUERY_S)
    except asyncpg.UndefinedTableError:
        return []
    return [(row["series"], row["version"]) for row in rows]


async def _connect(url: str) -> asyncpg.Connection:
    try:
        return await connect_as_superuser(url)
    except NotSuperuser as error:
        raise MigrationError(f"{error}. {_NEEDS_SUPERUSER}") from None
    except TimeoutError:
        raise MigrationError("the server did not answer in time") from None
    except ValueError:  # the driver's text may contain a part of the password
        raise MigrationError(
            "the URL of the database cannot be read: it should be postgresql://role:password@host:port/database, "
            "with signs such as # / @ : in the password written as %23 %2F %40 %3A"
        ) from None


def _report_raised(message: asyncpg.PostgresLogMessage, report: Callable[[str], None]) -> None:
    """Report what a migration raises by RAISE, not the server's own notices (`does not exist, skipping`)."""
    where = str(message.as_dict().get("context") or "").partition("\n")[0]
    if where.endswith("RAISE"):
        report(str(message.as_dict()["message"]))


async def _is_current(
    connection: asyncpg.Connection,
    all_migrations: list[SystemMigration],
    settings: Settings,
    resealing: Resealing | None,
) -> bool:
    """Return whether there is nothing to do, by one query."""
    try:
        rows = await read_state(connection, settings)
    except asyncpg.UndefinedTableError:
        return False
    applied = {row["name"]: row["value"] for row in rows if row["kind"] == "migration"}
    is_clean = not any(row["kind"] == "throwaway login" for row in rows)
    sealed = {row["value"] for row in rows if (row["kind"], row["name"]) == ("decision", _SEALED)}
    is_clean = is_clean and (resealing is None or sealed == {resealing.key_ids})
    return is_clean and not _missing(applied, all_migrations) and not compare_rows(rows, settings)


async def _prepare(connection: asyncpg.Connection, settings: Settings) -> None:
    """Check the server's version and take the migration lock of this database. Raises: MigrationError."""
    if (version := connection.get_server_version().major) < OLDEST_SERVER:
        raise MigrationError(
            f"the server is Postgres {version}, and {OLDEST_SERVER} is the oldest that will do"
        )
    if version < OLDEST_SAFE_SERVER and not settings.db.trusted_project:
        raise MigrationError(
            f"the server is Postgres {version}, in which role postgres can grant itself pg_execute_server_program and so run "
            f"programs as the server's user: upgrade it to {OLDEST_SAFE_SERVER} or later, or set db.trusted_project "
            "(HEADWATER_DB_TRUSTED_PROJECT) if whoever writes the project's SQL may do everything there"
        )
    await _lock(connection)


async def _lock(connection: asyncpg.Connection) -> None:
    try:
        await connection.execute(_STATEMENTS["lock_database"], _LOCK, timeout=_WAIT_S)
    except TimeoutError:
        raise MigrationError(
            f"another process has been bringing this database up to date for {_WAIT_S:.0f} seconds"
        ) from None


async def unapplied(
    connection: asyncpg.Connection, all_migrations: Iterable[SystemMigration]
) -> list[SystemMigration]:
    """Return the migrations that were not applied yet.

    Raises: MigrationError if an applied one was changed since; asyncpg.UndefinedTableError without a history.
    """
    rows = await connection.fetch(_STATEMENTS["applied"], timeout=_QUERY_S)
    return _missing({f"{row['series']}/{row['version']}": row["checksum"] for row in rows}, all_migrations)


def _missing(applied: Mapping[str, str], all_migrations: Iterable[SystemMigration]) -> list[SystemMigration]:
    """Return the migrations that are not in `applied`, checksums by `series/version`. Raises: MigrationError."""
    missing: list[SystemMigration] = []
    superseded: dict[str, frozenset[str]] | None = None
    for migration in all_migrations:
        checksum = applied.get(f"{migration.series}/{migration.version}")
        if checksum is None:
            missing.append(migration)
        elif checksum != migration.checksum:
            superseded = read_superseded() if superseded is None else superseded
            if checksum not in superseded.get(str(migration), ()):
                raise MigrationError(
                    f"{migration} was changed after it had been applied: restore it, and add a new file"
                )
    return missing


async def apply(sessions: MigrationSessions, migration: SystemMigration) -> None:
    """Apply one migration, each part as its role, and write it down. Raises: MigrationError."""
    try:
        for part in migration.parts:
            connection = await sessions.of(part.role)
            async with connection.transaction():
                await run_part(connection, part)
        await sessions.superuser.execute(
            _STATEMENTS["record"],
            migration.series,
            migration.version,
            migration.name,
            migration.checksum,
        )
    except TimeoutError:
        raise MigrationError(f"{migration} did not end within {_PART_S:.0f} seconds") from None
    except (asyncpg.PostgresError, UnknownRole) as error:
        raise MigrationError(f"{migration} failed: {error}") from error


async def run_part(connection: asyncpg.Connection, part: MigrationPart) -> None:
    """Run one part in the session of its role, inside the caller's transaction. Raises: TimeoutError, the driver's errors."""
    if part.role is None:
        await connection.execute(_STATEMENTS["lock_server"], timeout=_WAIT_S)
    await connection.execute(part.sql, timeout=_PART_S)
    await connection.execute(_STATEMENTS["mark"])


async def _apply_settings(connection: asyncpg.Connection, settings: Settings) -> list[str]:
    """Apply what the settings decide about the database; return warnings."""
    async with connection.transaction():
        await connection.execute(_STATEMENTS["lock_server"], timeout=_WAIT_S)
        changes = await find_changes(connection, settings)
        await make_changes(connection, changes)
        await connection.execute(_STATEMENTS["mark"])
        await connection.execute(_STATEMENTS["write_to_disk"])
    return warnings_of(changes)


def _print_notice(text: str) -> None:
    print(f"notice: {text}")


def _print_warning(text: str) -> None:
    """Print a warning as the supervisor shows it at a start (`services/supervisor/processes/log_files.py`)."""
    print(json.dumps({"level": "warning", "event": text}), flush=True)


def _print_upgrade(older: str, applied: list[SystemMigration]) -> None:
    """Print what an upgrade did, as the supervisor shows it at a start."""
    ran = f"these migrations ran: {', '.join(map(str, applied))}" if applied else "no migration was needed"
    print(json.dumps({"level": "notice", "event": f"Upgraded from {older}: {ran}"}), flush=True)


def run(settings: Settings, environment: Mapping[str, str], resealing: Resealing | None = None) -> int:
    """Migrate the database of the settings; return the exit code: 0, or 1 or 2 with a sentence on stderr."""
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    if not url:
        print("headwater: migrate needs HEADWATER_MIGRATE_URL or HEADWATER_DB_URL", file=sys.stderr)
        return 2
    # The embedded database, for which alone there is this variable, belongs to one data folder and needs no claim.
    platform = None if environment.get("HEADWATER_PROJECT_URL") else identity_of(environment)
    try:
        applied = asyncio.run(
            migrate(
                url,
                settings,
                report=_print_notice,
                warn=_print_warning,
                resealing=resealing,
                platform=platform,
            )
        )
    except (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        print(f"headwater: the database could not be brought up to date: {error}", file=sys.stderr)
        return 1
    if shared := sharing_logins(settings):
        print(
            f"headwater: {', '.join(shared)} have the password of another login of the database, so whoever knows one opens "
            'them all: give each its own (docs/operations.md, "Many machines")',
            file=sys.stderr,
        )
    if older := environment.get("HEADWATER_UPGRADED_FROM"):
        _print_upgrade(older, applied)
    if applied:
        print(f"applied {len(applied)} system migrations, up to {applied[-1]}")
    return 0
