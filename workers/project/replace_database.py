"""Replaces a database by a new one. A kill at any moment leaves either the complete old or the complete new database.

Postgres renames databases inside a transaction, so both renames of an exchange are one commit: a database of that name exists
at all times. Which of the following names exist shows how far a replacement got; no other record is kept.

    beside (restore)                                      in place (reset)
    postgres        old, in use                           postgres          old, in use
    headwater_next  new, being filled                     headwater_next    new, empty
      -- one transaction --                                 -- one transaction --
    postgres            new                               postgres          new, being filled, closed
    headwater_replaced  old, being dropped                headwater_before  old, untouched
                                                            -- one transaction --
                                                          postgres            new, open
                                                          headwater_replaced  old, being dropped

    existing name          what `recover` does
    headwater_before       exchanges it back: the new database was not complete
    headwater_next         drops it: it was not exchanged
    headwater_replaced     drops it: the new database is in use

"In place" is for work that needs the database's final name while it is filled: a project's migrations say
`alter database postgres set ...`. "Beside" is for everything else: the old database serves requests until the exchange.

A rename needs a database without sessions. The statement itself blocks new ones (they wait for its lock) and waits five
seconds for existing ones to end, so another session terminates them meanwhile. Pools reconnect by themselves, and the WAL
reader creates a new slot. Roles belong to the server and stay.

A session on template1 holds an advisory lock during the work. A process that does not get the lock changes nothing: another
process is replacing the database, or the last statement of a killed one still runs in the server.
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
from workers.project.errors import ProjectRejected
from workers.project.project_connection import in_database, open_as_superuser
from workers.sql import compose
from workers.sql.files import read_statements

Report = Callable[[str], None]
LOCK = 0x68656166
"""Advisory lock, on template1, of the process that replaces a database of the server."""
NEXT, BEFORE, REPLACED = "headwater_next", "headwater_before", "headwater_replaced"

_STATEMENTS = read_statements("workers.project", "replace_database.sql")
_ASIDE = "template1"
_USUAL = "postgres"
_ALONE_S = 15.0
_PAUSE_S = 0.05
_DROP_S = 0.5
_LOCK_S = 10.0
"""How long to wait for the last statement of a killed process, which the server still executes."""
_PUBLIC_RIGHTS = ("CONNECT", "TEMPORARY")
_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class DatabaseNames:
    """The name of a database, and the names used beside it during a replacement."""

    current: str
    next: str
    before: str
    replaced: str

    @property
    def all(self) -> list[str]:
        """All four names."""
        return [self.current, self.next, self.before, self.replaced]


def names_beside(name: str) -> DatabaseNames:
    """Return the names for a database; they differ for each database of the same server (pure)."""
    suffix = "" if name == _USUAL else f"_{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    return DatabaseNames(name, NEXT + suffix, BEFORE + suffix, REPLACED + suffix)


def database_of(url: str) -> str:
    """Return the name of the database of a URL (pure)."""
    return unquote(urlsplit(url).path.lstrip("/")) or _USUAL


async def replace_beside(owner: str, fill: Callable[[str], Awaitable[None]], report: Report) -> None:
    """Fill an empty database beside the one in a superuser's URL, and exchange both in one transaction.

    `fill` gets the URL of the new one. A failure before the exchange leaves the old one unchanged.
    Raises: ProjectRejected if it cannot be started; what `fill` raises; the driver's errors.
    """
    async with _replacing(owner) as (aside, names):
        rights = await _public_rights(aside, names.current)
        await _make_next(aside, names)
        try:
            report("Filling the new database")
            await fill(in_database(owner, names.next))
            report("Exchanging the databases")
            renames = _renamed(names.current, names.replaced), _renamed(names.next, names.current)
            await _alone(
                aside,
                owner,
                [names.current, names.next],
                [*renames, *_granted(names.current, rights)],
                report,
            )
        except BaseException:
            await _undo(aside, owner, names)
            raise
        report("The new database is in its place; dropping the old one")
        await _drop_replaced(aside, owner, names.replaced, report)


async def replace_in_place(owner: str, fill: Callable[[], Awaitable[None]], report: Report) -> None:
    """Exchange the database of a superuser's URL for an empty one, fill that, and drop the old one.

    Meanwhile only role postgres can connect to it. A failure restores the old one. Raises: as `replace_beside`.
    """
    async with _replacing(owner) as (aside, names):
        rights = await _public_rights(aside, names.current)
        await _make_next(aside, names)
        try:
            renames = _renamed(names.current, names.before), _renamed(names.next, names.current)
            await _alone(aside, owner, [names.current, names.next], renames, report)
            report("Filling the new database")
            await fill()
            done = [_renamed(names.before, names.replaced), *_granted(names.current, rights)]
            await _alone(aside, owner, [names.before], done, report)
        except BaseException:
            await _undo(aside, owner, names)
            raise
        report("The new database is whole; dropping the old one")
        await _drop_replaced(aside, owner, names.replaced, report)


async def recover(owner: str) -> bool:
    """Undo or finish a replacement that was killed and remove what it left; return whether there was one.

    Does nothing while another process holds the lock. Raises: ProjectRejected; the driver's errors.
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
    """Recover before a start. If the server does not answer, the next step of the start reports it."""
    if url := environment.get("HEADWATER_MIGRATE_URL"):
        with suppress(*_FAILURES, ProjectRejected):
            if asyncio.run(recover(url)):
                event = "What an interrupted restore or reset of the database left has been removed"
                print(json.dumps({"level": "notice", "event": event}), flush=True)


@asynccontextmanager
async def _replacing(owner: str) -> AsyncIterator[tuple[asyncpg.Connection, DatabaseNames]]:
    """Yield a session on template1 that holds the lock, after removing what an earlier replacement left."""
    names = names_beside(database_of(owner))
    async with _aside(owner) as aside:
        if not await _is_locked(aside, _LOCK_S):
            raise ProjectRejected("Another restore or reset is under way on this database server.")
        await _tidy(aside, owner, names)
        yield aside, names


@asynccontextmanager
async def _aside(url: str) -> AsyncIterator[asyncpg.Connection]:
    async with open_as_superuser(in_database(url, _ASIDE)) as connection:
        await connection.execute(_STATEMENTS["settle"])
        yield connection


async def _is_locked(aside: asyncpg.Connection, seconds: float) -> bool:
    """Try to take the lock for up to `seconds`; return whether it was taken."""
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
    """Create the empty database, without the right to connect for PUBLIC."""
    await aside.execute(f"create database {compose.quoted(names.next)} template template0")
    await aside.execute(f"revoke connect, temporary on database {compose.quoted(names.next)} from public")


async def _undo(aside: asyncpg.Connection, owner: str, names: DatabaseNames) -> None:
    """Undo the replacement after a failure; what cannot be undone now, the next start undoes."""
    with suppress(*_FAILURES, ProjectRejected):
        await asyncio.shield(_tidy(aside, owner, names))


async def _tidy(aside: asyncpg.Connection, owner: str, names: DatabaseNames) -> bool:
    """Act on existing names as the table at the top says; return whether there was anything to do."""
    existing = await _existing(aside, names)
    if names.before in existing:
        back = [_renamed(names.before, names.current), *_granted(names.current, _PUBLIC_RIGHTS)]
        if names.current in existing:
            if names.next in existing:
                await _drop(aside, names.next)
            back.insert(0, _renamed(names.current, names.next))
            existing.add(names.next)
        await _alone(aside, owner, [names.current, names.before], back)
    if names.next in existing:
        await _drop(aside, names.next)
    if names.replaced in existing:
        await _drop(aside, names.replaced)
    await _drop_lost_logins(aside)
    return bool(existing - {names.current})


async def _drop_lost_logins(aside: asyncpg.Connection) -> None:
    """Drop the throwaway logins of databases that do not exist any more."""
    for row in await aside.fetch(_STATEMENTS["lost_logins"], list(LOGIN_PREFIXES)):
        with suppress(asyncpg.DependentObjectsStillExistError, asyncpg.UndefinedObjectError):
            await aside.execute(f"drop role {compose.quoted(row['name'])}")


def _renamed(old: str, new: str) -> str:
    return f"alter database {compose.quoted(old)} rename to {compose.quoted(new)}"


def _granted(name: str, rights: Sequence[str]) -> list[str]:
    """Return the statements that grant PUBLIC rights on a database (pure)."""
    return [f"grant {right} on database {compose.quoted(name)} to public" for right in rights]


async def _alone(
    aside: asyncpg.Connection,
    owner: str,
    databases: Sequence[str],
    statements: Sequence[str],
    report: Report = lambda _: None,
) -> None:
    """Run statements that need databases without sessions in one transaction, and terminate the sessions meanwhile.

    A statement blocks new sessions only once it has started, so sessions that connect before are terminated while it waits.
    """
    async with _aside(owner) as other:
        try:
            async with asyncio.timeout(_ALONE_S):
                while not await _try_alone(aside, other, databases, statements):
                    report(f"Waiting for the sessions of {databases[0]} to end")
        except TimeoutError:
            raise ProjectRejected(
                f"Sessions of database {databases[0]} do not end, so it cannot be replaced."
            ) from None


async def _try_alone(
    aside: asyncpg.Connection,
    other: asyncpg.Connection,
    databases: Sequence[str],
    statements: Sequence[str],
) -> bool:
    """Run the statements once; return False if a session did not end within the server's five seconds."""
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
    """Drop a database with its sessions and replication slots."""
    async with asyncio.timeout(_ALONE_S):
        while True:
            await aside.fetchval(_STATEMENTS["end_sessions"], [name])
            with suppress(asyncpg.ObjectInUseError):
                await aside.fetch(_STATEMENTS["drop_slots"], name)
                await aside.execute(f"drop database if exists {compose.quoted(name)} with (force)")
                return
            await asyncio.sleep(_PAUSE_S)


async def _drop_replaced(aside: asyncpg.Connection, owner: str, name: str, report: Report) -> None:
    """Drop the replaced database without waiting for a slow disk: dropping includes a checkpoint.

    The server finishes the statement of a session that lost its client. A database that still remains is dropped by the next start.
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
        report(f"Note: the old database is still there as {name} ({error}); the next start drops it")
