"""The factor `phone`: a code by text message. Source: docs/reference/auth.md, sections 9.1 to 9.3."""

from functools import partial

from schemas.settings.auth_factors import Mfa
from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.sms.sender import SmsChannel
from workers.auth.factors import factors
from workers.auth.factors.second_factor import (
    ChallengeRequest,
    ChallengeRow,
    DeferredCheck,
    Enrolment,
    FactorAnswer,
    FactorKind,
    FactorRow,
    NewChallenge,
    NewFactor,
    Switches,
)
from workers.auth.model import codes, rate_limits, rejections
from workers.auth.model.addresses import normal_phone
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


async def _enroll(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, enrolment: Enrolment
) -> NewFactor:
    """Store a number that no other verified factor of the user has."""
    del context
    phone = normal_phone(enrolment.phone)
    if any(factor.phone == phone and factor.status == "verified" for factor in user.factors):
        raise rejections.FACTOR_NUMBER_TAKEN()
    await factors.forget_number(transaction, user.id, phone)
    return NewFactor({"phone": phone}, phone=phone)


async def _challenge(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    factor: FactorRow,
    challenge_request: ChallengeRequest,
) -> NewChallenge:
    """Create a code and prepare its message, unless one was sent within the pause."""
    settings, phone, outbox = context.settings.mfa.phone, factor.phone or "", context.outbox
    channel = outbox.refuse_unsendable(phone, challenge_request.channel or SmsChannel.SMS)
    # Counted for the user and not by the factors' times: who deletes a factor and enrolls it again waits as well.
    name, pause_s = f"factor:{user.id}", float(settings.max_frequency)
    seconds = await rate_limits.pause(transaction, name, context.now(), pause_s) if pause_s > 0 else 0
    if seconds:
        raise rejections.SMS_TOO_SOON(seconds=seconds, retry_after_s=seconds)
    code = outbox.test_code(phone) or codes.new_code(codes.code_length(settings.otp_length))

    async def send(transaction: Transaction) -> None:
        client = challenge_request.address
        await outbox.text(
            phone, code, channel, is_mfa=True, user=user, client=client, transaction=transaction
        )

    return NewChallenge(otp_code=codes.issue(code, phone, context.code_key).stored, send=send)


async def _verify(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    factor: FactorRow,
    challenge: ChallengeRow,
    answer: FactorAnswer,
) -> bool | DeferredCheck:
    """Return whether a code is the one that was sent; if the SMS provider generates the codes, return the question to it."""
    del transaction, user
    phone, outbox = factor.phone or "", context.outbox
    if outbox.checker is not None and outbox.test_code(phone) is None:
        return partial(outbox.is_right, phone, answer.code)
    return codes.is_code_of(challenge.otp_code, answer.code, phone, context.code_key)


def _switches(mfa: Mfa) -> Switches:
    return Switches(mfa.phone.enroll_enabled, mfa.phone.verify_enabled)


KIND = FactorKind(
    method=SignInMethod.MFA_PHONE,
    switches=_switches,
    enroll_off=ErrorCode.MFA_PHONE_ENROLL_NOT_ENABLED,
    verify_off=ErrorCode.MFA_PHONE_VERIFY_NOT_ENABLED,
    wrong=rejections.WRONG_PHONE_CODE,
    enroll=_enroll,
    challenge=_challenge,
    verify=_verify,
)
"""See `factor_kinds.py`."""
