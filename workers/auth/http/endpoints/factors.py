"""Second factors: enrolled, challenged, removed; answers stand in `factor_answers.py`.

Source: reference page "auth", sections 9.1, 9.2 and 9.4.
"""

from datetime import timedelta
from uuid import uuid4

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import take
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.accounts.users.shown import Shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.factors import factors
from workers.auth.factors.factor_notices import Change, tell
from workers.auth.factors.second_factor import ChallengeWish, Enrolment, NewChallenge
from workers.auth.http.endpoints.factor_owner import (
    answer_limit,
    challenge_limits,
    kind_named,
    named_factor,
    owner,
    refuse_switched_off,
)
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction

_SAME_MOMENT = "mfa_factors_last_challenged_at_key"
_MOST_TRIES = 5


class Enrolling(msgspec.Struct):
    """A factor that somebody wants to have."""

    factor_type: str = ""
    friendly_name: str = ""
    issuer: str = ""
    phone: str = ""


class Challenging(msgspec.Struct):
    """How a code is to be sent."""

    channel: str = ""


async def enroll(accounts: Accounts, asked: Asked) -> Response:
    """Begin a factor; its first right answer sets it up. Raises: AuthError as the table of section 9.1 lists them."""
    body, mfa, now = asked.read(Enrolling), accounts.settings.mfa, accounts.now()
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        kind = kind_named(body.factor_type)
        if not kind.switches(mfa).may_enroll:
            raise AuthError(kind.enroll_off, f"Enrolling a factor of type {body.factor_type} is not enabled")
        expired = now - timedelta(seconds=mfa.factor_expiry_duration)
        await factors.forget_stale(transaction, caller.user.id, expired)
        wanted = Enrolment(uuid4(), body.friendly_name, body.issuer, body.phone)
        new = await kind.enroll(accounts, transaction, caller.user, wanted)
        user = await users.find_by_id(transaction, caller.user.id) or caller.user
        factors.refuse_enrolment(user, caller.session, mfa, body.friendly_name)
        await factors.add(transaction, user.id, wanted, body.factor_type, new, now)
        traits = {"factor_id": str(wanted.id), "factor_type": body.factor_type}
        await audit.record(accounts, transaction, asked, Action.FACTOR_IN_PROGRESS, user, traits)
    shown: Shown = {
        "id": str(wanted.id),
        "type": body.factor_type,
        "friendly_name": body.friendly_name,
        **new.shown,
        **(new.draw() if new.draw else {}),
    }
    return answer(shown)


async def challenge(accounts: Accounts, asked: Asked) -> Response:
    """Ask for an answer of a factor. Raises: AuthError."""
    mfa = accounts.settings.mfa
    await take(accounts.database, answer_limit(mfa, "challenge"), asked.device.address)
    channel, body = asked.read(Challenging).channel, asked.read(dict[str, object])
    wish = ChallengeWish(channel, asked.device.address, body)
    for left in reversed(range(_MOST_TRIES)):
        try:
            async with accounts.transaction() as transaction:
                shown, made = await _begin(accounts, asked, transaction, wish)
            break
        except DatabaseError as error:
            # No two factors of all users may have been challenged in the same microsecond.
            if error.constraint != _SAME_MOMENT or not left:
                raise
    if made.send is not None:
        await made.send()
    return answer(shown)


async def remove(accounts: Accounts, asked: Asked) -> Response:
    """Remove a factor; sessions that it raised drop to aal1. Raises: AuthError (404, 422)."""
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        factor = await named_factor(transaction, asked, caller.user)
        factors.refuse_removal(caller.user, caller.session, factor)
        await factors.remove(transaction, factor.id)
        await sessions.lower_level(transaction, factor.id)
        traits = {"factor_id": str(factor.id), "factor_type": factor.factor_type}
        await audit.record(accounts, transaction, asked, Action.FACTOR_UNENROLLED, caller.user, traits)
    if factor.is_verified:
        await tell(accounts, caller.user, Change.UNENROLLED, factor.factor_type)
    return answer({"id": str(factor.id)})


async def _begin(
    accounts: Accounts, asked: Asked, transaction: Transaction, wish: ChallengeWish
) -> tuple[Shown, NewChallenge]:
    """Keep a challenge, and give what its caller is told and what must be sent."""
    mfa, now = accounts.settings.mfa, accounts.now()
    limits, id = challenge_limits(mfa), uuid4()
    caller = await owner(accounts, asked, transaction)
    factor = await named_factor(transaction, asked, caller.user)
    kind = kind_named(factor.factor_type)
    refuse_switched_off(accounts, kind, factor.factor_type)
    factors.refuse_shortcut(caller.user, caller.session, factor)
    await factors.forget_challenges(transaction, factor.id, limits.lifetime, now)
    await factors.refuse_guessing(transaction, factor.id, now)
    made = await kind.challenge(accounts, transaction, caller.user, factor, wish)
    await factors.challenge(transaction, factor, id, made, asked.device.address, now)
    traits = {"factor_id": str(factor.id), "challenge_id": str(id), "factor_type": factor.factor_type}
    await audit.record(accounts, transaction, asked, Action.CHALLENGE_CREATED, caller.user, traits)
    expires_at = int((now + limits.lifetime).timestamp())
    return {"id": str(id), "type": factor.factor_type, "expires_at": expires_at, **made.shown}, made
