"""The new password in PUT /user: whether it may be set, and what is kept of it.

    new = await check(accounts, asked, caller, ...)              not within a transaction: hashes take their time
    async with accounts.transaction() as transaction:
        ...                                                      users.lock
        await settle(transaction, caller, new)                   before the change is written
        await users.change(...)
        refuse_same(new)                                         when all else is done

Who holds a stolen token must not learn by it whether he guesses the password right. Wrong current passwords are counted.
That the new password is the old one is told when nothing else could refuse the request any more: a wrong guess becomes
the password, and so is one too many. Source: reference page "auth", section 6.2.
"""

from dataclasses import dataclass, field
from datetime import timedelta

from workers.auth.accounts.codes import reauthentication
from workers.auth.accounts.codes.guessing import Guess, guess_at
from workers.auth.accounts.codes.one_time import Token
from workers.auth.accounts.passwords.leaked import refuse_weak
from workers.auth.accounts.passwords.strength import refuse_unusable
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.sessions.claims import is_recovery
from workers.auth.context import Accounts
from workers.auth.http.endpoints.present import Present
from workers.auth.model import rejections
from workers.auth.model.request import Asked
from workers.database.interactive import Transaction

_FRESH = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A password that may be set; an empty digest takes the old one away. `token` is the code that allows it."""

    digest: str = field(repr=False)
    is_same: bool = False
    token: Token | None = None


async def check(
    accounts: Accounts, asked: Asked, caller: Present, password: str, current: str, nonce: str
) -> NewPassword:
    """See whether the caller may set a password. Raises: AuthError as the table of section 6.2 lists them."""
    user = caller.user
    if password:
        refuse_unusable(password, accounts.strength)
        await refuse_weak(accounts, password)
    token = None
    if _needs_code(accounts, caller):
        if not nonce:
            raise rejections.REAUTHENTICATION_NEEDED()
        token = await reauthentication.find(accounts, user, nonce)
    if user.encrypted_password and _needs_current(accounts, caller):
        guess = guess_at(accounts.code_key, "user", str(user.id), address=asked.device.address)
        await _refuse_wrong(accounts, guess, user.encrypted_password, current)
    if not password:
        return NewPassword("", token=token)
    stored = user.encrypted_password
    is_same = bool(stored) and (await accounts.hashing.verify(password, stored)).is_right
    return NewPassword(await accounts.hashing.hash(password), is_same, token)


async def settle(transaction: Transaction, caller: Present, new: NewPassword) -> None:
    """Use up the code that allows the change, and end the user's other sessions. Raises: AuthError (422)."""
    if new.token is not None:
        await reauthentication.take(transaction, new.token)
    if caller.session is None:
        await sessions.end_all(transaction, caller.user.id)
    else:
        await sessions.end_others(transaction, caller.user.id, caller.session.id)


def refuse_same(new: NewPassword) -> None:
    """Raise if the password is the one that the user has already. Raises: AuthError (422)."""
    if new.is_same:
        raise rejections.SAME_PASSWORD()


def _needs_code(accounts: Accounts, caller: Present) -> bool:
    """Tell whether the settings want a code: unless the session is fresh."""
    session = caller.session
    is_fresh = session is not None and accounts.now() < session.created_at + _FRESH
    return accounts.settings.email.secure_password_change and not is_fresh


def _needs_current(accounts: Accounts, caller: Present) -> bool:
    """Tell whether the settings want the current password, which those need not know who came in by a code."""
    came_by_code = caller.session is not None and is_recovery(caller.session.used)
    return accounts.settings.email.require_current_password and not came_by_code


async def _refuse_wrong(accounts: Accounts, guess: Guess, stored: str, current: str) -> None:
    """Raise without the current password. Raises: AuthError (400); (429) while tries have to wait."""
    if not current:
        raise rejections.CURRENT_PASSWORD_REQUIRED()
    async with accounts.transaction() as transaction:
        await guess.refuse_early(transaction)
    is_right = (await accounts.hashing.verify(current, stored)).is_right
    async with accounts.transaction() as transaction:
        await (guess.succeeded(transaction) if is_right else guess.failed(transaction))
    if not is_right:
        raise rejections.CURRENT_PASSWORD_INVALID()
