"""The user whose factors a request is about: the caller, who must be signed in and not anonymous, locked meanwhile.

Source: docs/reference/auth.md, sections 1.4 and 9.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.users import users
from workers.auth.factors import factors
from workers.auth.factors.factor_kinds import KINDS
from workers.auth.factors.second_factor import FactorKind, FactorRow
from workers.auth.http.caller import find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.bearer import reject_anonymous
from workers.auth.model.codes import CodeLimits
from workers.auth.model.errors import AuthError
from workers.auth.model.rate_limits import RequestLimit
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthSession, AuthUser
from workers.database.transactions.interactive import Transaction

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class FactorOwner:
    """A signed-in user with the session. Tokens that the project signed itself name no session, and cannot be raised."""

    user: AuthUser
    session: AuthSession


async def lock_owner(context: EndpointContext, request: AuthRequest, transaction: Transaction) -> FactorOwner:
    """Find the caller and lock the user; OAuth clients that act for the user are rejected. Raises: AuthError (401, 403)."""
    bearer = request.bearer
    reject_anonymous(bearer)
    await users.lock(transaction, bearer.user_id)
    caller = await find_caller(context, request, transaction)
    if caller.user.is_anonymous:
        raise rejections.NOT_FOR_ANONYMOUS()
    if caller.session is None:
        raise rejections.SESSION_GONE()
    return FactorOwner(caller.user, caller.session)


async def path_factor(
    transaction: Transaction, request: AuthRequest, user: AuthUser, name: str = "id"
) -> FactorRow:
    """Find the factor of a user that the path names. Raises: AuthError (404)."""
    factor = await factors.find(transaction, read_id(request.parameters[name]), user.id)
    if factor is None:
        raise rejections.FACTOR_NOT_FOUND()
    return factor


def read_id(text: str) -> UUID:
    """Parse the id of a factor. Raises: AuthError (404)."""
    try:
        return UUID(text)
    except ValueError:
        raise rejections.FACTOR_ID() from None


def kind_named(name: str) -> FactorKind:
    """Return the kind of a `factor_type`. Raises: AuthError (400)."""
    if name not in KINDS:
        raise rejections.FACTOR_TYPE(kinds=", ".join(KINDS))
    return KINDS[name]


def reject_disabled_kind(context: EndpointContext, kind: FactorKind, name: str) -> None:
    """Raise if the settings disable verification of a kind. Raises: AuthError (422)."""
    if not kind.switches(context.settings.mfa).may_verify:
        raise AuthError(kind.verify_off, f"Verifying a factor of type {name} is not enabled")


def challenge_limits(mfa: Mfa) -> CodeLimits:
    """Return how long a challenge is valid, and at which wrong answer it becomes invalid."""
    lifetime = timedelta(seconds=mfa.challenge_expiry_duration)
    return CodeLimits(lifetime, factors.MAX_FAILED_OF_CHALLENGE)


def answer_limit(mfa: Mfa, what: str) -> RequestLimit:
    """Return how often one address may request challenges, or answer them."""
    return RequestLimit(f"factor_{what}", mfa.rate_limit_challenge_and_verify, _MINUTE_S)
