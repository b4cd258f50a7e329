"""Sign-ins of known users that were refused, in the audit log: each in a transaction of its own, for the refusal rolls
back the one in which it is found.

    async with noted(accounts, asked, "email") as trying:
        async with accounts.transaction() as transaction:
            trying.user = user = ...                      from here on it is known who tries
            raise refusals.USER_BANNED()                  noted

What nobody may learn from an answer, he may not learn from its time either: where an address and a secret were typed,
`note_wrong` does the same work for an address that nobody has, and no commit waits for the disk.
Source: reference page "auth", section 16.10.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import msgspec

from workers.auth.accounts.users import identities, users
from workers.auth.audit import Action, is_told_to_log, payload_of
from workers.auth.context import Accounts
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.database.interactive import Transaction, statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.passwords", "login_failures.sql")
_NOBODY = User(UUID(int=0))
_TOO_MANY, _OURS = 429, 500


@dataclass(slots=True)
class Trying:
    """Who tries to sign in, once it is known, and by which provider."""

    provider: str
    user: User | None = None


@asynccontextmanager
async def noted(
    accounts: Accounts, asked: Asked, provider: str = "", *, subject: str = ""
) -> AsyncIterator[Trying]:
    """Note refusals within the block, if it is known whose sign-in they refuse; never within a transaction.

    `subject` is how the provider calls its user, by which he may be known here. Requests that come too often are not
    noted, for they shall cost nothing; nor is what is no fault of the caller.
    """
    trying = Trying(provider)
    try:
        yield trying
    except (AuthError, OAuthError) as error:
        if error.status != _TOO_MANY and error.status < _OURS:
            reason = error.code.value if isinstance(error, AuthError) else error.error
            async with accounts.transaction() as transaction:
                user = trying.user or await _known(transaction, provider, subject)
                if user is not None:
                    await note(accounts, transaction, asked, user, trying.provider, reason)
        raise


async def note_wrong(
    accounts: Accounts, transaction: Transaction, asked: Asked, user: User | None, provider: str
) -> None:
    """Note a wrong password or code that was typed with an address: of a user, or of nobody."""
    await note(accounts, transaction, asked, user, provider, Code.INVALID_CREDENTIALS.value)


async def note(
    accounts: Accounts, transaction: Transaction, asked: Asked, user: User | None, provider: str, reason: str
) -> None:
    """Note a sign-in that was refused; with the same work nothing, if there is no user."""
    if is_told_to_log(accounts, asked, Action.LOGIN_FAILED, user):
        return
    traits = {"provider": provider, "reason": reason}
    payload = msgspec.json.encode(payload_of(Action.LOGIN_FAILED, user or _NOBODY, traits))
    inserted = statement(_SQL["insert"], payload, asked.device.address, user is not None)
    await transaction.run(statement(_SQL["do_not_wait"]), inserted)


async def _known(transaction: Transaction, provider: str, subject: str) -> User | None:
    if not subject:
        return None
    identity = await identities.find(transaction, provider, subject)
    return None if identity is None else await users.find_by_id(transaction, identity.user_id)
