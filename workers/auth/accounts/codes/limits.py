"""How often an address may ask, and how much is sent to all: counts in the database, so that all workers count together.

A bucket holds `burst` drops and empties at a rate; a request puts one in, in a transaction of its own, and is refused
when there is no room. What is sent (`count`) is counted in the transaction that prepares it, last of all: it is sent
once that is kept, and not counted where it is not. Source: reference page "auth", section 21.
"""

import math
from dataclasses import dataclass
from datetime import datetime

from schemas.settings.auth import Limits as Settings
from schemas.settings.types import Quota
from workers.auth.model import rejections
from workers.database.interactive import Transaction
from workers.database.pool import Pool
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.codes", "limits.sql")
_BURST = 30.0
_FIVE_MINUTES, _HOUR = 300.0, 3600.0


@dataclass(frozen=True, slots=True)
class Limit:
    """One kind of request: how many may come at once, and how many in a time."""

    name: str
    most: float
    over_s: float = _FIVE_MINUTES

    @property
    def burst(self) -> float:
        """Drops that the bucket holds."""
        return min(_BURST, self.most) if self.over_s == _HOUR else max(_BURST, 1.0)


def token_limit(settings: Settings) -> Limit:
    """Give the limit of sign-ins and refreshes."""
    return Limit("token", settings.token_refresh)


def web3_limit(settings: Settings) -> Limit:
    """Give the limit of sign-ins with a wallet."""
    return Limit("web3", settings.web3)


def registration_limit(settings: Settings) -> Limit:
    """Give the limit of OAuth clients that register themselves."""
    return Limit("oauth_register", settings.oauth_dynamic_client_register)


def oauth_limit(settings: Settings, kind: str) -> Limit:
    """Give the limit of an endpoint of the OAuth server; each kind has its own bucket."""
    return Limit(f"oauth_{kind}", settings.token_refresh)


def account_limit(settings: Settings, kind: str) -> Limit:
    """Give the limit of sign-ups, changes and their like; each kind has its own bucket."""
    return Limit(kind, settings.sign_in_sign_ups)


def anonymous_limit(settings: Settings) -> Limit:
    """Give the limit of anonymous sign-ups."""
    return Limit("anonymous", settings.anonymous_users, _HOUR)


def verify_limit(settings: Settings) -> Limit:
    """Give the limit of codes and links that are tried."""
    return Limit("verify", settings.token_verifications)


async def take(database: Pool, limit: Limit, client: str) -> None:
    """Count one request of a client. A limit of 0 is none.

    Raises: AuthError (429) with the seconds to wait; DatabaseError and its siblings.
    """
    if limit.most <= 0 or not client:
        return
    name, rate = f"{limit.name}:{client}"[:512], limit.most / limit.over_s
    async with database.transaction((("search_path", "auth"),)) as transaction:
        if await transaction.rows(_SQL["take"], name, repr(rate), repr(limit.burst)):
            return
        found = await transaction.rows(_SQL["wait"], name, repr(rate), repr(limit.burst))
    seconds = int(found[0][0] or 1) if found else 1
    raise rejections.OVER_REQUEST_RATE(retry_after_s=max(1, seconds), burst=int(limit.burst))


async def count(transaction: Transaction, name: str, quota: Quota, number: int = 1) -> int:
    """Count what is about to be sent to anybody: 0, or the seconds until that many may be. A quota of 0 is none."""
    if quota.most <= 0 or number <= 0:
        return 0
    rate = repr(quota.most / quota.over_s)
    if quota.refills:
        values = (name, rate, repr(float(quota.most)))
        if await transaction.rows(_SQL["take_drops"], *values, number):
            return 0
        found = await transaction.rows(_SQL["wait"], *values)
    else:
        if await transaction.rows(_SQL["take_window"], name, number, repr(quota.over_s), quota.most):
            return 0
        found = await transaction.rows(_SQL["window_left"], name, repr(quota.over_s))
    return max(1, int(found[0][0] or 1)) if found else 1


async def forget(transaction: Transaction, *names: str) -> None:
    """Begin to count anew."""
    for name in names:
        await transaction.rows(_SQL["forget"], name)


async def pause(transaction: Transaction, name: str, now: datetime, least_s: float) -> int:
    """Let something happen once in a time: 0, or the seconds until it may again."""
    if await transaction.rows(_SQL["pause"], name, now.isoformat(), repr(float(least_s))):
        return 0
    found = await transaction.rows(_SQL["paused_since"], name, now.isoformat())
    return max(1, math.ceil(least_s - float(found[0][0] or 0))) if found else 1
