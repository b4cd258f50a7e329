"""Operations on one's own account: who am I, my password, my sessions."""

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.model import AdministratorSession
from workers.management.interface.identity.secrets import password_fault
from workers.management.interface.identity.store import as_uuid, execute, fetch
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.interface.role_limits import RoleLimits


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """An operation without arguments."""


class Me(Struct, frozen=True):
    """The sender of the request, and the sender's rights."""

    name: str
    rights: Right
    may_write: bool
    is_confirmed: bool
    administrator_id: str | None
    session_id: str | None
    role: RoleLimits | None = None
    """The role that limits the sender."""


class PasswordChange(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """A new password of one's own, 12 characters or more."""

    password: str


class SessionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A session by its id."""

    id: str


class Done(Struct, frozen=True):
    """The operation is done."""

    done: bool = True


async def me(context: OperationContext, arguments: NoArguments) -> Me:
    """Return who sends the request."""
    del arguments
    actor = context.actor
    return Me(
        actor.name,
        actor.rights,
        actor.may_write,
        actor.is_confirmed,
        actor.administrator_id,
        actor.session_id,
        actor.limits,
    )


async def set_password(context: OperationContext, arguments: PasswordChange) -> Done:
    """Set one's own password; every other session ends."""
    actor = context.actor
    if actor.session_id is None:
        raise ManagementError(400, "needs_session", "A token has no password; sign in to set yours")
    if fault := password_fault(arguments.password):
        raise invalid_arguments(fault)
    pool = await context.database.own()
    await execute(
        pool, "set_password", actor.administrator_id, await context.hashing.hash(arguments.password)
    )
    await execute(pool, "end_sessions_of", actor.administrator_id, actor.session_id)
    return Done()


async def end_other_sessions(context: OperationContext, arguments: NoArguments) -> Done:
    """End all of one's own sessions but the one that sends this request."""
    del arguments
    actor = context.actor
    if actor.administrator_id is None:
        raise ManagementError(400, "needs_session", "The command line has no sessions")
    pool = await context.database.own()
    await execute(pool, "end_sessions_of", actor.administrator_id, actor.session_id)
    return Done()


async def list_sessions(context: OperationContext, arguments: NoArguments) -> list[AdministratorSession]:
    """Return one's own sessions, the last used first; an owner gets those of all."""
    del arguments
    mine = context.actor.scope
    pool = await context.database.own()
    current = context.actor.session_id
    return await fetch(pool, "sessions", AdministratorSession, mine, context.settings.session_idle_s, current)


async def end_session(context: OperationContext, arguments: SessionReference) -> Done:
    """End a session; only an owner may end that of another administrator."""
    session_id = as_uuid(arguments.id)
    mine = context.actor.scope
    pool = await context.database.own()
    if session_id is None or not await execute(pool, "end_session", session_id, mine):
        raise not_found(f"session {arguments.id}")
    return Done()


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("account.me", "Who sends the request", NoArguments, Me, Right.READER, me),
        Operation(
            "account.set_password",
            "Set one's own password",
            PasswordChange,
            Done,
            Right.READER,
            set_password,
            changes=True,
            is_confirmed=True,
            secrets=frozenset({"password"}),
        ),
        Operation(
            "account.sessions",
            "List sessions",
            NoArguments,
            list[AdministratorSession],
            Right.READER,
            list_sessions,
        ),
        Operation(
            "account.end_session",
            "End a session",
            SessionReference,
            Done,
            Right.READER,
            end_session,
            changes=True,
        ),
        Operation(
            "account.end_other_sessions",
            "End one's own sessions but this one",
            NoArguments,
            Done,
            Right.READER,
            end_other_sessions,
            changes=True,
        ),
    ]
