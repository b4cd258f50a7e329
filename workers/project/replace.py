"""Put a new database in the place of one, so that a kill at any moment leaves the old one or the new one, whole.

Postgres renames databases inside of a transaction, so both renames of an exchange are one commit: at no time is there no
database of the name. Which of these names exist tells how far a replacement came; nothing else is written down.

    beside (restore)                                      in place (reset)
    postgres        old, in use                           postgres          old, in use
    headwater_next  new, being filled                     headwater_next    new, empty
      -- one transaction --                                 -- one transaction --
    postgres            new                               postgres          new, being filled, closed
    headwater_replaced  old, being dropped                headwater_before  old, untouched
                                                            -- one transaction --
                                                          postgres            new, open
                                                          headwater_replaced  old, being dropped

    what `recover` finds   what it does
    headwater_before       exchanges it back: the new one was not whole
    headwater_next         drops it: it was not put in place
    headwater_replaced     drops it: the new one counts

In place is for what must find the database under its own name while it is filled: a project's migrations say
`alter database postgres set ...`. Beside is for everything else: requests are answered from the old database until the exchange.

A rename needs a database without sessions. The statement itself keeps new ones out (they wait for its lock) and waits five
seconds for the others to leave, so a second session ends them meanwhile. Pools connect again by themselves, and the reader of
the log makes itself a new slot. Roles belong to the server and stay.

A session on template1 holds a lock as long as the work lasts. Who does not get the lock leaves everything as it is: another
process is at work, or a killed one's last statement still runs in the server.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import asyncpg

from schemas.platform_names import LOGIN_PREFIXES
from workers.project.door import in_database, open_as_superuser
from workers.project.errors import Refused
from workers.sql import compose
from workers.sql.files import read_statements

Tell = Callable[[str], None]
LOCK = 0x68656166
"""Number of the advisory lock, on template1, of whoever replaces a database of the server."""
NEXT, BEFORE, REPLACED = "headwater_next", "headwater_before", "headwater_replaced"

_STATEMENTS = read_statements("workers.project", "replace.sql")
_ASIDE = "template1"
_USUAL = "postgres"
_ALONE_S = 15.0
_PAUSE_S = 0.05
_DROP_S = 0.5
_LOCK_S = 10.0
"""How long the last statement of a killed process is waited for: it goes on in the server until it is done."""
_EVERYBODY = ("CONNECT", "TEMPORARY")
_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class DatabaseNames:
    """The name of a database, and those that stand beside it during a replacement."""

    own: str
    next: str
    before: str
    replaced: str

    @property
    def all(self) -> list[str]:
        """Return all four."""
        return [self.own, self.next, self.before, self.replaced]


def names_beside(own: str) -> DatabaseNames:
    """Return the names for a database; those of another one on the same server differ (pure)."""
    suffix = "" if own == _USUAL else f"_{hashlib.sha256(own.encode()).hexdigest()[:12]}"
    return DatabaseNames(own, NEXT + suffix, BEFORE + suffix, REPLACED + suffix)


def database_of(url: str) -> str:
    """Return the name of the database of a URL (pure)."""
    return unquote(urlsplit(url).path.lstrip("/")) or _USUAL


async def replace_beside(owner: str, fill: Callable[[str], Awaitable[None]], tell: Tell) -> None:
    """Have an empty database filled beside the one of a superuser's URL, and exchange both in one transaction.

    `fill` gets the URL of the new one. Whatever fails before the exchange leaves the old one as it was.
    Raises: Refused where it cannot be begun; what `fill` raises; the driver's errors.
    """
    async with _replacing(owner) as (aside, names):
        rights = await _public_rights(aside, names.own)
        await _make_next(aside, names)
        try:
            tell("Filling the new database")
            await fill(in_database(owner, names.next))
            tell("Exchanging the databases")
            renames = _renamed(names.own, names.replaced), _renamed(names.next, names.own)
            await _alone(
                aside, owner, [names.own, names.next], [*renames, *_granted(names.own, rights)], tell
            )
        except BaseException:
            await _undo(aside, owner, names)
            raise
        tell("The new database is in its place; dropping the old one")
        await _drop_behind(aside, owner, names.replaced, tell)


async def replace_in_place(owner: str, fill: Callable[[], Awaitable[None]], tell: Tell) -> None:
    """Put an empty database in the place of that of a superuser's URL, have it filled, and drop the old one.

    Meanwhile it is closed to all but role postgres. A failure puts the old one back. Raises: as `replace_beside`.
    """
    async with _replacing(owner) as (aside, names):
        rights = await _public_rights(aside, names.own)
        await _make_next(aside, names)
        try:
            renames = _renamed(names.own, names.before), _renamed(names.next, names.own)
            await _alone(aside, owner, [names.own, names.next], renames, tell)
            tell("Filling the new database")
            await fill()
            done = [_renamed(names.before, names.replaced), *_granted(names.own, rights)]
            await _alone(aside, owner, [names.before], done, tell)
        except BaseException:
            await _undo(aside, owner, names)
            raise
        tell("The new database is whole; dropping the old one")
        await _drop_behind(aside, owner, names.replaced, tell)


async def recover(owner: str) -> bool:
    """Undo or finish a replacement that was killed, and remove what it left; return whether there was one.

    Nothing is done while another process is at work. Raises: Refused; the driver's errors.
    """
    names = names_beside(database_of(owner))
    async with _aside(owner) as aside:
        lost = await aside.fetch(_STATEMENTS["lost_logins"], list(LOGIN_PREFIXES))
        if len(await _existing(aside, names)) == 1 and not lost:
            return False
        if not await _is_locked(aside, _LOCK_S):
            return False
        return await _tidy(aside, owner, names)


def run_recover(environment: Mapping[str, str]) -> None:
    """Recover before a start. A server that does not answer is the business of what comes after."""
    if url := environment.get("HEADWATER_MIGRATE_URL"):
        with suppress(*_FAILURES, Refused):
            if asyncio.run(recover(url)):
                event = "What an interrupted restore or reset of the database left has been removed"
                print(json.dumps({"level": "notice", "event": event}), flush=True)


@asynccontextmanager
async def _replacing(owner: str) -> AsyncIterator[tuple[asyncpg.Connection, DatabaseNames]]:
    """Yield a session on template1 that holds the lock, with nothing left of an earlier replacement."""
    names = names_beside(database_of(owner))
    async with _aside(owner) as aside:
        if not await _is_locked(aside, _LOCK_S):
            raise Refused("Another restore or reset is under way on this database server.")
        await _tidy(aside, owner, names)
        yield aside, names


@asynccontextmanager
async def _aside(url: str) -> AsyncIterator[asyncpg.Connection]:
    async with open_as_superuser(in_database(url, _ASIDE)) as connection:
        await connection.execute(_STATEMENTS["settle"])
        yield connection


async def _is_locked(aside: asyncpg.Connection, seconds: float) -> bool:
    """Take the lock; return whether it was to be had in so many seconds."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not await aside.fetchval(_STATEMENTS["lock"], LOCK):
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(_PAUSE_S)
    return True


async def _existing(aside: asyncpg.Connection, names: DatabaseNames) -> set[str]:
    return {row["name"] for row in await aside.fetch(_STATEMENTS["databases"], names.all)}


async def _public_rights(aside: asyncpg.Connection, name: str) -> list[str]:
    rows = await aside.fetch(_STATEMENTS["public_rights"], name)
    return [row["privilege"] for row in rows]


async def _make_next(aside: asyncpg.Connection, names: DatabaseNames) -> None:
    """Make the empty database, closed to everybody."""
    await aside.execute(f"create database {compose.quoted(names.next)} template template0")
    await aside.execute(f"revoke connect, temporary on database {compose.quoted(names.next)} from public")


async def _undo(aside: asyncpg.Connection, owner: str, names: DatabaseNames) -> None:
    """Take back what was done, after a failure; what cannot be taken back now, the next start takes back."""
    with suppress(*_FAILURES, Refused):
        await asyncio.shield(_tidy(aside, owner, names))


async def _tidy(aside: asyncpg.Connection, owner: str, names: DatabaseNames) -> bool:
    """Do what the table at the top says; return whether there was anything to do."""
    there = await _existing(aside, names)
    if names.before in there:
        back = [_renamed(names.before, names.own), *_granted(names.own, _EVERYBODY)]
        if names.own in there:
            if names.next in there:
                await _drop(aside, names.next)
            back.insert(0, _renamed(names.own, names.next))
            there.add(names.next)
        await _alone(aside, owner, [names.own, names.before], back)
    if names.next in there:
        await _drop(aside, names.next)
    if names.replaced in there:
        await _drop(aside, names.replaced)
    await _drop_lost_logins(aside)
    return bool(there - {names.own})


async def _drop_lost_logins(aside: asyncpg.Connection) -> None:
    """Drop the logins that were made for work in databases that are gone."""
    for row in await aside.fetch(_STATEMENTS["lost_logins"], list(LOGIN_PREFIXES)):
        with suppress(asyncpg.DependentObjectsStillExistError, asyncpg.UndefinedObjectError):
            await aside.execute(f"drop role {compose.quoted(row['name'])}")


def _renamed(old: str, new: str) -> str:
    return f"alter database {compose.quoted(old)} rename to {compose.quoted(new)}"


def _granted(name: str, rights: Sequence[str]) -> list[str]:
    """Return the statements that give everybody rights on a database (pure)."""
    return [f"grant {right} on database {compose.quoted(name)} to public" for right in rights]


async def _alone(
    aside: asyncpg.Connection,
    owner: str,
    databases: Sequence[str],
    statements: Sequence[str],
    tell: Tell = lambda _: None,
) -> None:
    """Run statements that need databases without sessions in one transaction, and end the sessions meanwhile.

    A statement keeps new sessions out only once it has begun, so one that came between is ended while it waits.
    """
    async with _aside(owner) as other:
        try:
            async with asyncio.timeout(_ALONE_S):
                while not await _is_done_alone(aside, other, databases, statements):
                    tell(f"Waiting for the sessions of {databases[0]} to end")
        except TimeoutError:
            raise Refused(
                f"Sessions of database {databases[0]} do not end, so it cannot be replaced."
            ) from None


async def _is_done_alone(
    aside: asyncpg.Connection,
    other: asyncpg.Connection,
    databases: Sequence[str],
    statements: Sequence[str],
) -> bool:
    """Try it once; return whether it was done: not, where a session did not end in the server's five seconds."""
    running = asyncio.ensure_future(_in_one_transaction(other, statements))
    try:
        while not running.done():
            await aside.fetchval(_STATEMENTS["end_sessions"], list(databases))
            await asyncio.wait({running}, timeout=_PAUSE_S)
        running.result()
    except asyncpg.ObjectInUseError:
        return False
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return True


async def _in_one_transaction(other: asyncpg.Connection, statements: Sequence[str]) -> None:
    async with other.transaction():
        for statement in statements:
            await other.execute(statement)


async def _drop(aside: asyncpg.Connection, name: str) -> None:
    """Drop a database with its sessions and slots."""
    async with asyncio.timeout(_ALONE_S):
        while True:
            await aside.fetchval(_STATEMENTS["end_sessions"], [name])
            with suppress(asyncpg.ObjectInUseError):
                await aside.fetch(_STATEMENTS["drop_slots"], name)
                await aside.execute(f"drop database if exists {compose.quoted(name)} with (force)")
                return
            await asyncio.sleep(_PAUSE_S)


async def _drop_behind(aside: asyncpg.Connection, owner: str, name: str, tell: Tell) -> None:
    """Have the database that was replaced dropped, and do not wait for a slow disk: a checkpoint belongs to that.

    A session that loses its client still ends its statement. What is left after all is dropped by the next start.
    """
    try:
        await aside.fetchval(_STATEMENTS["end_sessions"], [name])
        with suppress(asyncpg.ObjectInUseError):
            await aside.fetch(_STATEMENTS["drop_slots"], name)
        async with _aside(owner) as other:
            statement = f"drop database if exists {compose.quoted(name)} with (force)"
            task = asyncio.ensure_future(other.execute(statement))
            await asyncio.wait({task}, timeout=_DROP_S)
            is_slow = not task.done()
            if is_slow:
                other.terminate()
            failure = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(failure, Exception) and not is_slow:
            await _drop(aside, name)
        if not is_slow:
            await _drop_lost_logins(aside)
    except _FAILURES as error:
        tell(f"Note: the old database is still there as {name} ({error}); the next start drops it")
