"""Second factors of users and their challenges: the rows, and the rules that all kinds share.

Each function runs in the caller's transaction, in which the user's row is locked. All functions raise: DatabaseError,
Disconnected. Source: docs/reference/auth.md, section 9.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from schemas.settings.auth_factors import Mfa
from workers.auth.factors.second_factor import ChallengeRow, Enrolment, FactorRow, NewChallenge, NewFactor
from workers.auth.model import rejections
from workers.auth.model.codes import CodeLimits
from workers.auth.model.rows import AuthSession, AuthUser, Factor
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "factors.sql")

RECOVERY_CODE = "recovery_code"
"""The type of the factor that represents a set of recovery codes."""
MAX_FAILED_OF_CHALLENGE = 5
"""A challenge becomes invalid at this wrong answer."""
MAX_FAILED_OF_FACTOR = 30
"""Wrong answers to the recent challenges of a factor, see `failures_count`; beyond them no answer is checked."""
_FAILURES_COUNT = timedelta(hours=1)
_FAILURES_COUNT_AFTER = timedelta(minutes=30)
_MAX_NAME = 255
_NO_ADDRESS = "0.0.0.0"  # noqa: S104 - for a column that is not null, if a request has no address


class Failures(Struct, frozen=True):
    """Wrong answers to recent challenges of a factor."""

    count: int
    oldest: datetime | None = None


# --- Rules -------------------------------------------------------------------------------------------------------


def is_aal2(session: AuthSession) -> bool:
    """Return whether a session was authenticated with a second factor."""
    return session.aal == "aal2"


def verified(factors: Iterable[Factor]) -> list[Factor]:
    """Return the verified factors without recovery codes, which only stand in for another factor."""
    return [
        factor for factor in factors if factor.status == "verified" and factor.factor_type != RECOVERY_CODE
    ]


def reject_name(name: str, others: Iterable[Factor]) -> None:
    """Raise if a name cannot be stored, or another factor of the user has it. Raises: AuthError (400, 422)."""
    if len(name) > _MAX_NAME or "\0" in name:
        raise rejections.BAD_FACTOR_NAME(most=_MAX_NAME)
    if name.strip() and any(other.friendly_name == name for other in others):
        raise rejections.FACTOR_NAME_TAKEN()


def reject_enrolment(user: AuthUser, session: AuthSession, mfa: Mfa, name: str) -> None:
    """Raise if a user has the maximum of factors, or the session may not add one. Raises: AuthError (403, 422)."""
    reject_name(name, user.factors)
    counted = [factor for factor in user.factors if factor.factor_type != RECOVERY_CODE]
    if len(counted) >= mfa.max_enrolled_factors or len(verified(counted)) >= mfa.max_verified_factors:
        raise rejections.TOO_MANY_FACTORS()
    if user.has_verified_factor and not is_aal2(session):
        raise rejections.ENROLMENT_NEEDS_AAL2()


def reject_unverified_shortcut(user: AuthUser, session: AuthSession, factor: FactorRow) -> None:
    """Raise if a session would reach aal2 by an unverified factor although the user has a verified one.

    Otherwise an attacker who knows only the password could start a factor before the user sets one up, and complete it later.
    Raises: AuthError (403).
    """
    if user.has_verified_factor and not factor.is_verified and not is_aal2(session):
        raise rejections.ENROLMENT_NEEDS_AAL2()


def reject_removal(user: AuthUser, session: AuthSession, factor: FactorRow) -> None:
    """Raise if a session may not remove a factor, or only recovery codes would be left. Raises: AuthError (422)."""
    if not factor.is_verified:
        return
    if not is_aal2(session):
        raise rejections.REMOVAL_NEEDS_AAL2()
    if factor.factor_type != RECOVERY_CODE and leaves_codes_alone(user, factor.id):
        raise rejections.RECOVERY_CODES_ALONE()


def leaves_codes_alone(user: AuthUser, removed: UUID) -> bool:
    """Return whether recovery codes would be a user's only factor once another is removed."""
    has_codes = any(row.factor_type == RECOVERY_CODE and row.status == "verified" for row in user.factors)
    return has_codes and not [factor for factor in verified(user.factors) if factor.id != removed]


def require_live(challenge: ChallengeRow | None, limits: CodeLimits, now: datetime) -> ChallengeRow:
    """Return the challenge if it may be answered. Raises: AuthError (422)."""
    if challenge is None:
        raise rejections.CHALLENGE_NOT_FOUND()
    if challenge.verified_at is not None or not challenge.is_from_here:
        raise rejections.CHALLENGE_NOT_YOURS()
    is_over = now >= challenge.created_at + limits.lifetime
    if is_over or challenge.failed_attempts >= limits.max_failed:
        raise rejections.CHALLENGE_EXPIRED()
    return challenge


def failures_count(lifetime: timedelta) -> timedelta:
    """Return how long the failures of a challenge count, from when it was made.

    They count for a while after the last of them, so challenges cannot be made in advance and answered when they no longer count.
    """
    return max(_FAILURES_COUNT, lifetime + _FAILURES_COUNT_AFTER)


# --- Factors -----------------------------------------------------------------------------------------------------


async def find(transaction: Transaction, id: UUID, user_id: UUID) -> FactorRow | None:
    """Find a factor of a user."""
    return await transaction.one(_SQL["of_user"], FactorRow, str(id), str(user_id))


async def forget_stale(transaction: Transaction, user_id: UUID, before: datetime) -> None:
    """Delete factors that were enrolled before a time and never verified."""
    await transaction.rows(_SQL["forget_stale"], str(user_id), before.isoformat())


async def forget_number(transaction: Transaction, user_id: UUID, phone: str) -> None:
    """Delete the unverified factor of a number."""
    await transaction.rows(_SQL["forget_number"], str(user_id), phone)


async def add(
    transaction: Transaction,
    user_id: UUID,
    enrolment: Enrolment,
    kind: str,
    new: NewFactor,
    now: datetime,
    *,
    is_verified: bool = False,
) -> None:
    """Store a new factor."""
    status = "verified" if is_verified else "unverified"
    await transaction.rows(
        _SQL["insert"], str(enrolment.id), str(user_id), kind, status, enrolment.friendly_name, new.secret, new.phone,
        now.isoformat(),
    )  # fmt: skip


async def confirm(transaction: Transaction, factor: FactorRow, now: datetime) -> bool:
    """Mark a factor as verified and delete unverified ones of its type. Return whether it was unverified before."""
    changed = await transaction.rows(_SQL["verify"], str(factor.id), now.isoformat())
    values = (str(factor.user_id), factor.factor_type, str(factor.id))
    await transaction.rows(_SQL["forget_unfinished"], *values)
    return bool(changed)


async def change(
    transaction: Transaction, id: UUID, *, name: str | None, phone: str | None, now: datetime
) -> None:
    """Change a factor's name (empty removes it) or number; None leaves it as it is."""
    await transaction.rows(_SQL["change"], str(id), name, phone, now.isoformat())


async def remove(transaction: Transaction, id: UUID) -> None:
    """Delete a factor."""
    await transaction.rows(_SQL["delete"], str(id))


async def use_step(transaction: Transaction, id: UUID, step: int) -> bool:
    """Use up a time step of a TOTP factor; return False if it, or a later one, was used before."""
    return bool(await transaction.rows(_SQL["use_step"], str(id), step))


# --- Challenges --------------------------------------------------------------------------------------------------


async def challenge(
    transaction: Transaction, factor: FactorRow, id: UUID, new: NewChallenge, address: str, now: datetime
) -> None:
    """Store a new challenge, requested from an address."""
    at = now.isoformat()
    data = new.web_authn_session_data
    await transaction.rows(
        _SQL["insert_challenge"], str(id), str(factor.id), at, address or _NO_ADDRESS, new.otp_code, data
    )
    await transaction.rows(_SQL["challenged"], str(factor.id), at)


async def find_challenge(
    transaction: Transaction, id: UUID, factor_id: UUID, address: str
) -> ChallengeRow | None:
    """Find a challenge of a factor, as seen from an address."""
    values = (str(id), str(factor_id), address or _NO_ADDRESS)
    return await transaction.one(_SQL["challenge"], ChallengeRow, *values)


async def answer(transaction: Transaction, id: UUID, now: datetime) -> bool:
    """Use a challenge up; return False if it was used before."""
    return bool(await transaction.rows(_SQL["answer"], str(id), now.isoformat()))


async def fail(transaction: Transaction, id: UUID) -> None:
    """Count a wrong answer to a challenge."""
    await transaction.rows(_SQL["fail"], str(id))


async def reject_guessing(
    transaction: Transaction, factor_id: UUID, lifetime: timedelta, now: datetime
) -> None:
    """Raise if there were too many wrong answers to any challenges of a factor. Raises: AuthError (429)."""
    counted = failures_count(lifetime)
    since = now - counted
    failures = await transaction.one(_SQL["failures"], Failures, str(factor_id), since.isoformat())
    if failures is None or failures.oldest is None or failures.count < MAX_FAILED_OF_FACTOR:
        return
    wait = failures.oldest + counted - now
    raise rejections.OVER_REQUEST_RATE(retry_after_s=max(1, int(wait.total_seconds())))


async def forget_challenges(
    transaction: Transaction, factor_id: UUID, lifetime: timedelta, now: datetime
) -> None:
    """Delete challenges that can neither be answered nor count as failures any more."""
    before = now - failures_count(lifetime)
    await transaction.rows(_SQL["forget_challenges"], str(factor_id), before.isoformat())
