"""How users of the project get in: end their sessions, remove factors and identities, act as one of them."""

from typing import Annotated

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext, Run
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.management.operations.users.auth_pool import call_auth, required_uuid, user_path
from workers.management.operations.users.details import ProjectUserReference

_LONGEST_S = 3600
_FACTOR, _PASSKEY = "factors", "passkeys"


class ProjectSessionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A session of a user."""

    id: str
    session_id: str


class ProjectFactorReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A second factor of a user."""

    id: str
    factor_id: str


class ProjectPasskeyReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A passkey of a user."""

    id: str
    passkey_id: str


class ProjectIdentityReference(Struct, frozen=True, forbid_unknown_fields=True):
    """An identity of a user."""

    id: str
    identity_id: str


class SignInAs(Struct, frozen=True, forbid_unknown_fields=True):
    """The user to act as, and for how many seconds, at most 3,600."""

    id: str
    lasts_s: Annotated[int, limits.number(1, _LONGEST_S)] = 15 * 60


class ActingToken(SecretRecord, Struct, frozen=True):
    """An access token of a user. It names no session, cannot be refreshed, and has the claim `act` with your name."""

    access_token: str
    token_type: str
    expires_in: int
    expires_at: int


async def sign_out(context: OperationContext, arguments: ProjectUserReference) -> Done:
    """End all sessions of a user. Access tokens that were issued stay valid until they expire."""
    await call_auth(context, "DELETE", user_path(arguments.id, "sessions"))
    return Done()


async def end_session(context: OperationContext, arguments: ProjectSessionReference) -> Done:
    """End one session of a user."""
    session_id = required_uuid(arguments.session_id, "session_id")
    await call_auth(context, "DELETE", user_path(arguments.id, "sessions", session_id))
    return Done()


async def remove_factor(context: OperationContext, arguments: ProjectFactorReference) -> Done:
    """Remove a second factor of a user; the sessions that it raised drop to aal1."""
    factor_id = required_uuid(arguments.factor_id, "factor_id")
    context.before = await call_auth(context, "DELETE", user_path(arguments.id, _FACTOR, factor_id))
    return Done()


async def remove_passkey(context: OperationContext, arguments: ProjectPasskeyReference) -> Done:
    """Remove a passkey of a user."""
    passkey_id = required_uuid(arguments.passkey_id, "passkey_id")
    await call_auth(context, "DELETE", user_path(arguments.id, _PASSKEY, passkey_id))
    return Done()


async def remove_identity(context: OperationContext, arguments: ProjectIdentityReference) -> Done:
    """Remove an identity of a user, not the last one."""
    identity_id = required_uuid(arguments.identity_id, "identity_id")
    await call_auth(context, "DELETE", user_path(arguments.id, "identities", identity_id))
    return Done()


async def sign_in_as(context: OperationContext, arguments: SignInAs) -> ActingToken:
    """Return a short-lived access token of a user. It reads and writes what the user may, but cannot change the account."""
    if not 1 <= arguments.lasts_s <= _LONGEST_S:
        raise invalid_arguments(f"`lasts_s` must be 1 to {_LONGEST_S} seconds")
    body = {"expires_in": arguments.lasts_s, "actor": context.actor.name}
    answer = await call_auth(context, "POST", user_path(arguments.id, "token"), body)
    if not isinstance(answer, dict):
        raise ManagementError(502, "unexpected_answer", "Auth answered without a token")
    context.after = {"expires_at": answer["expires_at"]}
    return ActingToken(**answer)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    developer = Right.DEVELOPER
    return [
        Operation(
            "users.sign_out",
            "End all sessions of a user",
            ProjectUserReference,
            Done,
            developer,
            sign_out,
            changes=True,
        ),
        Operation(
            "users.end_session",
            "End one session of a user",
            ProjectSessionReference,
            Done,
            developer,
            end_session,
            changes=True,
        ),
        _removal(
            "users.remove_factor", "Remove a user's second factor", ProjectFactorReference, remove_factor
        ),
        _removal("users.remove_passkey", "Remove a user's passkey", ProjectPasskeyReference, remove_passkey),
        _removal(
            "users.remove_identity", "Remove a user's identity", ProjectIdentityReference, remove_identity
        ),
        Operation(
            "users.sign_in_as",
            "Act as a user for some minutes",
            SignInAs,
            ActingToken,
            developer,
            sign_in_as,
            changes=True,
            is_confirmed=True,
        ),
    ]


def _removal(name: str, summary: str, arguments: type[Struct], run: Run) -> Operation:
    return Operation(name, summary, arguments, Done, Right.DEVELOPER, run, changes=True, is_confirmed=True)
