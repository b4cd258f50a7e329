"""Recovery codes: a set for each user that wants one, each code good for one sign-in without the other factor.

Codes are drawn from 32 signs; what is kept of them is a hash with a key of the server and the user's id, so that who
reads the database can neither use nor compare them. Wrong codes lock the whole set for a time. Each function with a
transaction runs in the caller's, in which the user's row is locked. Source: reference page "auth", section 9.6.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from schemas.settings.auth_factors import RecoveryCodes
from workers.auth.model import rejections
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.factors", "recovery_codes.sql")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_IGNORED = str.maketrans("", "", " -\t")
_LONGEST = 64


class CodeSet(Struct, frozen=True):
    """The codes of a user: how many there are, how many still work, how often a wrong one was tried."""

    id: UUID
    factor_id: UUID
    total: int
    remaining: int
    failed: int = 0
    locked_until: datetime | None = None
    friendly_name: str | None = None


@dataclass(frozen=True, slots=True)
class Tries:
    """Wrong codes since the last right one, or since a lock ended; and until when no code is looked at."""

    failed: int = 0
    locked_until: datetime | None = None


def new_codes(settings: RecoveryCodes) -> list[str]:
    """Draw the codes of a set, no two the same."""
    drawn: dict[str, None] = {}
    while len(drawn) < settings.count:
        drawn["".join(secrets.choice(_ALPHABET) for _ in range(settings.code_length))] = None
    return list(drawn)


def normal_code(text: str) -> str:
    """Give a code as it was drawn, however it was written down: case, blanks and dashes do not matter."""
    return text[: 2 * _LONGEST].translate(_IGNORED).lower()[:_LONGEST]


def hash_of(code: str, user_id: UUID, key: bytes) -> str:
    """Give what is kept of a user's code, as it was drawn; `key` is the server's."""
    message = b"recovery code" + user_id.bytes + code.encode(errors="surrogatepass")
    return hmac.digest(key, message, "sha256").hex()


def refuse_locked(found: CodeSet, now: datetime) -> None:
    """Raise while a set is locked. Raises: AuthError (429) with the seconds to wait."""
    if found.locked_until is not None and found.locked_until > now:
        seconds = int((found.locked_until - now).total_seconds())
        raise rejections.RECOVERY_CODES_LOCKED(retry_after_s=max(1, seconds))


def after_failure(found: CodeSet, settings: RecoveryCodes, now: datetime) -> Tries:
    """Give how a set stands after one more wrong code; a lock that has ended starts the count anew."""
    failed = 1 if found.locked_until is not None else found.failed + 1
    is_locked = failed >= settings.max_verify_attempts
    return Tries(failed, now + timedelta(seconds=settings.lockout_duration) if is_locked else None)


async def find(transaction: Transaction, user_id: UUID) -> CodeSet:
    """Find the codes of a user. Raises: AuthError (404) if there are none."""
    found = await find_any(transaction, user_id)
    if found is None:
        raise rejections.FACTOR_NOT_FOUND()
    return found


async def find_any(transaction: Transaction, user_id: UUID) -> CodeSet | None:
    """Find the codes of a user, None if there are none."""
    return await transaction.one(_SQL["of_user"], CodeSet, str(user_id))


async def make(
    transaction: Transaction, user_id: UUID, factor_id: UUID, hashes: list[str], now: datetime
) -> None:
    """Keep a set of codes; its factor is there."""
    id = uuid4()
    await transaction.rows(_SQL["insert_set"], str(id), str(user_id), str(factor_id), now.isoformat())
    await _fill(transaction, id, hashes, now)


async def renew(transaction: Transaction, found: CodeSet, hashes: list[str], now: datetime) -> None:
    """Put other codes in the place of a set's; a lock ends."""
    await transaction.rows(_SQL["forget_codes"], str(found.id))
    await _fill(transaction, found.id, hashes, now)
    await count(transaction, found, Tries(), now)


async def use(transaction: Transaction, found: CodeSet, hashed: str, now: datetime) -> bool:
    """Use a code up; tell whether it is one of the set that still works."""
    return bool(await transaction.rows(_SQL["use"], str(found.id), hashed, now.isoformat()))


async def count(transaction: Transaction, found: CodeSet, tries: Tries, now: datetime) -> None:
    """Keep how a set stands."""
    until = None if tries.locked_until is None else tries.locked_until.isoformat()
    await transaction.rows(_SQL["count"], str(found.id), tries.failed, until, now.isoformat())


async def _fill(transaction: Transaction, id: UUID, hashes: list[str], now: datetime) -> None:
    await transaction.rows(_SQL["insert_codes"], str(id), msgspec.json.encode(hashes), now.isoformat())
