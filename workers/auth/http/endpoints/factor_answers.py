"""POST /factors/{id}/verify: a correct answer raises the session to aal2. Source: docs/reference/auth.md, section 9.3.

Three steps: one transaction compares and counts the answer and uses the challenge up; the hook decides whether it counts; a
second transaction changes the factor and the session. Between them concurrent requests may have changed everything, so the
second transaction looks up again what the first one read.
"""

from dataclasses import replace
from uuid import UUID

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.factors import factors
from workers.auth.factors.factor_notices import FactorChange, send_notice
from workers.auth.factors.factor_verdict import FactorAttempt, record, reject_invalid
from workers.auth.factors.second_factor import DeferredCheck, FactorAnswer
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.factor_owner import (
    answer_limit,
    challenge_limits,
    kind_named,
    lock_owner,
    path_factor,
    reject_disabled_kind,
)
from workers.auth.model import rejections
from workers.auth.model.rate_limits import count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.user_json import JsonObject


class FactorAnswerBody(SecretRecord, msgspec.Struct):
    """An answer to a challenge."""

    challenge_id: UUID | None = None
    code: str = ""
    webauthn: JsonObject | None = None


async def verify(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a session at aal2 for a correct answer. Raises: AuthError, as section 9.3 lists them."""
    await count_request(
        context.database, answer_limit(context.settings.mfa, "verify"), request.device.address
    )
    attempt = await _compare(context, request, request.read(FactorAnswerBody))
    await reject_invalid(context, request, attempt)
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        factor = await path_factor(transaction, request, caller.user)
        factors.reject_unverified_shortcut(caller.user, caller.session, factor)
        is_new = await factors.confirm(transaction, factor, context.now())
        method = kind_named(factor.factor_type).method
        grant = await sessions.raise_level(
            transaction, context.vault, caller.session, method, factor.id, request.device
        )
        user = await users.find_by_id(transaction, caller.user.id) or caller.user
    session = await context.session_json(user, grant)
    if is_new:
        await send_notice(context, user, FactorChange.ENROLLED, factor.factor_type)
    return json_response(session)


async def _compare(context: EndpointContext, request: AuthRequest, body: FactorAnswerBody) -> FactorAttempt:
    """Compare an answer and count it; each challenge accepts one correct answer."""
    mfa, now = context.settings.mfa, context.now()
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        factor = await path_factor(transaction, request, caller.user)
        kind = kind_named(factor.factor_type)
        reject_disabled_kind(context, kind, factor.factor_type)
        factors.reject_unverified_shortcut(caller.user, caller.session, factor)
        if kind.takes_code and not body.code:
            raise rejections.NO_MFA_CODE()
        if body.challenge_id is None:
            raise rejections.CHALLENGE_NOT_FOUND()
        row = await factors.find_challenge(transaction, body.challenge_id, factor.id, request.device.address)
        limits = challenge_limits(mfa)
        challenge = factors.require_live(row, limits, now)
        await factors.reject_guessing(transaction, factor.id, limits.lifetime, now)
        submitted = FactorAnswer(body.code, body.webauthn)
        found_right = await kind.verify(context, transaction, caller.user, factor, challenge, submitted)
        if found_right is True:
            await factors.answer(transaction, challenge.id, now)
        else:
            await factors.fail(transaction, challenge.id)
        attempt = FactorAttempt(
            caller.user, factor.id, factor.factor_type, found_right is True, kind.wrong(), challenge.id
        )
        if isinstance(found_right, bool):
            await record(context, transaction, request, attempt)
            return attempt
    return await _ask(context, request, attempt, found_right)


async def _ask(
    context: EndpointContext, request: AuthRequest, attempt: FactorAttempt, is_right: DeferredCheck
) -> FactorAttempt:
    """Ask another service whether the answer is correct; of concurrent correct answers to one challenge the first wins."""
    was_right, id = await is_right(), attempt.challenge_id
    async with context.transaction() as transaction:
        if was_right and id is not None and await factors.answer(transaction, id, context.now()):
            attempt = replace(attempt, is_right=True)
        await record(context, transaction, request, attempt)
    return attempt
