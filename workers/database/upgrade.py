"""`headwater upgrade`: what the platform's own migrations would change, tried and taken back, or done.

    pending --> a transaction in the session of each role --> what is different --> rolled back

Parts of migrations run as different roles (migration_files.py), so they are tried in several sessions, and none of them sees
what another has not committed: a part that fails for the lack of something, where another session's part comes before it, is
reported as untried. So is one that uses a label which another has just added to an enumeration: Postgres wants that
committed first. A rehearsal takes the locks that the real run takes; it gives up where it would have to wait for them, and
requests wait for it as long as it lasts.
Unlike a start, which leaves a database alone that knows more than it does (machines are upgraded one after another), an
upgrade refuses one.
"""

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from schemas.settings.tree import Settings
from workers.database.assertions import Change, find_changes, make_changes
from workers.database.migrate import (
    Sessions,
    applied_versions,
    bring_up_to_date,
    open_for_migrations,
    prepare_history,
    run_part,
    unapplied,
)
from workers.database.migration_files import Migration, MigrationError, Part, read_migrations
from workers.database.superuser import UnknownRole
from workers.sql.files import read_statements

DONE, FAILED, REFUSED = 0, 1, 2
_STATEMENTS = read_statements("workers.database", "upgrade.sql")
_LACKS_SOMETHING = ("42P01", "42703", "42883", "42704", "3F000", "42501")
"""No such relation, column, function, other object, schema, right: what an earlier part would have made."""
_MARKS = (("new", "+"), ("gone", "-"), ("other", "~"))


class TooNew(Exception):
    """The database was brought up to date by a newer headwater."""

    def __init__(self, series: str, there: int, here: int) -> None:
        super().__init__(
            f"The database is newer than this headwater: it has {series}/{there:04}, and the last one known here is "
            f"{series}/{here:04}. Install that version of headwater or a newer one; nothing was changed."
        )


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What is pending, or was done. `things` are lines such as `+ table auth.devices`."""

    migrations: list[Migration]
    settings: list[str]
    things: list[str]
    untried: list[Migration] = field(default_factory=list)
    """Those that need what another one brings committed first; and those after them."""


async def rehearse(url: str, settings: Settings, known: list[Migration] | None = None) -> Upgrade:
    """Try what is missing in transactions that are rolled back. Raises: TooNew, MigrationError, the driver's errors."""
    known = read_migrations() if known is None else known
    async with open_for_migrations(url, settings) as sessions:
        missing = await _missing(sessions.superuser, known)
        rehearsal = _Rehearsal(missing)
        # A login that is not committed cannot log in, so all of them are made before the first transaction.
        for role in dict.fromkeys(part.role for each in missing for part in each.parts):
            with contextlib.suppress(UnknownRole):  # one of the migrations makes it
                await sessions.of(role)
        found = await _try_in_turn(sessions, rehearsal, settings)
        untried = [each for each in missing if each in rehearsal.untried]
        return Upgrade(missing, sorted({each.name for each in found}), _sorted(rehearsal.things), untried)


async def upgrade(url: str, settings: Settings, known: list[Migration] | None = None) -> Upgrade:
    """Do it: each part of a migration in a transaction of its own. Raises: as `rehearse`."""
    known = read_migrations() if known is None else known
    async with open_for_migrations(url, settings) as sessions:
        await _missing(sessions.superuser, known)
        before = await _things(sessions.superuser)
        done = await bring_up_to_date(sessions, known, settings)
        return Upgrade(done, [], differences(before, await _things(sessions.superuser)))


def differences(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> list[str]:
    """Tell what came, went and changed, by name; what belongs to something that came or went is left out."""
    sets = {
        "new": after.keys() - before.keys(),
        "gone": before.keys() - after.keys(),
        "other": {key for key in after.keys() & before.keys() if after[key] != before[key]},
    }
    whole = {name for kind in ("new", "gone") for kind_of, name in sets[kind] if kind_of == "table"}
    told = []
    for name, mark in _MARKS:
        for kind, thing in sorted(sets[name]):
            if kind == "column" and thing.rpartition(".")[0] in whole:
                continue
            told.append(f"{mark} {kind} {thing}")
    return told


def run(settings: Settings, environment: Mapping[str, str], words: Sequence[str]) -> int:
    """Do what `headwater upgrade` asks for; give the exit code."""
    is_dry = "--dry-run" in words
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    if not url:
        return _refuse("HEADWATER_MIGRATE_URL or DATABASE_URL is needed.", REFUSED)
    try:
        found = asyncio.run((rehearse if is_dry else upgrade)(url, settings))
    except TooNew as error:
        return _refuse(str(error), REFUSED)
    except (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return _refuse(f"The database could not be brought up to date: {error}", FAILED)
    print("\n".join(report(found, is_dry=is_dry)))
    return DONE


def report(found: Upgrade, *, is_dry: bool) -> list[str]:
    """Say in lines what is pending, or was done."""
    if not found.migrations and not found.settings:
        return ["The platform's schemas are up to date."]
    lines = []
    if found.migrations:
        count = len(found.migrations)
        lines.append(
            f"{count} system migration{'s' if count > 1 else ''} {'to apply' if is_dry else 'applied'}:"
        )
        width = max(len(str(each)) for each in found.migrations)
        lines += [f"  {each!s:{width}}  {each.purpose}".rstrip() for each in found.migrations]
    if found.settings:
        lines.append(f"Set anew from the settings: {', '.join(found.settings)}")
    if found.things:
        lines.append("What that would change:" if is_dry else "What that changed:")
        lines += [f"  {each}" for each in found.things]
    if found.untried:
        others = f", and {len(found.untried) - 1} more" if len(found.untried) > 1 else ""
        lines.append(f"Not tried, because it needs what an earlier one commits: {found.untried[0]}{others}.")
    if is_dry:
        lines.append("It was tried and taken back: nothing is changed. `headwater upgrade` does it.")
    return lines


async def _missing(connection: asyncpg.Connection, known: list[Migration]) -> list[Migration]:
    """Give what is missing. Raises: TooNew, MigrationError."""
    last: dict[str, int] = {}
    for each in known:
        last[each.series] = max(last.get(each.series, 0), each.version)
    for series, version in await applied_versions(connection):
        if version > last.get(series, 0):
            raise TooNew(series, version, last.get(series, 0))
    try:
        return await unapplied(connection, known)
    except asyncpg.UndefinedTableError:
        return list(known)  # a database that has never seen us


@dataclass(slots=True)
class _Rehearsal:
    """What a rehearsal has found so far."""

    missing: list[Migration]
    untried: list[Migration] = field(default_factory=list)
    things: set[str] = field(default_factory=set)


async def _try_in_turn(sessions: Sessions, rehearsal: _Rehearsal, settings: Settings) -> list[Change]:
    """Try the parts of each role in a transaction of its session; return the changes that the settings ask for."""
    found: list[Change] = []
    roles = dict.fromkeys([None, *(part.role for each in rehearsal.missing for part in each.parts)])
    for role in roles:
        try:
            connection = await sessions.of(role)
        except UnknownRole:
            rehearsal.untried += [
                each for each in rehearsal.missing if any(p.role == role for p in each.parts)
            ]
            continue
        transaction = connection.transaction()
        await transaction.start()
        try:
            await connection.execute(_STATEMENTS["be_brief"])
            before = await _things(connection)
            if role is None:
                await prepare_history(connection)
            await _try(connection, role, rehearsal)
            if role is None and not rehearsal.untried:
                found = await find_changes(connection, settings)
                await make_changes(connection, found)
            rehearsal.things |= set(differences(before, await _things(connection)))
        finally:
            await transaction.rollback()
    return found


async def _try(connection: asyncpg.Connection, role: str | None, rehearsal: _Rehearsal) -> None:
    """Run the parts of one role inside of the transaction. Raises: MigrationError."""
    is_alone = True  # nothing that comes before needs another session
    for migration in rehearsal.missing:
        for part in migration.parts:
            if part.role != role:
                is_alone = False
            elif not await _is_tried(connection, migration, part, needs_all=is_alone):
                is_alone = False
                if migration not in rehearsal.untried:
                    rehearsal.untried.append(migration)


async def _is_tried(
    connection: asyncpg.Connection, migration: Migration, part: Part, *, needs_all: bool
) -> bool:
    """Run a part; say whether it could be tried: not, where it lacks what another session did not commit.

    Raises: MigrationError.
    """
    try:
        async with connection.transaction():
            await run_part(connection, part)
    except asyncpg.UnsafeNewEnumValueUsageError:
        return False
    except asyncpg.PostgresError as error:
        if error.sqlstate in _LACKS_SOMETHING and not needs_all:
            return False
        raise MigrationError(f"{migration} failed: {error}") from error
    except TimeoutError:
        raise MigrationError(f"{migration} did not end in time") from None
    return True


def _sorted(lines: Iterable[str]) -> list[str]:
    """Put lines of several sessions in the order of `differences`: what is new, gone, other; then by kind and name."""
    marks = [mark for _, mark in _MARKS]
    return sorted(lines, key=lambda line: (marks.index(line[0]), line))


async def _things(connection: asyncpg.Connection) -> dict[tuple[str, str], str]:
    rows = await connection.fetch(_STATEMENTS["things"])
    return {(row["kind"], row["name"]): row["content"] for row in rows}


def _refuse(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
