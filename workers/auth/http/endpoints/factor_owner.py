"""Who owns the factors that a request is about: the caller, signed in, not anonymous, locked while it lasts.

Source: reference page "auth", sections 1.4 and 9.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.codes.codes import CodeLimits
from workers.auth.accounts.codes.limits import Limit
from workers.auth.accounts.sessions.bearer import refuse_anonymous
from workers.auth.accounts.users import users
from workers.auth.context import Accounts
from workers.auth.factors import factors
from workers.auth.factors.factor_kinds import KINDS
from workers.auth.factors.second_factor import FactorRow, Kind
from workers.auth.http.endpoints.present import present
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked
from workers.auth.model.rows import Session, User
from workers.database.interactive import Transaction

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Owner:
    """A user who is signed in, with his session. Tokens made by hand name none, and cannot be raised."""

    user: User
    session: Session


async def owner(accounts: Accounts, asked: Asked, transaction: Transaction) -> Owner:
    """Find who calls and keep others from changing the user; clients that act for him are not he. Raises: AuthError (401, 403)."""
    bearer = asked.bearer
    refuse_anonymous(bearer)
    await users.lock(transaction, bearer.user_id)
    caller = await present(accounts, asked, transaction)
    if caller.user.is_anonymous:
        raise rejections.NOT_FOR_ANONYMOUS()
    if caller.session is None:
        raise rejections.SESSION_GONE()
    return Owner(caller.user, caller.session)


async def named_factor(transaction: Transaction, asked: Asked, user: User, name: str = "id") -> FactorRow:
    """Find the factor of a user that the path names. Raises: AuthError (404)."""
    found = await factors.find(transaction, read_id(asked.parameters[name]), user.id)
    if found is None:
        raise rejections.FACTOR_NOT_FOUND()
    return found


def read_id(text: str) -> UUID:
    """Read the id of a factor. Raises: AuthError (404)."""
    try:
        return UUID(text)
    except ValueError:
        raise rejections.FACTOR_ID() from None


def kind_named(name: str) -> Kind:
    """Give the kind of a `factor_type`. Raises: AuthError (400)."""
    if name not in KINDS:
        raise rejections.FACTOR_TYPE(kinds=", ".join(KINDS))
    return KINDS[name]


def refuse_switched_off(accounts: Accounts, kind: Kind, name: str) -> None:
    """Raise if the settings do not take answers of a kind. Raises: AuthError (422)."""
    if not kind.switches(accounts.settings.mfa).may_verify:
        raise AuthError(kind.verify_off, f"Verifying a factor of type {name} is not enabled")


def challenge_limits(mfa: Mfa) -> CodeLimits:
    """Give how long a challenge lives, and at which wrong answer it dies."""
    lifetime = timedelta(seconds=mfa.challenge_expiry_duration)
    return CodeLimits(lifetime, factors.MOST_FAILED_OF_CHALLENGE)


def answer_limit(mfa: Mfa, what: str) -> Limit:
    """Give how often one address may ask for challenges, or answer them."""
    return Limit(f"factor_{what}", mfa.rate_limit_challenge_and_verify, _MINUTE_S)
