"""Second factors: enroll, challenge, remove; `factor_answers.py` handles answers.

Source: docs/reference/auth.md, sections 9.1, 9.2 and 9.4.
"""

from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from uuid import uuid4

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.factors import factors
from workers.auth.factors.factor_notices import FactorChange, send_notice
from workers.auth.factors.second_factor import ChallengeRequest, Enrolment, NewChallenge
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.factor_owner import (
    answer_limit,
    challenge_limits,
    kind_named,
    lock_owner,
    path_factor,
    read_id,
    reject_disabled_kind,
)
from workers.auth.model.errors import AuthError
from workers.auth.model.rate_limits import count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.user_json import JsonObject
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction

_SAME_TIME = "mfa_factors_last_challenged_at_key"
_MAX_TRIES = 5


class FactorEnrollBody(msgspec.Struct):
    """A factor to be enrolled."""

    factor_type: str = ""
    friendly_name: str = ""
    issuer: str = ""
    phone: str = ""


class FactorChallengeBody(msgspec.Struct):
    """How a code is to be sent."""

    channel: str = ""


async def enroll(context: EndpointContext, request: AuthRequest) -> Response:
    """Start a factor; its first correct answer verifies it. Raises: AuthError, as the table of section 9.1 lists them."""
    body, mfa, now = request.read(FactorEnrollBody), context.settings.mfa, context.now()
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        kind = kind_named(body.factor_type)
        if not kind.switches(mfa).may_enroll:
            raise AuthError(kind.enroll_off, f"Enrolling a factor of type {body.factor_type} is not enabled")
        expired = now - timedelta(seconds=mfa.factor_expiry_duration)
        await factors.forget_stale(transaction, caller.user.id, expired)
        enrolment = Enrolment(uuid4(), body.friendly_name, body.issuer, body.phone)
        new = await kind.enroll(context, transaction, caller.user, enrolment)
        user = await users.find_by_id(transaction, caller.user.id) or caller.user
        factors.reject_enrolment(user, caller.session, mfa, body.friendly_name)
        await factors.add(transaction, user.id, enrolment, body.factor_type, new, now)
        traits = {"factor_id": str(enrolment.id), "factor_type": body.factor_type}
        await audit.record(context, transaction, request, AuditAction.FACTOR_IN_PROGRESS, user, traits)
    body_json: JsonObject = {
        "id": str(enrolment.id),
        "type": body.factor_type,
        "friendly_name": body.friendly_name,
        **new.body,
        **(new.draw() if new.draw else {}),
    }
    return json_response(body_json)


async def challenge(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a challenge of a factor. Raises: AuthError."""
    mfa = context.settings.mfa
    await count_request(context.database, answer_limit(mfa, "challenge"), request.device.address)
    channel, body = request.read(FactorChallengeBody).channel, request.read(dict[str, object])
    challenge_request = ChallengeRequest(channel, request.device.address, body)
    for left in reversed(range(_MAX_TRIES)):
        try:
            async with await _open(context, request) as transaction:
                challenge_json, new = await _begin(context, request, transaction, challenge_request)
                if new.send is not None:
                    await new.send(transaction)
            break
        except DatabaseError as error:
            # A unique index forbids that two factors, of any users, are challenged in the same microsecond.
            if error.constraint != _SAME_TIME or not left:
                raise
    return json_response(challenge_json)


async def remove(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete a factor; sessions that it raised drop to aal1. Raises: AuthError (404, 422)."""
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        factor = await path_factor(transaction, request, caller.user)
        factors.reject_removal(caller.user, caller.session, factor)
        await factors.remove(transaction, factor.id)
        await sessions.lower_level(transaction, factor.id)
        traits = {"factor_id": str(factor.id), "factor_type": factor.factor_type}
        await audit.record(context, transaction, request, AuditAction.FACTOR_UNENROLLED, caller.user, traits)
    if factor.is_verified:
        await send_notice(context, caller.user, FactorChange.UNENROLLED, factor.factor_type)
    return json_response({"id": str(factor.id)})


async def _open(context: EndpointContext, request: AuthRequest) -> AbstractAsyncContextManager[Transaction]:
    """Return the transaction of a challenge; one that sends a code to a phone waits for its turn. Raises: AuthError."""
    if context.settings.mfa.phone.verify_enabled:
        async with context.transaction() as transaction:
            factor = await factors.find(
                transaction, read_id(request.parameters["id"]), request.bearer.user_id
            )
        if factor is not None and factor.phone:
            return context.sending(factor.phone)
    return context.transaction()


async def _begin(
    context: EndpointContext,
    request: AuthRequest,
    transaction: Transaction,
    challenge_request: ChallengeRequest,
) -> tuple[JsonObject, NewChallenge]:
    """Store a challenge; return the body of the response and what must be sent."""
    mfa, now = context.settings.mfa, context.now()
    limits, id = challenge_limits(mfa), uuid4()
    caller = await lock_owner(context, request, transaction)
    factor = await path_factor(transaction, request, caller.user)
    kind = kind_named(factor.factor_type)
    reject_disabled_kind(context, kind, factor.factor_type)
    factors.reject_unverified_shortcut(caller.user, caller.session, factor)
    await factors.forget_challenges(transaction, factor.id, limits.lifetime, now)
    await factors.reject_guessing(transaction, factor.id, limits.lifetime, now)
    new = await kind.challenge(context, transaction, caller.user, factor, challenge_request)
    await factors.challenge(transaction, factor, id, new, request.device.address, now)
    traits = {"factor_id": str(factor.id), "challenge_id": str(id), "factor_type": factor.factor_type}
    await audit.record(context, transaction, request, AuditAction.CHALLENGE_CREATED, caller.user, traits)
    expires_at = int((now + limits.lifetime).timestamp())
    return {"id": str(id), "type": factor.factor_type, "expires_at": expires_at, **new.body}, new
