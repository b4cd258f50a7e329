"""The one place where it is decided whether an answer of a second factor counts.

Every answer passes here once it has been compared and counted, whatever its kind, recovery codes among them, and before
anything follows from it. Not within a transaction: the project's own service may be asked.
Source: reference page "auth", sections 9.3 and 17 (mfa_verification_attempt).
"""

from dataclasses import dataclass
from uuid import UUID

from workers.auth import sessions
from workers.auth.asked import Asked
from workers.auth.context import Accounts
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError

_REJECTED = "Further MFA verification attempts will be rejected."


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer that was compared. `refusal` is what its caller is told if it was wrong."""

    user_id: UUID
    factor_id: UUID
    factor_type: str
    is_right: bool
    refusal: AuthError


async def refuse_invalid(accounts: Accounts, asked: Asked, attempt: Attempt) -> None:
    """Raise unless an answer counts. Raises: AuthError (422) for a wrong one; (403) if the project rejects it.

    A rejection ends all sessions of the user.
    """
    decision = await accounts.hooks.mfa_verification_attempt(
        attempt.user_id,
        attempt.factor_id,
        attempt.factor_type,
        is_valid=attempt.is_right,
        address=asked.device.address,
    )
    if decision.is_rejected:
        async with accounts.transaction() as transaction:
            await sessions.end_all(transaction, attempt.user_id)
        raise AuthError(Code.MFA_VERIFICATION_REJECTED, decision.message or _REJECTED)
    if not attempt.is_right:
        raise attempt.refusal
