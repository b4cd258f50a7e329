"""Bring the system schemas up to date: numbered SQL files, applied once each, in order, forward only.

A series is a folder of `schemas/migrations`; files of a series have numbers without gaps. Each runs in a transaction of
its own together with its row in `headwater.migrations`. What settings decide (passwords, JWT settings, exposure of new
tables) is compared at every start and changed where it differs (assertions.py).

A start that finds nothing to do asks two questions and takes no lock. Otherwise an advisory lock lets one process at a
time work on a database, and a lock on the table of roles one at a time on a server; the second looks again and finds
nothing to do. A history that knows more than this program is left alone: machines are upgraded one after another.
"""

import asyncio
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

import asyncpg

from schemas.database_logins import sharing_logins
from schemas.settings import Settings
from workers.database.assertions import find_changes, make_changes
from workers.sql.files import read_statements

SERIES = ("roles", "platform", "auth", "storage", "realtime", "graphql")
"""The series in the order in which they are applied."""

OLDEST_SERVER = 15
"""The oldest major version of Postgres that the migrations run on."""

_STATEMENTS = read_statements("workers.database", "migrate.sql")
_LOCK = 0x68656164  # "head": any number that nobody else takes
_CONNECT_S = 30.0
_QUESTION_S = 30.0
_WAIT_S = 120.0
_FILE_S = 120.0


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
        """Give the SHA-256 of the file's text, in hexadecimal."""
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
            if number != f"{expected:04}":
                raise MigrationError(f"{series}/{file} should have the number {expected:04}")
            text = folder.joinpath(file).read_text(encoding="utf-8")
            found.append(Migration(series, expected, name, text))
    return found


async def migrate(
    url: str,
    settings: Settings,
    migrations: list[Migration] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Migration]:
    """Apply what is missing and give it. `url` is that of a superuser; `tell` hears what they raise as notices.

    Raises: MigrationError; asyncpg.PostgresError or OSError when the database does not answer.
    """
    known = read_migrations() if migrations is None else migrations
    connection = await _connect(url)
    try:
        if await _is_current(connection, known, settings):
            return []
        connection.add_log_listener(lambda _, message: _pass_on(message, tell))
        return await bring_up_to_date(connection, known, settings)
    finally:
        await connection.close()


async def bring_up_to_date(
    connection: asyncpg.Connection, known: list[Migration], settings: Settings
) -> list[Migration]:
    """Apply what is missing, one at a time, then what the settings decide; give what was applied. Raises: as `migrate`."""
    await _check_login(connection)
    await _lock(connection)
    await prepare_history(connection)
    missing = await unapplied(connection, known)
    for migration in missing:
        await apply(connection, migration)
    await _follow_settings(connection, settings)
    return missing


async def open_for_migrations(url: str) -> asyncpg.Connection:
    """Connect as who may do what migrations do, alone in this database. Raises: MigrationError, the driver's errors."""
    connection = await _connect(url)
    try:
        await _check_login(connection)
        await _lock(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


async def prepare_history(connection: asyncpg.Connection) -> None:
    """Make the tables that remember what was done, if they are not there."""
    await connection.execute(_STATEMENTS["make_history"], timeout=_QUESTION_S)


async def applied_versions(connection: asyncpg.Connection) -> list[tuple[str, int]]:
    """Give series and version of what was applied; nothing where there is no history yet."""
    try:
        rows = await connection.fetch(_STATEMENTS["applied"], timeout=_QUESTION_S)
    except asyncpg.UndefinedTableError:
        return []
    return [(row["series"], row["version"]) for row in rows]


async def _connect(url: str) -> asyncpg.Connection:
    try:
        return await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
    except TimeoutError:
        raise MigrationError(f"the server did not answer within {_CONNECT_S:.0f} seconds") from None
    except ValueError:  # its own words may hold a part of the password
        raise MigrationError(
            "the URL of the database cannot be read: it should be postgresql://role:password@host:port/database, "
            "with signs such as # / @ : in the password written as %23 %2F %40 %3A"
        ) from None


def _pass_on(message: asyncpg.PostgresLogMessage, tell: Callable[[str], None]) -> None:
    """Tell what a migration says by RAISE, not what the server remarks (`does not exist, skipping`)."""
    where = str(message.as_dict().get("context") or "").partition("\n")[0]
    if where.endswith("RAISE"):
        tell(str(message.as_dict()["message"]))


async def _is_current(connection: asyncpg.Connection, known: Iterable[Migration], settings: Settings) -> bool:
    """Tell whether there is nothing to do. Who may not even look gets the reason from `_check_login`."""
    try:
        return not await unapplied(connection, known) and not await find_changes(connection, settings)
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
        return False


async def _check_login(connection: asyncpg.Connection) -> None:
    if (found := connection.get_server_version().major) < OLDEST_SERVER:
        raise MigrationError(
            f"the server is Postgres {found}, and {OLDEST_SERVER} is the oldest that will do"
        )
    login = await connection.fetchrow(_STATEMENTS["login"], timeout=_QUESTION_S)
    if login is None or not login["is_superuser"]:
        name = login["name"] if login else "of the URL"
        raise MigrationError(
            f"role {name} is no superuser: HEADWATER_MIGRATE_URL must be the URL of one, for the migrations only"
        )


async def _lock(connection: asyncpg.Connection) -> None:
    try:
        await connection.execute(_STATEMENTS["lock_database"], _LOCK, timeout=_WAIT_S)
    except TimeoutError:
        raise MigrationError(
            f"another process has been bringing this database up to date for {_WAIT_S:.0f} seconds"
        ) from None


async def unapplied(connection: asyncpg.Connection, known: Iterable[Migration]) -> list[Migration]:
    """Give the migrations that were not applied yet.

    Raises: MigrationError if an applied one was changed since; asyncpg.UndefinedTableError without a history.
    """
    rows = await connection.fetch(_STATEMENTS["applied"], timeout=_QUESTION_S)
    applied = {(row["series"], row["version"]): row["checksum"] for row in rows}
    for migration in known:
        if applied.get((migration.series, migration.version), migration.checksum) != migration.checksum:
            raise MigrationError(
                f"{migration} was changed after it had been applied: restore it, and add a new file"
            )
    return [migration for migration in known if (migration.series, migration.version) not in applied]


async def apply(connection: asyncpg.Connection, migration: Migration) -> None:
    """Apply one migration and remember it, in a transaction. Raises: MigrationError."""
    try:
        async with connection.transaction():
            await connection.execute(_STATEMENTS["prepare"])
            await connection.execute(_STATEMENTS["lock_server"], timeout=_WAIT_S)
            await connection.execute(migration.sql, timeout=_FILE_S)
            await connection.execute(
                _STATEMENTS["record"],
                migration.series,
                migration.version,
                migration.name,
                migration.checksum,
            )
    except TimeoutError:
        raise MigrationError(f"{migration} did not end within {_FILE_S:.0f} seconds") from None
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{migration} failed: {error}") from error


async def _follow_settings(connection: asyncpg.Connection, settings: Settings) -> None:
    async with connection.transaction():
        await connection.execute(_STATEMENTS["lock_server"], timeout=_WAIT_S)
        await make_changes(connection, await find_changes(connection, settings))


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Bring the database of the settings up to date; give the exit code: 0, or 1 or 2 with a sentence on stderr."""
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    if not url:
        print("headwater: migrate needs HEADWATER_MIGRATE_URL or DATABASE_URL", file=sys.stderr)
        return 2
    try:
        applied = asyncio.run(migrate(url, settings, tell=lambda text: print(f"notice: {text}")))
    except (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        print(f"headwater: the database could not be brought up to date: {error}", file=sys.stderr)
        return 1
    if shared := sharing_logins(settings):
        print(
            f"headwater: {', '.join(shared)} have the password of another login of the database, so whoever knows one opens "
            'them all: give each its own (docs/operations.md, "Many machines")',
            file=sys.stderr,
        )
    if applied:
        print(f"applied {len(applied)} system migrations, up to {applied[-1]}")
    return 0
