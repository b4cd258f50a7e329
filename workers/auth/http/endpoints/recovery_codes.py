"""Recovery codes: returned once, each valid for one sign-in. Source: docs/reference/auth.md, section 9.6."""

from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.factors import factors, recovery_codes
from workers.auth.factors.factor_notices import FactorChange, send_notice
from workers.auth.factors.factor_verdict import FactorAttempt, record, reject_invalid
from workers.auth.factors.factors import RECOVERY_CODE
from workers.auth.factors.recovery_codes import CodeSet, FailedTries
from workers.auth.factors.second_factor import Enrolment, NewFactor
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.factor_owner import FactorOwner, answer_limit, lock_owner
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.rate_limits import count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.user_json import JsonObject
from workers.credentials.recovery_codes import hash_of, new_codes, normal_code
from workers.database.transactions.interactive import Transaction


class RecoveryCodesBody(msgspec.Struct):
    """A set of codes to be created."""

    friendly_name: str = ""


class RecoveryCodeBody(SecretRecord, msgspec.Struct):
    """A recovery code that a user typed."""

    code: str = ""


async def show(context: EndpointContext, request: AuthRequest) -> Response:
    """Return how many codes there are, and how many are unused. Raises: AuthError (404)."""
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        code_set = await recovery_codes.find(transaction, caller.user.id)
    return json_response({**_identified(code_set), "total": code_set.total, "remaining": code_set.remaining})


async def create(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a set of codes beside another factor; the response is the only time they are readable. Raises: AuthError (403, 422)."""
    body, now = request.read(RecoveryCodesBody), context.now()
    enrolment = Enrolment(uuid4(), body.friendly_name)
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        _require_may_create(context, caller)
        if await recovery_codes.find_any(transaction, caller.user.id) is not None:
            raise rejections.RECOVERY_CODES_EXIST()
        factors.reject_name(body.friendly_name, caller.user.factors)
        codes, hashes = _new_codes(context, caller)
        new = NewFactor()
        await factors.add(transaction, caller.user.id, enrolment, RECOVERY_CODE, new, now, is_verified=True)
        await recovery_codes.make(transaction, caller.user.id, enrolment.id, hashes, now)
        await _record(context, transaction, request, AuditAction.FACTOR_IN_PROGRESS, caller, enrolment.id)
    await send_notice(context, caller.user, FactorChange.ENROLLED, RECOVERY_CODE)
    summary = {"id": str(enrolment.id), "type": RECOVERY_CODE, "friendly_name": body.friendly_name}
    return json_response({**summary, "total": len(codes), "codes": codes})


async def regenerate(context: EndpointContext, request: AuthRequest) -> Response:
    """Replace the codes of a set, and lift its lock. Raises: AuthError (403, 404, 422)."""
    now = context.now()
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        _require_may_create(context, caller)
        code_set = await recovery_codes.find(transaction, caller.user.id)
        codes, hashes = _new_codes(context, caller)
        await recovery_codes.renew(transaction, code_set, hashes, now)
        await _record(context, transaction, request, AuditAction.FACTOR_UPDATED, caller, code_set.factor_id)
    summary = {**_identified(code_set), "friendly_name": code_set.friendly_name or ""}
    return json_response({**summary, "total": len(codes), "codes": codes})


async def verify(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a session at aal2 for an unused code. Raises: AuthError (404, 422, 429)."""
    await count_request(
        context.database, answer_limit(context.settings.mfa, "verify"), request.device.address
    )
    attempt = await _compare(context, request, request.read(RecoveryCodeBody).code)
    await reject_invalid(context, request, attempt)
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        code_set = await recovery_codes.find(transaction, caller.user.id)
        grant = await sessions.raise_level(
            transaction,
            context.vault,
            caller.session,
            SignInMethod.MFA_RECOVERY_CODE,
            code_set.factor_id,
            request.device,
        )
        user = await users.find_by_id(transaction, caller.user.id) or caller.user
    return json_response(await context.session_json(user, grant))


async def remove(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete all codes; sessions that they raised drop to aal1. Raises: AuthError (404, 422)."""
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        code_set = await recovery_codes.find(transaction, caller.user.id)
        if not factors.is_aal2(caller.session):
            raise rejections.REMOVAL_NEEDS_AAL2()
        await factors.remove(transaction, code_set.factor_id)
        await sessions.lower_level(transaction, code_set.factor_id)
        await _record(
            context, transaction, request, AuditAction.FACTOR_UNENROLLED, caller, code_set.factor_id
        )
    await send_notice(context, caller.user, FactorChange.UNENROLLED, RECOVERY_CODE)
    return json_response({"id": str(code_set.factor_id)})


async def _compare(context: EndpointContext, request: AuthRequest, code: str) -> FactorAttempt:
    """Compare a code; use it up if it is correct, else count the failure."""
    settings, now = context.settings.mfa.recovery_codes, context.now()
    if not settings.verify_enabled:
        raise rejections.RECOVERY_VERIFY_OFF()
    async with context.transaction() as transaction:
        caller = await lock_owner(context, request, transaction)
        code_set = await recovery_codes.find(transaction, caller.user.id)
        recovery_codes.reject_locked(code_set, now)
        normalized = normal_code(code)
        if not normalized:
            raise rejections.NO_MFA_CODE()
        hashed = hash_of(normalized, caller.user.id, context.code_key)
        is_right = await recovery_codes.use(transaction, code_set, hashed, now)
        tries = FailedTries() if is_right else recovery_codes.after_failure(code_set, settings, now)
        await recovery_codes.count(transaction, code_set, tries, now)
        wrong = rejections.WRONG_RECOVERY_CODE()
        attempt = FactorAttempt(caller.user, code_set.factor_id, RECOVERY_CODE, is_right, wrong)
        await record(context, transaction, request, attempt)
    return attempt


async def _record(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    action: AuditAction,
    caller: FactorOwner,
    id: UUID,
) -> None:
    traits = {"factor_id": str(id), "factor_type": RECOVERY_CODE}
    await audit.record(context, transaction, request, action, caller.user, traits)


def _require_may_create(context: EndpointContext, caller: FactorOwner) -> None:
    if not context.settings.mfa.recovery_codes.enroll_enabled:
        raise rejections.RECOVERY_ENROLL_OFF()
    if not factors.verified(caller.user.factors):
        raise rejections.RECOVERY_CODES_ALONE()
    if not factors.is_aal2(caller.session):
        raise rejections.RECOVERY_CODES_NEED_AAL2()


def _new_codes(context: EndpointContext, caller: FactorOwner) -> tuple[list[str], list[str]]:
    """Return new codes, and their stored forms."""
    settings = context.settings.mfa.recovery_codes
    codes = new_codes(settings.count, settings.code_length)
    return codes, [hash_of(code, caller.user.id, context.code_key) for code in codes]


def _identified(code_set: CodeSet) -> JsonObject:
    return {"id": str(code_set.factor_id), "type": RECOVERY_CODE}
