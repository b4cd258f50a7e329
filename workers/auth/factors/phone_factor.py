"""The factor `phone`: a code by message. Source: reference page "auth", sections 9.1 to 9.3."""

from datetime import datetime, timedelta
from functools import partial

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.codes import codes
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users.addresses import normal_phone
from workers.auth.context import Accounts
from workers.auth.delivery.sms.sender import Channel
from workers.auth.factors import factors
from workers.auth.factors.second_factor import (
    Answer,
    ChallengeRow,
    ChallengeWish,
    Enrolment,
    FactorRow,
    Kind,
    Later,
    NewChallenge,
    NewFactor,
    Switches,
)
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


async def _enroll(accounts: Accounts, transaction: Transaction, user: User, wanted: Enrolment) -> NewFactor:
    """Keep a number that no other verified factor of the user has."""
    del accounts
    phone = normal_phone(wanted.phone)
    if any(each.phone == phone and each.status == "verified" for each in user.factors):
        raise rejections.FACTOR_NUMBER_TAKEN()
    await factors.forget_number(transaction, user.id, phone)
    return NewFactor({"phone": phone}, phone=phone)


async def _challenge(
    accounts: Accounts, transaction: Transaction, user: User, factor: FactorRow, wanted: ChallengeWish
) -> NewChallenge:
    """Draw a code and send it, unless the user got another one just now."""
    settings, phone, outbox = accounts.settings.mfa.phone, factor.phone or "", accounts.outbox
    channel = outbox.refuse_unsendable(phone, wanted.channel or Channel.SMS)
    pause = timedelta(seconds=settings.max_frequency)
    seconds = codes.wait_s(_last_sent(user), accounts.now(), pause)
    if seconds:
        raise rejections.SMS_TOO_SOON(seconds=seconds, retry_after_s=seconds)
    code = outbox.test_code(phone) or codes.new_code(codes.code_length(settings.otp_length))
    await outbox.count_text(transaction, phone)

    async def send() -> None:
        await outbox.text(
            phone, code, channel, is_mfa=True, user=user, client=wanted.address, is_counted=True
        )

    return NewChallenge(otp_code=codes.issue(code, phone, accounts.code_key).stored, send=send)


async def _verify(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    factor: FactorRow,
    challenge: ChallengeRow,
    answer: Answer,
) -> bool | Later:
    """Tell whether a code is the one that was sent; a provider that makes the codes is asked."""
    del transaction, user
    if not answer.code:
        raise rejections.NO_MFA_CODE()
    phone, outbox = factor.phone or "", accounts.outbox
    if outbox.checker is not None and outbox.test_code(phone) is None:
        return partial(outbox.is_right, phone, answer.code)
    return codes.is_code_of(challenge.otp_code, answer.code, phone, accounts.code_key)


def _last_sent(user: User) -> datetime | None:
    """Give when a code was last sent to any number of a user."""
    sent = [each.last_challenged_at for each in user.factors if each.factor_type == "phone"]
    return max((moment for moment in sent if moment is not None), default=None)


def _switches(mfa: Mfa) -> Switches:
    return Switches(mfa.phone.enroll_enabled, mfa.phone.verify_enabled)


KIND = Kind(
    method=Method.MFA_PHONE,
    switches=_switches,
    enroll_off=Code.MFA_PHONE_ENROLL_NOT_ENABLED,
    verify_off=Code.MFA_PHONE_VERIFY_NOT_ENABLED,
    wrong=rejections.WRONG_PHONE_CODE,
    enroll=_enroll,
    challenge=_challenge,
    verify=_verify,
)
"""See `factor_kinds.py`."""
