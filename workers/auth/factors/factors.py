"""Second factors of users and their challenges: the rows, and the rules that all kinds share.

Each function runs in the caller's transaction, in which the user's row is locked. Raises, all of them: DatabaseError,
Disconnected. Source: reference page "auth", section 9.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.codes.codes import CodeLimits
from workers.auth.factors.second_factor import ChallengeRow, Enrolment, FactorRow, NewChallenge, NewFactor
from workers.auth.model import rejections
from workers.auth.model.rows import Factor, Session, User
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "factors.sql")

RECOVERY_CODE = "recovery_code"
"""The type of the factor that stands for a set of recovery codes."""
MOST_FAILED_OF_CHALLENGE = 5
"""A challenge dies at this wrong answer."""
MOST_FAILED_OF_FACTOR = 30
"""Wrong answers to all challenges of a factor within `FAILURES_COUNT`; no answer is looked at beyond them."""
FAILURES_COUNT = timedelta(hours=1)
_LONGEST_NAME = 255
_NO_ADDRESS = "0.0.0.0"  # noqa: S104 - stands in a column that takes no null, where a request has no address


class Failures(Struct, frozen=True):
    """Wrong answers to recent challenges of a factor."""

    count: int
    oldest: datetime | None = None


# --- Rules -------------------------------------------------------------------------------------------------------


def is_aal2(session: Session) -> bool:
    """Tell whether a session was entered with a second factor."""
    return session.aal == "aal2"


def verified(factors: Iterable[Factor]) -> list[Factor]:
    """Give the factors that are set up, recovery codes left out: these stand in for one of the others."""
    return [each for each in factors if each.status == "verified" and each.factor_type != RECOVERY_CODE]


def refuse_name(name: str, others: Iterable[Factor]) -> None:
    """Raise if a name cannot be kept, or another factor of the user has it. Raises: AuthError (400, 422)."""
    if len(name) > _LONGEST_NAME or "\0" in name:
        raise rejections.BAD_FACTOR_NAME(most=_LONGEST_NAME)
    if name.strip() and any(each.friendly_name == name for each in others):
        raise rejections.FACTOR_NAME_TAKEN()


def refuse_enrolment(user: User, session: Session, mfa: Mfa, name: str) -> None:
    """Raise if a user may have no further factor, or his session may not add one. Raises: AuthError (403, 422)."""
    refuse_name(name, user.factors)
    counted = [each for each in user.factors if each.factor_type != RECOVERY_CODE]
    if len(counted) >= mfa.max_enrolled_factors or len(verified(counted)) >= mfa.max_verified_factors:
        raise rejections.TOO_MANY_FACTORS()
    if user.has_verified_factor and not is_aal2(session):
        raise rejections.ENROLMENT_NEEDS_AAL2()


def refuse_shortcut(user: User, session: Session, factor: FactorRow) -> None:
    """Raise if a session would reach aal2 by a factor that is not set up yet, past one that is.

    Else who knows the password only could begin a factor of his own before the user has set up one, and end it later.
    Raises: AuthError (403).
    """
    if user.has_verified_factor and not factor.is_verified and not is_aal2(session):
        raise rejections.ENROLMENT_NEEDS_AAL2()


def refuse_removal(user: User, session: Session, factor: FactorRow) -> None:
    """Raise if a session may not remove a factor, or only recovery codes would be left. Raises: AuthError (422)."""
    if not factor.is_verified:
        return
    if not is_aal2(session):
        raise rejections.REMOVAL_NEEDS_AAL2()
    if factor.factor_type != RECOVERY_CODE and leaves_codes_alone(user, factor.id):
        raise rejections.RECOVERY_CODES_ALONE()


def leaves_codes_alone(user: User, removed: UUID) -> bool:
    """Tell whether recovery codes would be a user's only factor once another is removed."""
    has_codes = any(each.factor_type == RECOVERY_CODE and each.status == "verified" for each in user.factors)
    return has_codes and not [each for each in verified(user.factors) if each.id != removed]


def refuse_dead(challenge: ChallengeRow | None, limits: CodeLimits, now: datetime) -> ChallengeRow:
    """Give a challenge that may be answered. Raises: AuthError (422)."""
    if challenge is None:
        raise rejections.CHALLENGE_NOT_FOUND()
    if challenge.verified_at is not None or not challenge.is_from_here:
        raise rejections.CHALLENGE_NOT_YOURS()
    is_over = now >= challenge.created_at + limits.lifetime
    if is_over or challenge.failed_attempts >= limits.most_failed:
        raise rejections.CHALLENGE_EXPIRED()
    return challenge


# --- Factors -----------------------------------------------------------------------------------------------------


async def find(transaction: Transaction, id: UUID, user_id: UUID) -> FactorRow | None:
    """Find a factor of a user."""
    return await transaction.one(_SQL["of_user"], FactorRow, str(id), str(user_id))


async def forget_stale(transaction: Transaction, user_id: UUID, before: datetime) -> None:
    """Remove factors that were begun before a time and never set up to their end."""
    await transaction.rows(_SQL["forget_stale"], str(user_id), before.isoformat())


async def forget_number(transaction: Transaction, user_id: UUID, phone: str) -> None:
    """Remove the factor of a number that was begun."""
    await transaction.rows(_SQL["forget_number"], str(user_id), phone)


async def add(
    transaction: Transaction,
    user_id: UUID,
    wanted: Enrolment,
    kind: str,
    new: NewFactor,
    now: datetime,
    *,
    is_verified: bool = False,
) -> None:
    """Keep a new factor."""
    status = "verified" if is_verified else "unverified"
    await transaction.rows(
        _SQL["insert"], str(wanted.id), str(user_id), kind, status, wanted.friendly_name, new.secret, new.phone,
        now.isoformat(),
    )  # fmt: skip


async def confirm(transaction: Transaction, factor: FactorRow, now: datetime) -> bool:
    """Set a factor up to its end; others of its type that were begun go. Tell whether it was not set up before."""
    changed = await transaction.rows(_SQL["verify"], str(factor.id), now.isoformat())
    values = (str(factor.user_id), factor.factor_type, str(factor.id))
    await transaction.rows(_SQL["forget_unfinished"], *values)
    return bool(changed)


async def change(
    transaction: Transaction, id: UUID, *, name: str | None, phone: str | None, now: datetime
) -> None:
    """Change a factor's name (empty takes it away) or number; None keeps what is there."""
    await transaction.rows(_SQL["change"], str(id), name, phone, now.isoformat())


async def remove(transaction: Transaction, id: UUID) -> None:
    """Remove a factor."""
    await transaction.rows(_SQL["delete"], str(id))


async def use_step(transaction: Transaction, id: UUID, step: int) -> bool:
    """Use a step of a TOTP factor up; tell whether it, or a later one, was not used before."""
    return bool(await transaction.rows(_SQL["use_step"], str(id), step))


# --- Challenges --------------------------------------------------------------------------------------------------


async def challenge(
    transaction: Transaction, factor: FactorRow, id: UUID, new: NewChallenge, address: str, now: datetime
) -> None:
    """Keep a new challenge, asked for from an address."""
    at = now.isoformat()
    data = new.web_authn_session_data
    await transaction.rows(
        _SQL["insert_challenge"], str(id), str(factor.id), at, address or _NO_ADDRESS, new.otp_code, data
    )
    await transaction.rows(_SQL["challenged"], str(factor.id), at)


async def find_challenge(
    transaction: Transaction, id: UUID, factor_id: UUID, address: str
) -> ChallengeRow | None:
    """Find a challenge of a factor, seen from an address."""
    values = (str(id), str(factor_id), address or _NO_ADDRESS)
    return await transaction.one(_SQL["challenge"], ChallengeRow, *values)


async def answer(transaction: Transaction, id: UUID, now: datetime) -> bool:
    """Use a challenge up; tell whether it was not used before."""
    return bool(await transaction.rows(_SQL["answer"], str(id), now.isoformat()))


async def fail(transaction: Transaction, id: UUID) -> None:
    """Count a wrong answer to a challenge."""
    await transaction.rows(_SQL["fail"], str(id))


async def refuse_guessing(transaction: Transaction, factor_id: UUID, now: datetime) -> None:
    """Raise if there were too many wrong answers, to whichever challenges of a factor. Raises: AuthError (429)."""
    since = now - FAILURES_COUNT
    found = await transaction.one(_SQL["failures"], Failures, str(factor_id), since.isoformat())
    if found is None or found.oldest is None or found.count < MOST_FAILED_OF_FACTOR:
        return
    wait = found.oldest + FAILURES_COUNT - now
    raise rejections.OVER_REQUEST_RATE(retry_after_s=max(1, int(wait.total_seconds())))


async def forget_challenges(
    transaction: Transaction, factor_id: UUID, lifetime: timedelta, now: datetime
) -> None:
    """Remove challenges that can neither be answered nor count any more."""
    before = now - max(lifetime, FAILURES_COUNT)
    await transaction.rows(_SQL["forget_challenges"], str(factor_id), before.isoformat())
