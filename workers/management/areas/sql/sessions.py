"""Opens sessions for SQL that a person wrote, and ends every one of them.

The login decides what the text can reach, whatever it says (`set role`, `reset role`, `set session authorization`): that of
developers is a member of `postgres` alone, that of readers of `supabase_read_only_user` alone. The login behind `view as` may
become each role of tokens, the service role too, so only developers get a session of it for a text of theirs.

Limits that the text can undo (`statement_timeout`, catching `query_canceled`) are for its good. Those that it cannot:

- A reading session has begun a read-only transaction and taken a snapshot, after which PostgreSQL lets no statement make the
  transaction writable again; a statement that ends the transaction is the last one that runs (run.py).
- A session that still runs when its time is over is terminated by its process id from another connection. A backend reacts
  to that inside any loop, and SQL cannot catch it.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from schemas.database_logins import DEVELOPER, READER, SESSION_LOGINS, VIEWER
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.interactive import statement
from workers.management.areas.sql.session import SqlSession
from workers.management.areas.sql.signals import repeat_signal
from workers.management.interface.backends.database import ROLE_OF_LOGIN, ManagementDatabase
from workers.management.interface.caller import ViewAs, caller_settings
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.management.interface.rights import Right

_TERMINATE_S = 5.0
_CLOSE_S = 2.0
_CANCEL = (
    "select pid::pg_catalog.text, pg_catalog.pg_cancel_backend(pid)::pg_catalog.text from pg_catalog.pg_stat_activity"
    " where application_name operator(pg_catalog.=) $1 and usename operator(pg_catalog.=) session_user"
    " and pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()"
    " and ($2 operator(pg_catalog.=) '' or pid operator(pg_catalog.=) any ($2::pg_catalog.int4[]))"
)
_TERMINATE = "select pg_catalog.pg_terminate_backend($1::pg_catalog.int4)"


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A session to open: its login, settings in the order in which they are applied, and whether it may write."""

    login: str
    settings: list[tuple[str, str]]
    is_read_only: bool
    timeout_s: float
    name: str
    longest_message: int = 1024 * 1024


async def session_spec(
    context: OperationContext,
    *,
    view_as: ViewAs | None,
    is_read_only: bool,
    timeout_s: float,
    as_reader: bool = False,
    run_id: str = "",
    longest_message: int = 1024 * 1024,
) -> SessionSpec:
    """Return the session that an actor gets for a text. Raises: ManagementError."""
    if view_as is not None:
        if as_reader:
            raise invalid_arguments("Send `view_as` or `as_reader`")
        if not context.actor.rights.includes(Right.DEVELOPER):
            raise ManagementError(
                403,
                "no_right",
                "SQL as a caller of the interfaces needs the rights of a developer: such a session can become every role of tokens",
                hint="rows.list shows a table as a caller sees it, with the rights of a reader.",
            )
        login, settings = VIEWER, await caller_settings(context, view_as)
    else:
        is_developer = context.actor.rights.includes(Right.DEVELOPER) and not as_reader
        login = DEVELOPER if is_developer else READER
        settings = [("role", ROLE_OF_LOGIN[login])]
    if login == READER:
        is_read_only = True
    milliseconds = str(round(timeout_s * 1000))
    name = application_name(context, run_id)
    settings = [("statement_timeout", milliseconds), *settings]
    return SessionSpec(login, settings, is_read_only, timeout_s, name, longest_message)


def application_name(context: OperationContext, run_id: str) -> str:
    """Return the name of a run in pg_stat_activity: the same id of two administrators names two runs."""
    actor = context.actor
    owner = actor.administrator_id or actor.token_id or actor.name
    digest = hashlib.sha256(f"{owner}\0{run_id or context.request_id}".encode()).hexdigest()
    return f"headwater sql {digest[:40]}"


@asynccontextmanager
async def open_session(database: ManagementDatabase, spec: SessionSpec) -> AsyncIterator[SqlSession]:
    """Yield a session; it is ended with the block, whatever its text did. Raises: ManagementError (503), Disconnected."""
    held = await hold_session(database, spec)
    try:
        yield held.session
    finally:
        await asyncio.shield(held.end())


@dataclass(slots=True)
class HeldSession:
    """A session that is in use until `end` is called."""

    session: SqlSession
    database: ManagementDatabase
    spec: SessionSpec
    is_ended: bool = False

    async def end(self) -> None:
        """Close the session; terminate it at the server if something still runs in it. Can be called twice."""
        if self.is_ended:
            return
        self.is_ended = True
        try:
            if self.session.is_running and self.session.process_id:
                await self._terminate()
                self.session.abort()
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self.session.close()
        finally:
            self.database.release_place()

    async def _terminate(self) -> None:
        terminating = statement(_TERMINATE, self.session.process_id)
        with suppress(DatabaseError, Disconnected, PoolTimeout, TimeoutError):
            async with asyncio.timeout(_TERMINATE_S):
                await self.database.run_as_login(self.spec.login, terminating, timeout_s=_TERMINATE_S)


async def hold_session(database: ManagementDatabase, spec: SessionSpec) -> HeldSession:
    """Open a session with its role, settings and transaction. Raises: ManagementError (503), DatabaseError, Disconnected."""
    await database.take_place()
    try:
        url = await database.session_url(spec.login)
        session = await SqlSession.open(url, spec.name, longest_message=spec.longest_message)
    except BaseException:
        database.release_place()
        raise
    held = HeldSession(session, database, spec)
    try:
        await _prepare(session, spec)
    except BaseException:
        await asyncio.shield(held.end())
        raise
    return held


async def _prepare(session: SqlSession, spec: SessionSpec) -> None:
    """Apply the settings; begin the transaction of a reading session and take its snapshot."""
    count = len(spec.settings)
    calls = (f"pg_catalog.set_config(${2 * i + 1}, ${2 * i + 2}, false)" for i in range(count))
    values = [text.encode() for pair in spec.settings for text in pair]
    await session.command(f"select {', '.join(calls)}", values)
    if spec.is_read_only:
        await session.command("begin read only")
        await session.command("select 1")


async def cancel_run(context: OperationContext, run_id: str) -> int:
    """Cancel one's own run; return how many sessions it had. Raises: DatabaseError, Disconnected.

    A run may be between two statements, so the sessions that were there are signalled again until they are gone; a later run of
    the same id has a session of its own.
    """
    name = application_name(context, run_id)

    async def signal(sessions: list[tuple[str, str]]) -> list[tuple[str, str]]:
        present = []
        for login in dict.fromkeys(login for login, _ in sessions):
            pids = ",".join(pid for owner, pid in sessions if owner == login)
            present += [(login, pid) for pid in await _cancel_sessions(context, login, name, f"{{{pids}}}")]
        return present

    sessions = [
        (login, pid) for login in SESSION_LOGINS for pid in await _cancel_sessions(context, login, name, "")
    ]
    await repeat_signal(sessions, signal)
    return len(sessions)


async def _cancel_sessions(context: OperationContext, login: str, name: str, pids: str) -> list[str]:
    """Cancel what the sessions of a name run, all or those of `pids` (an array as text); return their process ids."""
    rows = await context.database.run_as_login(
        login, statement(_CANCEL, name, pids), timeout_s=context.settings.statement_timeout_s
    )
    return [pid.decode() for pid, _ in rows if pid is not None]
