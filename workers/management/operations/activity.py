"""Operations on sessions of the database: what runs, who blocks whom, cancel and terminate."""

from typing import Any

from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.advisors.catalog import SAFE_SEARCH_PATH
from workers.management.errors import ManagementError, not_found
from workers.management.operation import Operation, OperationContext
from workers.management.operations.account import NoArguments
from workers.management.operations.statements import read
from workers.management.rights import Right
from workers.management.statistics.sessions import is_of_platform
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "statistics.sql")
_MOST_PID = 2**31 - 1


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
    started_at: str
    backend: str | None
    blocked_by: list[int]
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
    """A session of the database by its process number, of statistics.running."""

    pid: int


class SessionSignal(Struct, frozen=True):
    """Whether the signal was sent."""

    pid: int
    sent: bool


class SignalledSession(Struct, frozen=True):
    """What is known of a session that is to be signalled."""

    pid: int
    role: str | None
    application: str | None
    is_of_a_client: bool
    started_at: str


async def list_running(context: OperationContext, arguments: RunningQuery) -> list[RunningSession]:
    """Return sessions of this database, those with the oldest transactions first."""
    return await read(context, "running", RunningSession, arguments.include_idle, context.settings.max_rows)


async def list_locks(context: OperationContext, arguments: NoArguments) -> list[LockState]:
    """Return the locks of sessions that wait or that others wait for."""
    del arguments
    return await read(context, "locks", LockState, context.settings.max_rows)


async def cancel(context: OperationContext, arguments: DatabaseSessionReference) -> SessionSignal:
    """Cancel the statement that a session runs. Sessions of the platform need a confirmation."""
    return await _signal(context, "cancel", arguments.pid)


async def terminate(context: OperationContext, arguments: DatabaseSessionReference) -> SessionSignal:
    """End a session, whose transaction is rolled back. Sessions of the platform need a confirmation."""
    return await _signal(context, "terminate", arguments.pid)


async def _signal(context: OperationContext, name: str, pid: int) -> SessionSignal:
    """Signal a session as role postgres, which may signal all but superusers' sessions."""
    sessions = await read(context, "session_of", SignalledSession, pid) if 0 < pid <= _MOST_PID else []
    if not sessions:
        raise not_found("session of this `pid` in the database; statistics.running lists them")
    [session] = sessions
    context.before = session
    if is_of_platform(session.role, session.is_of_a_client) and not context.actor.is_confirmed:
        raise ManagementError(
            403,
            "needs_confirmation",
            f"Session {pid} belongs to the platform ({session.role}); statistics.{name} of it needs your password again",
            hint="POST /management/v1/confirm",
        )
    try:
        [_, rows] = await context.database.write(
            SAFE_SEARCH_PATH,
            statement(_SQL[name], pid, session.started_at),
            timeout_s=context.settings.statement_timeout_s,
        )
    except DatabaseError as error:
        if error.code != "42501":
            raise
        raise ManagementError(
            403,
            "no_right",
            f"Role postgres may not signal session {pid} of {session.role}: a superuser must do it",
        ) from None
    return SessionSignal(pid, bool(rows) and _is_true(rows[0][0]))


def _is_true(value: Any) -> bool:
    return bytes(value or b"") == b"true"


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
