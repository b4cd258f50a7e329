"""Writes failed sign-ins of known users to the audit log, in a transaction of its own: the sign-in's transaction rolls back.

    async with failures_logged(context, request, "email") as attempt:
        async with context.transaction() as transaction:
            attempt.user = user = ...                     from here on the user is known
            raise rejections.USER_BANNED()                written to the audit log

Timing: what a response must not reveal, its duration must not reveal either. Where an address and a secret were typed,
`log_wrong_secret` runs the same statements for an unregistered address, and the commit does not wait for the disk.
Source: docs/reference/auth.md, section 16.10.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import msgspec

from workers.auth.accounts.audit import AuditAction, log_instead, payload_of
from workers.auth.accounts.users import identities, users
from workers.auth.model.context import AuthContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction, statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.passwords", "login_failures.sql")
_NO_USER = AuthUser(UUID(int=0))
_TOO_MANY, _OURS = 429, 500


@dataclass(slots=True)
class SignInAttempt:
    """The user who tries to sign in, once known, and the provider."""

    provider: str
    user: AuthUser | None = None


@asynccontextmanager
async def failures_logged(
    context: AuthContext, request: AuthRequest, provider: str = "", *, subject: str = ""
) -> AsyncIterator[SignInAttempt]:
    """Log errors raised within the block if the user is known; must not be used within a transaction.

    `subject` is the provider's id of its user, by which the user may be found. Rate-limited requests (429) are not logged,
    because they must stay cheap; nor are server errors.
    """
    attempt = SignInAttempt(provider)
    try:
        yield attempt
    except (AuthError, OAuthError) as error:
        if error.status != _TOO_MANY and error.status < _OURS:
            reason = error.code.value if isinstance(error, AuthError) else error.error
            async with context.transaction() as transaction:
                user = attempt.user or await _known(transaction, provider, subject)
                if user is not None:
                    await log_failure(context, transaction, request, user, attempt.provider, reason)
        raise


async def log_wrong_secret(
    context: AuthContext,
    transaction: Transaction,
    request: AuthRequest,
    user: AuthUser | None,
    provider: str,
) -> None:
    """Log a wrong password or code that was typed with an address, registered or not."""
    await log_failure(context, transaction, request, user, provider, ErrorCode.INVALID_CREDENTIALS.value)


async def log_failure(
    context: AuthContext,
    transaction: Transaction,
    request: AuthRequest,
    user: AuthUser | None,
    provider: str,
    reason: str,
) -> None:
    """Log a failed sign-in; without a user, run the same statements but write nothing."""
    if log_instead(context, request, AuditAction.LOGIN_FAILED, user):
        return
    traits = {"provider": provider, "reason": reason}
    payload = msgspec.json.encode(payload_of(AuditAction.LOGIN_FAILED, user or _NO_USER, traits))
    inserted = statement(_SQL["insert"], payload, request.device.address, user is not None)
    await transaction.run(statement(_SQL["do_not_wait"]), inserted)


async def _known(transaction: Transaction, provider: str, subject: str) -> AuthUser | None:
    if not subject:
        return None
    identity = await identities.find(transaction, provider, subject)
    return None if identity is None else await users.find_by_id(transaction, identity.user_id)
