"""`headwater upgrade`: applies the platform's pending migrations, or tries them and rolls back (`--dry-run`).

    pending --> a transaction in the session of each role --> differences of the schema --> rollback

Parts of migrations run as different roles (files.py), so a rehearsal needs several sessions, and a session does not see what
another has not committed. A part that fails because something is missing, after a part of another session, is therefore
reported as untried; so is a part that uses an enum label which another part has just added, because Postgres requires that to
be committed first. A rehearsal takes the locks that the real run takes. It gives up after 4 s of waiting for one
(`lock_timeout`), and requests of a running platform wait for it while it holds them.
A start leaves a database alone that has newer migrations than the program (machines are upgraded one after another); an
upgrade rejects it.
"""

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from schemas.keys.sealing_keys import current_key_id
from schemas.platform_identity import PlatformIdentity, identity_of
from schemas.settings.tree import Settings
from workers.database.migrations.files import MigrationError, MigrationPart, SystemMigration, read_migrations
from workers.database.migrations.migrate import (
    MigrationSessions,
    applied_versions,
    bring_up_to_date,
    open_for_migrations,
    prepare_history,
    run_part,
    unapplied,
)
from workers.database.migrations.platform_claim import claim_database
from workers.database.migrations.settings_state import SettingsChange, find_changes, make_changes
from workers.database.sessions.throwaway_logins import UnknownRole
from workers.sql.files import read_statements

DONE, FAILED, REFUSED = 0, 1, 2
_STATEMENTS = read_statements("workers.database.migrations", "upgrade.sql")
_MISSING_OBJECT = ("42P01", "42703", "42883", "42704", "3F000", "42501")
"""SQLSTATEs for a missing relation, column, function, other object, schema or right, which an earlier part may create."""
_MARKS = (("new", "+"), ("gone", "-"), ("other", "~"))


class DatabaseTooNew(Exception):
    """The database was migrated by a newer headwater."""

    def __init__(self, series: str, there: int, here: int) -> None:
        super().__init__(
            f"The database is newer than this headwater: it has {series}/{there:04}, and the last one known here is "
            f"{series}/{here:04}. Install that version of headwater or a newer one; nothing was changed."
        )


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """Pending or applied migrations. `differences` are lines such as `+ table auth.devices`."""

    migrations: list[SystemMigration]
    settings: list[str]
    differences: list[str]
    untried: list[SystemMigration] = field(default_factory=list)
    """Migrations that need what an earlier one commits, and those after them."""
    warnings: list[str] = field(default_factory=list)
    """What the operator has to know or do after it."""


async def rehearse(
    url: str, settings: Settings, all_migrations: list[SystemMigration] | None = None
) -> UpgradeReport:
    """Try the missing migrations in transactions that are rolled back. Raises: DatabaseTooNew, MigrationError, the driver's errors."""
    all_migrations = read_migrations() if all_migrations is None else all_migrations
    async with open_for_migrations(url, settings) as sessions:
        missing = await _missing(sessions.superuser, all_migrations)
        rehearsal = _Rehearsal(missing)
        # A login that is not committed cannot log in, so all of them are created before the first transaction.
        for role in dict.fromkeys(part.role for migration in missing for part in migration.parts):
            with contextlib.suppress(UnknownRole):  # one of the migrations creates it
                await sessions.of(role)
        changes = await _try_in_turn(sessions, rehearsal, settings)
        untried = [migration for migration in missing if migration in rehearsal.untried]
        return UpgradeReport(
            missing, sorted({change.name for change in changes}), _sorted(rehearsal.differences), untried
        )


async def upgrade(
    url: str,
    settings: Settings,
    all_migrations: list[SystemMigration] | None = None,
    platform: PlatformIdentity | None = None,
) -> UpgradeReport:
    """Apply the missing migrations, each part in a transaction of its own. Raises: as `rehearse`.

    `platform` is refused while another one works with the database.
    """
    all_migrations = read_migrations() if all_migrations is None else all_migrations
    async with open_for_migrations(url, settings) as sessions:
        await _missing(sessions.superuser, all_migrations)
        if platform is not None:
            await prepare_history(sessions.superuser)
            await claim_database(sessions.superuser, settings, platform, current_key_id(settings.auth))
        before = await _read_objects(sessions.superuser)
        warnings: list[str] = []
        done = await bring_up_to_date(sessions, all_migrations, settings, warnings.append)
        changed = differences(before, await _read_objects(sessions.superuser))
        return UpgradeReport(done, [], changed, warnings=warnings)


def differences(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> list[str]:
    """Return lines for new, dropped and changed objects by name; columns of new or dropped tables are omitted."""
    sets = {
        "new": after.keys() - before.keys(),
        "gone": before.keys() - after.keys(),
        "other": {key for key in after.keys() & before.keys() if after[key] != before[key]},
    }
    whole = {name for kind in ("new", "gone") for kind_of, name in sets[kind] if kind_of == "table"}
    lines = []
    for name, mark in _MARKS:
        for kind, thing in sorted(sets[name]):
            if kind == "column" and thing.rpartition(".")[0] in whole:
                continue
            lines.append(f"{mark} {kind} {thing}")
    return lines


def run(settings: Settings, environment: Mapping[str, str], words: Sequence[str]) -> int:
    """Run `headwater upgrade`; return the exit code."""
    is_dry = "--dry-run" in words
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    if not url:
        return _fail("HEADWATER_MIGRATE_URL or HEADWATER_DB_URL is needed.", REFUSED)
    platform = None if environment.get("HEADWATER_PROJECT_URL") else identity_of(environment)
    try:
        upgrade_report = asyncio.run(
            rehearse(url, settings) if is_dry else upgrade(url, settings, platform=platform)
        )
    except DatabaseTooNew as error:
        return _fail(str(error), REFUSED)
    except (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return _fail(f"The database could not be brought up to date: {error}", FAILED)
    print("\n".join(report_lines(upgrade_report, is_dry=is_dry)))
    return DONE


def report_lines(report: UpgradeReport, *, is_dry: bool) -> list[str]:
    """Return the report as lines of text."""
    if not report.migrations and not report.settings:
        return ["The platform's schemas are up to date.", *report.warnings]
    lines = list(report.warnings)
    if report.migrations:
        count = len(report.migrations)
        lines.append(
            f"{count} system migration{'s' if count > 1 else ''} {'to apply' if is_dry else 'applied'}:"
        )
        width = max(len(str(migration)) for migration in report.migrations)
        lines += [f"  {migration!s:{width}}  {migration.purpose}".rstrip() for migration in report.migrations]
    if report.settings:
        lines.append(f"Set anew from the settings: {', '.join(report.settings)}")
    if report.differences:
        lines.append("What that would change:" if is_dry else "What that changed:")
        lines += [f"  {line}" for line in report.differences]
    if report.untried:
        others = f", and {len(report.untried) - 1} more" if len(report.untried) > 1 else ""
        lines.append(f"Not tried, because it needs what an earlier one commits: {report.untried[0]}{others}.")
    if is_dry:
        lines.append("It was tried and taken back: nothing is changed. `headwater upgrade` does it.")
    return lines


async def _missing(
    connection: asyncpg.Connection, all_migrations: list[SystemMigration]
) -> list[SystemMigration]:
    """Return the missing migrations. Raises: DatabaseTooNew, MigrationError."""
    last: dict[str, int] = {}
    for migration in all_migrations:
        last[migration.series] = max(last.get(migration.series, 0), migration.version)
    for series, version in await applied_versions(connection):
        if version > last.get(series, 0):
            raise DatabaseTooNew(series, version, last.get(series, 0))
    try:
        return await unapplied(connection, all_migrations)
    except asyncpg.UndefinedTableError:
        return list(all_migrations)  # the platform has never used this database


@dataclass(slots=True)
class _Rehearsal:
    """The state of a rehearsal."""

    missing: list[SystemMigration]
    untried: list[SystemMigration] = field(default_factory=list)
    differences: set[str] = field(default_factory=set)


async def _try_in_turn(
    sessions: MigrationSessions, rehearsal: _Rehearsal, settings: Settings
) -> list[SettingsChange]:
    """Try the parts of each role in a transaction of its session; return the changes that the settings require."""
    changes: list[SettingsChange] = []
    roles = dict.fromkeys([None, *(part.role for migration in rehearsal.missing for part in migration.parts)])
    for role in roles:
        try:
            connection = await sessions.of(role)
        except UnknownRole:
            rehearsal.untried += [
                migration
                for migration in rehearsal.missing
                if any(part.role == role for part in migration.parts)
            ]
            continue
        transaction = connection.transaction()
        await transaction.start()
        try:
            await connection.execute(_STATEMENTS["limit_lock_waits"])
            before = await _read_objects(connection)
            if role is None:
                await prepare_history(connection)
            await _try(connection, role, rehearsal)
            if role is None and not rehearsal.untried:
                changes = await find_changes(connection, settings)
                await make_changes(connection, changes)
            rehearsal.differences |= set(differences(before, await _read_objects(connection)))
        finally:
            await transaction.rollback()
    return changes


async def _try(connection: asyncpg.Connection, role: str | None, rehearsal: _Rehearsal) -> None:
    """Run the parts of one role inside the transaction. Raises: MigrationError."""
    is_alone = True  # no earlier part ran in another session
    for migration in rehearsal.missing:
        for part in migration.parts:
            if part.role != role:
                is_alone = False
            elif not await _is_tried(connection, migration, part, needs_all=is_alone):
                is_alone = False
                if migration not in rehearsal.untried:
                    rehearsal.untried.append(migration)


async def _is_tried(
    connection: asyncpg.Connection, migration: SystemMigration, part: MigrationPart, *, needs_all: bool
) -> bool:
    """Run a part; return False if it fails because another session has not committed what it needs.

    Raises: MigrationError.
    """
    try:
        async with connection.transaction():
            await run_part(connection, part)
    except asyncpg.UnsafeNewEnumValueUsageError:
        return False
    except asyncpg.PostgresError as error:
        if error.sqlstate in _MISSING_OBJECT and not needs_all:
            return False
        raise MigrationError(f"{migration} failed: {error}") from error
    except TimeoutError:
        raise MigrationError(f"{migration} did not end in time") from None
    return True


def _sorted(lines: Iterable[str]) -> list[str]:
    """Sort lines of several sessions as `differences` does: new, dropped, changed; then by kind and name."""
    marks = [mark for _, mark in _MARKS]
    return sorted(lines, key=lambda line: (marks.index(line[0]), line))


async def _read_objects(connection: asyncpg.Connection) -> dict[tuple[str, str], str]:
    rows = await connection.fetch(_STATEMENTS["objects"])
    return {(row["kind"], row["name"]): row["content"] for row in rows}


def _fail(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
