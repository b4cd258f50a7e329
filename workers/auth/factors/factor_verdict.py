"""Decides whether the answer of a second factor counts: it must be correct, and the project's hook must not reject it.

Every answer passes here once it has been compared and counted, recovery codes among them, before anything follows from it.
Must not be called within a transaction, because the hook may take seconds.
Source: docs/reference/auth.md, sections 9.3 and 17 (mfa_verification_attempt).
"""

from dataclasses import dataclass
from uuid import UUID

from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.delivery.context import DeliveryContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction

_REJECTED = "Further MFA verification attempts will be rejected."


@dataclass(frozen=True, slots=True)
class FactorAttempt:
    """An answer that was compared. `rejection` is the error for a wrong one."""

    user: AuthUser
    factor_id: UUID
    factor_type: str
    is_right: bool
    rejection: AuthError
    challenge_id: UUID | None = None


async def record(
    context: DeliveryContext, transaction: Transaction, request: AuthRequest, attempt: FactorAttempt
) -> None:
    """Write the attempt to the audit log, in the transaction that counts it."""
    traits = {
        "factor_id": str(attempt.factor_id),
        "factor_type": attempt.factor_type,
        "is_valid": attempt.is_right,
    }
    if attempt.challenge_id is not None:
        traits["challenge_id"] = str(attempt.challenge_id)
    await audit.record(
        context, transaction, request, AuditAction.VERIFICATION_ATTEMPTED, attempt.user, traits
    )


async def reject_invalid(context: DeliveryContext, request: AuthRequest, attempt: FactorAttempt) -> None:
    """Raise unless an answer counts. Raises: AuthError (422) for a wrong one; (403) if the project's hook rejects it.

    A rejection by the hook ends all sessions of the user.
    """
    decision = await context.hooks.mfa_verification_attempt(
        attempt.user.id,
        attempt.factor_id,
        attempt.factor_type,
        is_valid=attempt.is_right,
        address=request.device.address,
    )
    if decision.is_rejected:
        async with context.transaction() as transaction:
            traits = {"scope": "global", "reason": "hook"}
            more = audit.entry(context, request, AuditAction.LOGOUT, attempt.user, traits)
            await sessions.end_all(transaction, attempt.user.id, more)
        raise AuthError(ErrorCode.MFA_VERIFICATION_REJECTED, decision.message or _REJECTED)
    if not attempt.is_right:
        raise attempt.rejection
