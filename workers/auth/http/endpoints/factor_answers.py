"""POST /factors/{id}/verify: the right answer raises the session to aal2. Source: reference page "auth", section 9.3.

In three steps: the answer is compared and counted and the challenge used up, in one transaction; it is decided whether
it counts; the factor and the session are changed, in another. Between them others may have changed everything, so what
the first step found is looked up again.
"""

from dataclasses import replace
from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth.accounts.codes.limits import take
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.factors import factors
from workers.auth.factors.factor_notices import Change, tell
from workers.auth.factors.factor_verdict import Attempt, record, refuse_invalid
from workers.auth.factors.second_factor import Answer, Later
from workers.auth.http.endpoints.factor_owner import (
    answer_limit,
    challenge_limits,
    kind_named,
    named_factor,
    owner,
    refuse_switched_off,
)
from workers.auth.model import rejections
from workers.auth.model.request import Asked, answer


class Answering(msgspec.Struct):
    """An answer to a challenge."""

    challenge_id: UUID | None = None
    code: str = ""
    webauthn: Shown | None = None


async def verify(accounts: Accounts, asked: Asked) -> Response:
    """Give a session at aal2 for a right answer. Raises: AuthError as section 9.3 lists them."""
    await take(accounts.database, answer_limit(accounts.settings.mfa, "verify"), asked.device.address)
    attempt = await _compare(accounts, asked, asked.read(Answering))
    await refuse_invalid(accounts, asked, attempt)
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        factor = await named_factor(transaction, asked, caller.user)
        factors.refuse_shortcut(caller.user, caller.session, factor)
        is_new = await factors.confirm(transaction, factor, accounts.now())
        method = kind_named(factor.factor_type).method
        granted = await sessions.raise_level(
            transaction, accounts.vault, caller.session, method, factor.id, asked.device
        )
        user = await users.find_by_id(transaction, caller.user.id) or caller.user
    shown = await accounts.session_shown(user, granted)
    if is_new:
        await tell(accounts, user, Change.ENROLLED, factor.factor_type)
    return answer(shown)


async def _compare(accounts: Accounts, asked: Asked, body: Answering) -> Attempt:
    """Tell whether an answer is right, and count it; each challenge takes one right answer."""
    mfa, now = accounts.settings.mfa, accounts.now()
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        factor = await named_factor(transaction, asked, caller.user)
        kind = kind_named(factor.factor_type)
        refuse_switched_off(accounts, kind, factor.factor_type)
        factors.refuse_shortcut(caller.user, caller.session, factor)
        if body.challenge_id is None:
            raise rejections.CHALLENGE_NOT_FOUND()
        found = await factors.find_challenge(transaction, body.challenge_id, factor.id, asked.device.address)
        challenge = factors.refuse_dead(found, challenge_limits(mfa), now)
        await factors.refuse_guessing(transaction, factor.id, now)
        given = Answer(body.code, body.webauthn)
        found_right = await kind.verify(accounts, transaction, caller.user, factor, challenge, given)
        if found_right is True:
            await factors.answer(transaction, challenge.id, now)
        else:
            await factors.fail(transaction, challenge.id)
        attempt = Attempt(
            caller.user, factor.id, factor.factor_type, found_right is True, kind.wrong(), challenge.id
        )
        if isinstance(found_right, bool):
            await record(accounts, transaction, asked, attempt)
            return attempt
    return await _ask(accounts, asked, attempt, found_right)


async def _ask(accounts: Accounts, asked: Asked, attempt: Attempt, is_right: Later) -> Attempt:
    """Have an answer compared by somebody else; of right ones to the same challenge, the first wins."""
    was_right, id = await is_right(), attempt.challenge_id
    async with accounts.transaction() as transaction:
        if was_right and id is not None and await factors.answer(transaction, id, accounts.now()):
            attempt = replace(attempt, is_right=True)
        await record(accounts, transaction, asked, attempt)
    return attempt
