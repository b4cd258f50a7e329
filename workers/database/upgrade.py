"""`headwater upgrade`: what the platform's own migrations would change, tried and taken back, or done.

    pending --> one transaction: all of them, and what the settings ask for --> what is different --> rolled back

Every migration runs in a transaction, so every one can be tried; but where one uses a label that another has just added to an
enumeration, Postgres wants that committed first, and the rehearsal ends there and says so. A rehearsal takes the locks that the real run takes; it
gives up where it would have to wait for them, and requests wait for it as long as it lasts.
Unlike a start, which leaves a database alone that knows more than it does (machines are upgraded one after another), an
upgrade refuses one.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from schemas.settings import Settings
from workers.database.assertions import find_changes, make_changes
from workers.database.migrate import (
    Migration,
    MigrationError,
    applied_versions,
    apply,
    bring_up_to_date,
    open_for_migrations,
    prepare_history,
    read_migrations,
    unapplied,
)
from workers.sql.files import read_statements

DONE, FAILED, REFUSED = 0, 1, 2
_STATEMENTS = read_statements("workers.database", "upgrade.sql")
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
    """Try what is missing in a transaction that is rolled back. Raises: TooNew, MigrationError, the driver's errors."""
    known = read_migrations() if known is None else known
    connection = await open_for_migrations(url)
    try:
        missing = await _missing(connection, known)
        transaction = connection.transaction()
        await transaction.start()
        try:
            await connection.execute(_STATEMENTS["be_brief"])
            before = await _things(connection)
            await prepare_history(connection)
            untried = await _try(connection, missing)
            found = [] if untried else await find_changes(connection, settings)
            await make_changes(connection, found)
            things = differences(before, await _things(connection))
        finally:
            await transaction.rollback()
        return Upgrade(missing, sorted({each.name for each in found}), things, untried)
    finally:
        await connection.close()


async def upgrade(url: str, settings: Settings, known: list[Migration] | None = None) -> Upgrade:
    """Do it: each migration in a transaction of its own. Raises: as `rehearse`."""
    known = read_migrations() if known is None else known
    connection = await open_for_migrations(url)
    try:
        await _missing(connection, known)
        before = await _things(connection)
        done = await bring_up_to_date(connection, known, settings)
        return Upgrade(done, [], differences(before, await _things(connection)))
    finally:
        await connection.close()


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


def purpose(migration: Migration) -> str:
    """Give the first line of a migration, which says what it is for."""
    first = migration.sql.lstrip().partition("\n")[0]
    return first.removeprefix("--").strip() if first.startswith("--") else ""


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
        lines += [f"  {each!s:{width}}  {purpose(each)}".rstrip() for each in found.migrations]
    if found.settings:
        lines.append(f"Set anew from the settings: {', '.join(found.settings)}")
    if found.things:
        lines.append("What that would change:" if is_dry else "What that changed:")
        lines += [f"  {each}" for each in found.things]
    if found.untried:
        lines.append(
            f"Not tried, for it needs what is before it committed: {found.untried[0]}, and {len(found.untried) - 1} after it."
        )
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


async def _try(connection: asyncpg.Connection, missing: list[Migration]) -> list[Migration]:
    """Apply migrations inside of the transaction; give those that cannot be tried in the same one. Raises: MigrationError."""
    for at, migration in enumerate(missing):
        try:
            await apply(connection, migration)
        except MigrationError as error:
            if isinstance(error.__cause__, asyncpg.UnsafeNewEnumValueUsageError):
                return missing[at:]
            raise
    return []


async def _things(connection: asyncpg.Connection) -> dict[tuple[str, str], str]:
    await connection.execute(_STATEMENTS["name_in_full"])
    rows = await connection.fetch(_STATEMENTS["things"])
    return {(row["kind"], row["name"]): row["content"] for row in rows}


def _refuse(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
