"""Recovery codes: each replaces the second factor in one sign-in.

The codes themselves are made by `workers/credentials/recovery_codes.py`. Wrong codes lock the whole set for a time. Functions
with a transaction run in the caller's, in which the user's row is locked. Source: docs/reference/auth.md, section 9.6.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from schemas.settings.auth_factors import RecoveryCodes
from workers.auth.model import rejections
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "recovery_codes.sql")


class CodeSet(Struct, frozen=True):
    """The codes of a user: how many there are, how many are unused, and the failed attempts."""

    id: UUID
    factor_id: UUID
    total: int
    remaining: int
    failed: int = 0
    locked_until: datetime | None = None
    friendly_name: str | None = None


@dataclass(frozen=True, slots=True)
class FailedTries:
    """Wrong codes since the last correct one or the end of a lock, and until when the set is locked."""

    failed: int = 0
    locked_until: datetime | None = None


def reject_locked(codes: CodeSet, now: datetime) -> None:
    """Raise while a set is locked. Raises: AuthError (429) with the seconds to wait."""
    if codes.locked_until is not None and codes.locked_until > now:
        seconds = int((codes.locked_until - now).total_seconds())
        raise rejections.RECOVERY_CODES_LOCKED(retry_after_s=max(1, seconds))


def after_failure(codes: CodeSet, settings: RecoveryCodes, now: datetime) -> FailedTries:
    """Return the state of a set after one more wrong code; a lock that has ended resets the count."""
    failed = 1 if codes.locked_until is not None else codes.failed + 1
    is_locked = failed >= settings.max_verify_attempts
    return FailedTries(failed, now + timedelta(seconds=settings.lockout_duration) if is_locked else None)


async def find(transaction: Transaction, user_id: UUID) -> CodeSet:
    """Find the codes of a user. Raises: AuthError (404) if the user has none."""
    codes = await find_any(transaction, user_id)
    if codes is None:
        raise rejections.FACTOR_NOT_FOUND()
    return codes


async def find_any(transaction: Transaction, user_id: UUID) -> CodeSet | None:
    """Find the codes of a user, or None."""
    return await transaction.one(_SQL["of_user"], CodeSet, str(user_id))


async def make(
    transaction: Transaction, user_id: UUID, factor_id: UUID, hashes: list[str], now: datetime
) -> None:
    """Store a set of codes, whose factor exists."""
    id = uuid4()
    await transaction.rows(_SQL["insert_set"], str(id), str(user_id), str(factor_id), now.isoformat())
    await _fill(transaction, id, hashes, now)


async def renew(transaction: Transaction, codes: CodeSet, hashes: list[str], now: datetime) -> None:
    """Replace the codes of a set, and lift its lock."""
    await transaction.rows(_SQL["forget_codes"], str(codes.id))
    await _fill(transaction, codes.id, hashes, now)
    await count(transaction, codes, FailedTries(), now)


async def use(transaction: Transaction, codes: CodeSet, hashed: str, now: datetime) -> bool:
    """Use a code up; return False if it is not an unused one of the set."""
    return bool(await transaction.rows(_SQL["use"], str(codes.id), hashed, now.isoformat()))


async def count(transaction: Transaction, codes: CodeSet, tries: FailedTries, now: datetime) -> None:
    """Store the failed attempts of a set."""
    until = None if tries.locked_until is None else tries.locked_until.isoformat()
    await transaction.rows(_SQL["count"], str(codes.id), tries.failed, until, now.isoformat())


async def _fill(transaction: Transaction, id: UUID, hashes: list[str], now: datetime) -> None:
    await transaction.rows(_SQL["insert_codes"], str(id), msgspec.json.encode(hashes), now.isoformat())
