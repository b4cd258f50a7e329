"""The factor `totp`: an authenticator app. Source: docs/reference/auth.md, sections 9.1 to 9.3."""

from urllib.parse import urlsplit

from schemas.settings.auth_factors import Mfa
from workers.auth.delivery.context import DeliveryContext
from workers.auth.factors.factors import use_step
from workers.auth.factors.second_factor import (
    ChallengeRequest,
    ChallengeRow,
    Enrolment,
    FactorAnswer,
    FactorKind,
    FactorRow,
    NewChallenge,
    NewFactor,
    Switches,
)
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject
from workers.auth.model.vault import SealPurpose
from workers.credentials.qr import MAX_BYTES, svg_of
from workers.credentials.totp import address_of, new_secret, step_of
from workers.database.transactions.interactive import Transaction


async def _enroll(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, enrolment: Enrolment
) -> NewFactor:
    """Create a secret, which is returned once and stored encrypted."""
    del transaction
    secret = new_secret()
    issuer = enrolment.issuer or urlsplit(context.settings.site_url).hostname or "localhost"
    address = address_of(secret, issuer, user.email or user.phone or str(user.id))
    if len(address) > MAX_BYTES:
        raise rejections.LONG_ISSUER()

    def draw() -> JsonObject:
        return {"totp": {"qr_code": svg_of(address), "secret": secret, "uri": address}}

    return NewFactor(secret=context.vault.seal(secret, enrolment.id, SealPurpose.FACTOR), draw=draw)


async def _challenge(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    factor: FactorRow,
    challenge_request: ChallengeRequest,
) -> NewChallenge:
    """Return an empty challenge: the app displays a code without being asked."""
    del context, transaction, user, factor, challenge_request
    return NewChallenge()


async def _verify(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    factor: FactorRow,
    challenge: ChallengeRow,
    answer: FactorAnswer,
) -> bool:
    """Return whether a code is correct, and use its time step up."""
    del user, challenge
    secret = context.vault.open(factor.secret or "", factor.id, SealPurpose.FACTOR)
    step = step_of(answer.code, secret, context.clock(), factor.last_totp_step)
    return step is not None and await use_step(transaction, factor.id, step)


def _switches(mfa: Mfa) -> Switches:
    return Switches(mfa.totp.enroll_enabled, mfa.totp.verify_enabled)


KIND = FactorKind(
    method=SignInMethod.TOTP,
    switches=_switches,
    enroll_off=ErrorCode.MFA_TOTP_ENROLL_NOT_ENABLED,
    verify_off=ErrorCode.MFA_TOTP_VERIFY_NOT_ENABLED,
    wrong=rejections.WRONG_TOTP,
    enroll=_enroll,
    challenge=_challenge,
    verify=_verify,
)
"""See `factor_kinds.py`."""
