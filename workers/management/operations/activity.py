"""Operations on sessions of the database: what runs, who blocks whom, cancel and terminate."""

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.areas.sql.signals import repeat_signal
from workers.management.areas.statistics.reading import SESSION_SETTINGS, SQL, read_statistics
from workers.management.areas.statistics.sessions import does_platform_work, is_of_platform
from workers.management.areas.statistics.texts import without_constants
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_MOST_PID = 2**31 - 1
_RUNNING = ("active", "fastpath function call")


class RunningQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Sessions that do something, or all."""

    include_idle: bool = False


class RunningSession(Struct, frozen=True):
    """A session: its last statement, since when it runs, what it waits for, and the sessions that block it."""

    pid: int
    role: str | None
    application: str | None
    address: str | None
    state: str | None
    text: str | None
    backend: str | None
    blocked_by: list[int]
    started_at: str | None = None
    transaction_s: float | None = None
    statement_s: float | None = None
    wait: str | None = None


class LockState(Struct, frozen=True):
    """A lock that is awaited or blocks others."""

    pid: int
    mode: str
    kind: str
    is_granted: bool
    blocked_by: list[int]
    schema: str | None = None
    relation: str | None = None
    waits_s: float | None = None


class DatabaseSessionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A session by its process number; with `started_at`, as statistics.running shows it, a later process of that number is left alone."""

    pid: int
    started_at: str | None = None


class SessionSignal(Struct, frozen=True):
    """Whether the signal was sent (there was still something to end), and whether the statement or session has ended."""

    pid: int
    sent: bool
    ended: bool


class SignalledSession(Struct, frozen=True):
    """What is known of a session that is to be signalled."""

    pid: int
    role: str | None
    application: str | None
    is_of_a_client: bool
    state: str | None = None
    started_at: str | None = None
    statement_at: str | None = None


async def list_running(context: OperationContext, arguments: RunningQuery) -> list[RunningSession]:
    """Return sessions of this database, those with the oldest transactions first. Readers see texts without their constants."""
    sessions = await read_statistics(
        context, "running", RunningSession, arguments.include_idle, context.settings.max_rows
    )
    if context.actor.rights.includes(Right.DEVELOPER):
        return sessions
    return [
        msgspec.structs.replace(session, text=session.text and without_constants(session.text))
        for session in sessions
    ]


async def list_locks(context: OperationContext, arguments: NoArguments) -> list[LockState]:
    """Return the locks that sessions wait for, and those that keep them waiting. `blocked_by` 0 is a prepared transaction."""
    del arguments
    return await read_statistics(context, "locks", LockState, context.settings.max_rows)


async def cancel(context: OperationContext, arguments: DatabaseSessionReference) -> SessionSignal:
    """Cancel the statement that a session runs. The platform's own statements need a confirmation."""
    session = await _session(context, arguments)
    if session.state not in _RUNNING:
        raise ManagementError(
            409,
            "not_running",
            f"Session {session.pid} runs no statement ({session.state or 'state unknown'})",
            hint="statistics.terminate ends the session and rolls its transaction back.",
        )
    _check_confirmation(
        context, session, does_platform_work(session.role, session.is_of_a_client), "statistics.cancel"
    )
    return await _signal(context, "cancel", session, session.statement_at)


async def terminate(context: OperationContext, arguments: DatabaseSessionReference) -> SessionSignal:
    """End a session, whose transaction is rolled back. Sessions of the platform need a confirmation."""
    session = await _session(context, arguments)
    _check_confirmation(
        context, session, is_of_platform(session.role, session.is_of_a_client), "statistics.terminate"
    )
    return await _signal(context, "terminate", session)


async def _session(context: OperationContext, arguments: DatabaseSessionReference) -> SignalledSession:
    """Return the session of the arguments. Raises: ManagementError (404)."""
    sessions: list[SignalledSession] = []
    if 0 < arguments.pid <= _MOST_PID:
        sessions = await read_statistics(context, "session_of", SignalledSession, arguments.pid)
    if not sessions or arguments.started_at not in (None, sessions[0].started_at):
        raise not_found("session of this `pid` in the database; statistics.running lists them")
    context.before = sessions[0]
    return sessions[0]


def _check_confirmation(
    context: OperationContext, session: SignalledSession, is_needed: bool, name: str
) -> None:
    if is_needed and not context.actor.is_confirmed:
        raise ManagementError(
            403,
            "needs_confirmation",
            f"Session {session.pid} belongs to the platform ({session.role}): {name} of it needs your password again",
            hint="POST /management/v1/confirm",
        )


async def _signal(
    context: OperationContext, name: str, session: SignalledSession, *more: str | None
) -> SessionSignal:
    """Signal a session until it ended, as role postgres, which may signal all sessions but those of superusers."""

    async def send(pids: list[int]) -> list[int]:
        [_, rows] = await context.database.write(
            SESSION_SETTINGS,
            statement(SQL[name], *pids, session.started_at, *more),
            timeout_s=context.settings.statement_timeout_s,
        )
        return pids if rows else []

    try:
        signalled = await send([session.pid])
        remaining = await repeat_signal(signalled, send)
    except DatabaseError as error:
        if error.code != "42501":
            raise
        raise ManagementError(
            403,
            "no_right_of_postgres",
            f"Role postgres may not signal session {session.pid} of {session.role}: a superuser must do it",
        ) from None
    return SessionSignal(session.pid, bool(signalled), not remaining)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("statistics.running", "List running statements", RunningQuery, list[RunningSession], reader, list_running),
        Operation("statistics.locks", "List locks that block", NoArguments, list[LockState], reader, list_locks),
        Operation(
            "statistics.cancel", "Cancel a statement", DatabaseSessionReference, SessionSignal, developer, cancel, changes=True
        ),
        Operation(
            "statistics.terminate", "End a session of the database", DatabaseSessionReference, SessionSignal, developer,
            terminate, changes=True,
        ),
    ]  # fmt: skip
