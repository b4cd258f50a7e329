"""The one place where it is decided whether an answer of a second factor counts.

Every answer passes here once it has been compared and counted, whatever its kind, recovery codes among them, and before
anything follows from it. Not within a transaction: the project's own service may be asked.
Source: reference page "auth", sections 9.3 and 17 (mfa_verification_attempt).
"""

from dataclasses import dataclass
from uuid import UUID

from workers.auth import audit
from workers.auth.accounts.sessions import sessions
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.database.interactive import Transaction

_REJECTED = "Further MFA verification attempts will be rejected."


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer that was compared. `refusal` is what its caller is told if it was wrong."""

    user: User
    factor_id: UUID
    factor_type: str
    is_right: bool
    refusal: AuthError
    challenge_id: UUID | None = None


async def record(accounts: Accounts, transaction: Transaction, asked: Asked, attempt: Attempt) -> None:
    """Write into the audit log that somebody has answered, in the transaction that counts the answer."""
    traits = {
        "factor_id": str(attempt.factor_id),
        "factor_type": attempt.factor_type,
        "is_valid": attempt.is_right,
    }
    if attempt.challenge_id is not None:
        traits["challenge_id"] = str(attempt.challenge_id)
    await audit.record(accounts, transaction, asked, Action.VERIFICATION_ATTEMPTED, attempt.user, traits)


async def refuse_invalid(accounts: Accounts, asked: Asked, attempt: Attempt) -> None:
    """Raise unless an answer counts. Raises: AuthError (422) for a wrong one; (403) if the project rejects it.

    A rejection ends all sessions of the user.
    """
    decision = await accounts.hooks.mfa_verification_attempt(
        attempt.user.id,
        attempt.factor_id,
        attempt.factor_type,
        is_valid=attempt.is_right,
        address=asked.device.address,
    )
    if decision.is_rejected:
        async with accounts.transaction() as transaction:
            traits = {"scope": "global", "reason": "hook"}
            more = audit.entry(accounts, asked, Action.LOGOUT, attempt.user, traits)
            await sessions.end_all(transaction, attempt.user.id, more)
        raise AuthError(Code.MFA_VERIFICATION_REJECTED, decision.message or _REJECTED)
    if not attempt.is_right:
        raise attempt.refusal
