"""The new password in PUT /user: whether it may be set, and its hash.

    new = await check(context, request, caller, ...)             not within a transaction: hashing takes time
    async with context.transaction() as transaction:
        ...                                                      users.lock
        await settle(transaction, caller, new)                   before the change is written
        await users.change(...)
        reject_same(new)                                         after all other checks

A stolen token must not serve to guess the password. Wrong current passwords are counted. That the new password equals the
old one is reported only when nothing else could reject the request any more: a wrong guess then becomes the password, which
the attacker cannot repeat. Source: docs/reference/auth.md, section 6.2.
"""

from dataclasses import dataclass, field
from datetime import timedelta

from workers.auth.accounts.codes.guessing import PasswordAttempt, password_attempt
from workers.auth.accounts.codes.one_time import OneTimeToken
from workers.auth.accounts.passwords.leaked import reject_weak
from workers.auth.accounts.passwords.strength import reject_unusable
from workers.auth.accounts.sessions import sessions
from workers.auth.flows import reauthentication
from workers.auth.http.caller import SignedInCaller
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.claims import is_recovery
from workers.auth.model.request import AuthRequest
from workers.database.transactions.interactive import Transaction

_FRESH = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A password that may be set; an empty digest removes the old one. `token` is the code that allows it."""

    digest: str = field(repr=False)
    is_same: bool = False
    token: OneTimeToken | None = None


async def check(
    context: EndpointContext,
    request: AuthRequest,
    caller: SignedInCaller,
    password: str,
    current: str,
    nonce: str,
) -> NewPassword:
    """Check whether the caller may set a password. Raises: AuthError, as the table of section 6.2 lists them."""
    user = caller.user
    if password:
        reject_unusable(password, context.strength)
        await reject_weak(context, password)
    token = None
    if _needs_code(context, caller):
        if not nonce:
            raise rejections.REAUTHENTICATION_NEEDED()
        token = await reauthentication.find(context, user, nonce)
    if user.encrypted_password and _needs_current(context, caller):
        guess = password_attempt(context.code_key, "user", str(user.id), address=request.device.address)
        await _require_current(context, guess, user.encrypted_password, current)
    if not password:
        return NewPassword("", token=token)
    stored = user.encrypted_password
    is_same = bool(stored) and (await context.hashing.verify(password, stored)).is_right
    return NewPassword(await context.hashing.hash(password), is_same, token)


async def settle(transaction: Transaction, caller: SignedInCaller, new: NewPassword) -> None:
    """Use up the code that allows the change, and end the user's other sessions. Raises: AuthError (422)."""
    if new.token is not None:
        await reauthentication.take(transaction, new.token)
    if caller.session is None:
        await sessions.end_all(transaction, caller.user.id)
    else:
        await sessions.end_others(transaction, caller.user.id, caller.session.id)


def reject_same(new: NewPassword) -> None:
    """Raise if the password is the user's current one. Raises: AuthError (422)."""
    if new.is_same:
        raise rejections.SAME_PASSWORD()


def _needs_code(context: EndpointContext, caller: SignedInCaller) -> bool:
    """Return whether the settings require a code: unless the session is fresh."""
    session = caller.session
    is_fresh = session is not None and context.now() < session.created_at + _FRESH
    return context.settings.email.secure_password_change and not is_fresh


def _needs_current(context: EndpointContext, caller: SignedInCaller) -> bool:
    """Return whether the settings require the current password; not after a sign-in by code, when the user may not know it."""
    came_by_code = caller.session is not None and is_recovery(caller.session.amr)
    return context.settings.email.require_current_password and not came_by_code


async def _require_current(
    context: EndpointContext, guess: PasswordAttempt, stored: str, current: str
) -> None:
    """Raise unless the current password is correct. Raises: AuthError (400); (429) while attempts have to wait."""
    if not current:
        raise rejections.CURRENT_PASSWORD_REQUIRED()
    async with context.transaction() as transaction:
        await guess.reject_early(transaction)
    is_right = (await context.hashing.verify(current, stored)).is_right
    async with context.transaction() as transaction:
        await (guess.succeeded(transaction) if is_right else guess.failed(transaction))
    if not is_right:
        raise rejections.CURRENT_PASSWORD_INVALID()
