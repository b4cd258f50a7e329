"""Make the database anew: the platform's schemas, then roles, migrations and seeds of the project.

    postgres       --rename--> headwater_before    the old one, untouched; a failure puts it back
    headwater_next --rename--> postgres            empty, closed to all but role postgres until it is whole
    headwater_before --------> headwater_replaced  from here on the new one counts; the old one is dropped

The name must be `postgres` while migrations run: they say `alter database postgres set ...`. Who was connected is
disconnected; the pools connect again by themselves, and the reader of the log makes itself a new slot. Roles belong to
the server and stay. A reset that was killed is taken back by the next start (`recover`).

Two things make it quick: nothing is waited for until it is on the disk but the last step, which brings all before it there
too; and the server drops the old database behind our back, for a checkpoint belongs to that.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from urllib.parse import unquote, urlsplit

import asyncpg

from schemas.settings import Settings
from workers.database.migrate import migrate
from workers.project import history
from workers.project.bring_up import Local, Tell, apply_migrations, apply_roles, apply_seeds
from workers.project.door import Links, in_database, open_as_superuser, open_door
from workers.project.errors import Refused
from workers.project.vault import fill_vault
from workers.sql import compose
from workers.sql.files import read_statements

BEFORE = "headwater_before"
NEXT = "headwater_next"
REPLACED = "headwater_replaced"

_STATEMENTS = read_statements("workers.project", "reset.sql")
_LOCK = 0x68656166
_ASIDE = "template1"
_ALONE_S = 15.0
_PAUSE_S = 0.05
_DROP_S = 0.5
_SETTING = "synchronous_commit=off"
"""Setting of the sessions that fill the new database."""


async def reset(
    links: Links,
    settings: Settings,
    local: Local,
    tell: Tell,
    *,
    up_to: str | None = None,
    seeds: bool = True,
) -> None:
    """Make the database anew. Whatever fails, the old one is back as it was.

    Raises: Refused where it cannot be begun; ProjectError, MigrationError and the driver's errors.
    """
    if not links.is_embedded:
        raise Refused(
            "Only the embedded database is reset. Of an outside one, drop and create it by your own means "
            "and start the platform again."
        )
    if up_to is not None and all(migration.version != up_to for migration in local.migrations):
        raise Refused(f"There is no migration {up_to} in the folder.")
    await replace_database(
        links.owner, partial(_fill, links, settings, local, tell, up_to=up_to, seeds=seeds)
    )


async def replace_database(owner: str, fill: Callable[[], Awaitable[None]]) -> None:
    """Put an empty database in the place of one, have it filled, and drop the old one; a failure puts that back.

    `owner` is the URL of a superuser. Raises: Refused where it cannot be begun; what `fill` raises.
    """
    name = _database(owner)
    async with _aside(owner) as aside:
        if not await aside.fetchval(_STATEMENTS["lock"], _LOCK):
            raise Refused("Another reset of this database is under way.")
        await _take_back(aside, name)
        await aside.execute(f"create database {NEXT} template template0")
        await aside.execute(f"revoke connect on database {NEXT} from public")
        await _set_aside(aside, name)
        try:
            await _rename(aside, NEXT, name)  # at once: who finds no database of the name waits longest
            await fill()
        except BaseException:
            await asyncio.shield(_take_back(aside, name))
            raise
        await _rename(aside, BEFORE, REPLACED)
        await aside.execute(f"grant connect, temporary on database {compose.quoted(name)} to public")
        await _drop_behind(aside, owner)


async def recover(links: Links) -> bool:
    """Take back a reset that was killed, and drop what a finished one left; say whether there was one."""
    if not links.is_embedded:
        return False
    async with _aside(links.owner) as aside:
        return await _take_back(aside, _database(links.owner))


def run_recover(environment: Mapping[str, str]) -> None:
    """Do that before a start. A server that does not answer is the business of what comes after."""
    if environment.get("HEADWATER_PROJECT_URL") and environment.get("HEADWATER_MIGRATE_URL"):
        links = Links(environment["HEADWATER_PROJECT_URL"], environment["HEADWATER_MIGRATE_URL"])
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, Refused):
            asyncio.run(recover(links))


async def _fill(
    links: Links, settings: Settings, local: Local, tell: Tell, *, up_to: str | None, seeds: bool
) -> None:
    await migrate(_hasty(links.owner), settings)
    tell("The platform's schemas are there")
    async with open_door(_hasty(links.project), tell) as door:
        await history.make_history(door.connection)
        await fill_vault(door, local.secrets, tell, tell)
        if local.roles:
            await apply_roles(door, local.roles, tell)
        wanted = [each for each in local.migrations if up_to is None or each.version <= up_to]
        await apply_migrations(door, wanted, tell, keep_roles=True)
        if seeds:
            await apply_seeds(door, local.seeds, tell)


@asynccontextmanager
async def _aside(url: str) -> AsyncIterator[asyncpg.Connection]:
    async with open_as_superuser(in_database(url, _ASIDE)) as connection:
        yield connection


async def _take_back(aside: asyncpg.Connection, name: str) -> bool:
    """Put the old database in its place, if it was set aside; drop one that was replaced."""
    rows = await aside.fetch(_STATEMENTS["databases"], [name, BEFORE, NEXT, REPLACED])
    there = {row["name"] for row in rows}
    if BEFORE in there:
        if name in there:
            await _drop(aside, name)
        await _rename(aside, BEFORE, name)
        await aside.execute(f"grant connect on database {compose.quoted(name)} to public")
    if NEXT in there:
        await _drop(aside, NEXT)
    if REPLACED in there:
        await _drop(aside, REPLACED)
        await aside.execute(f"grant connect, temporary on database {compose.quoted(name)} to public")
    return BEFORE in there


async def _set_aside(aside: asyncpg.Connection, name: str) -> None:
    """Close the database to all logins and rename it. What fails leaves it open and named as it was."""
    await aside.execute(f"revoke connect on database {compose.quoted(name)} from public")
    try:
        await _rename(aside, name, BEFORE)
    except BaseException:
        await aside.execute(f"grant connect on database {compose.quoted(name)} to public")
        raise


async def _rename(aside: asyncpg.Connection, old: str, new: str) -> None:
    """Rename a database as soon as nobody is connected to it."""
    statement = f"alter database {compose.quoted(old)} rename to {compose.quoted(new)}"
    await _alone(aside, old, statement)


async def _drop(aside: asyncpg.Connection, name: str) -> None:
    await _alone(aside, name, f"drop database if exists {compose.quoted(name)} with (force)")


async def _drop_behind(aside: asyncpg.Connection, owner: str) -> None:
    """Have the database that was replaced dropped, and do not wait for a slow disk.

    A session that loses its client still ends its statement. What is left after all is dropped by the next start.
    """
    await aside.fetchval(_STATEMENTS["end_sessions"], REPLACED)
    with suppress(asyncpg.ObjectInUseError):
        await aside.fetch(_STATEMENTS["drop_slots"], REPLACED)
    async with _aside(owner) as other:
        task = asyncio.ensure_future(other.execute(f"drop database if exists {REPLACED} with (force)"))
        await asyncio.wait({task}, timeout=_DROP_S)
        is_slow = not task.done()
        if is_slow:
            other.terminate()
        failure = (await asyncio.gather(task, return_exceptions=True))[0]
    if isinstance(failure, Exception) and not is_slow:
        await _drop(aside, REPLACED)


async def _alone(aside: asyncpg.Connection, name: str, statement: str) -> None:
    """Run a statement that wants a database without sessions: end them, and again those that come meanwhile."""
    try:
        async with asyncio.timeout(_ALONE_S):
            while True:
                await aside.fetchval(_STATEMENTS["end_sessions"], name)
                with suppress(asyncpg.ObjectInUseError):
                    await aside.fetch(_STATEMENTS["drop_slots"], name) if "drop" in statement[:5] else None
                    await aside.execute(statement)
                    return
                await asyncio.sleep(_PAUSE_S)
    except TimeoutError:
        raise Refused(f"Somebody keeps connecting to database {name}: it cannot be reset.") from None


def _hasty(url: str) -> str:
    """Add the setting to a URL."""
    return f"{url}{'&' if '?' in url else '?'}{_SETTING}"


def _database(url: str) -> str:
    return unquote(urlsplit(url).path.lstrip("/")) or "postgres"
