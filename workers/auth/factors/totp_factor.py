"""The factor `totp`: an authenticator app. Source: reference page "auth", sections 9.1 to 9.3."""

from urllib.parse import urlsplit

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.factors.factors import use_step
from workers.auth.factors.qr import MOST_BYTES, svg_of
from workers.auth.factors.second_factor import (
    Answer,
    ChallengeRow,
    ChallengeWish,
    Enrolment,
    FactorRow,
    Kind,
    NewChallenge,
    NewFactor,
    Switches,
)
from workers.auth.factors.totp import address_of, new_secret, step_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


async def _enroll(accounts: Accounts, transaction: Transaction, user: User, wanted: Enrolment) -> NewFactor:
    """Draw a secret, which is told once and kept sealed."""
    del transaction
    secret = new_secret()
    issuer = wanted.issuer or urlsplit(accounts.settings.site_url).hostname or "localhost"
    address = address_of(secret, issuer, user.email or user.phone or str(user.id))
    if len(address) > MOST_BYTES:
        raise rejections.LONG_ISSUER()

    def draw() -> Shown:
        return {"totp": {"qr_code": svg_of(address), "secret": secret, "uri": address}}

    return NewFactor(secret=accounts.vault.seal(secret, wanted.id), draw=draw)


async def _challenge(
    accounts: Accounts, transaction: Transaction, user: User, factor: FactorRow, wanted: ChallengeWish
) -> NewChallenge:
    """Ask for what the app shows; there is nothing to send."""
    del accounts, transaction, user, factor, wanted
    return NewChallenge()


async def _verify(
    accounts: Accounts,
    transaction: Transaction,
    user: User,
    factor: FactorRow,
    challenge: ChallengeRow,
    answer: Answer,
) -> bool:
    """Tell whether a code is right, and use its step up."""
    del user, challenge
    if not answer.code:
        raise rejections.NO_MFA_CODE()
    secret = accounts.vault.open(factor.secret or "", factor.id)
    step = step_of(answer.code, secret, accounts.clock(), factor.last_totp_step)
    return step is not None and await use_step(transaction, factor.id, step)


def _switches(mfa: Mfa) -> Switches:
    return Switches(mfa.totp.enroll_enabled, mfa.totp.verify_enabled)


KIND = Kind(
    method=Method.TOTP,
    switches=_switches,
    enroll_off=Code.MFA_TOTP_ENROLL_NOT_ENABLED,
    verify_off=Code.MFA_TOTP_VERIFY_NOT_ENABLED,
    wrong=rejections.WRONG_TOTP,
    enroll=_enroll,
    challenge=_challenge,
    verify=_verify,
)
"""See `factor_kinds.py`."""
