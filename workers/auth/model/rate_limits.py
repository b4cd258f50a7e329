"""Rate limits, counted in the table `auth.rate_limits`, so that all workers share them.

Leaky bucket: a bucket holds `burst` requests and drains at a constant rate. A request adds one, in a transaction of its own,
and is rejected when the bucket is full. Messages (`count`) are counted in the transaction that prepares them, as its last
statement: if that transaction rolls back, the message is neither sent nor counted. Source: docs/reference/auth.md, section 21.
"""

import math
from dataclasses import dataclass
from datetime import datetime

from schemas.client_networks import client_network
from schemas.settings.auth import AuthRateLimits as Settings
from schemas.settings.types import Quota
from workers.auth.model import rejections
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.model", "rate_limits.sql")
_BURST = 30.0  # requests
_FIVE_MINUTES, _HOUR = 300.0, 3600.0


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """One kind of request: how many are allowed at once, and how many in a time."""

    name: str
    most: float
    over_s: float = _FIVE_MINUTES

    @property
    def burst(self) -> float:
        """Requests that the bucket holds."""
        return min(_BURST, self.most) if self.over_s == _HOUR else max(_BURST, 1.0)


def token_limit(settings: Settings) -> RequestLimit:
    """Return the limit of sign-ins and refreshes."""
    return RequestLimit("token", settings.token_refresh)


def web3_limit(settings: Settings) -> RequestLimit:
    """Return the limit of sign-ins with a wallet."""
    return RequestLimit("web3", settings.web3)


def registration_limit(settings: Settings) -> RequestLimit:
    """Return the limit of OAuth clients that register themselves."""
    return RequestLimit("oauth_register", settings.oauth_dynamic_client_register)


def oauth_limit(settings: Settings, kind: str) -> RequestLimit:
    """Return the limit of an endpoint of the OAuth server; each kind has its own bucket."""
    return RequestLimit(f"oauth_{kind}", settings.token_refresh)


def account_limit(settings: Settings, kind: str) -> RequestLimit:
    """Return the limit of sign-ups, user updates and similar requests; each kind has its own bucket."""
    return RequestLimit(kind, settings.sign_in_sign_ups)


def anonymous_limit(settings: Settings) -> RequestLimit:
    """Return the limit of anonymous sign-ups."""
    return RequestLimit("anonymous", settings.anonymous_users, _HOUR)


def verify_limit(settings: Settings) -> RequestLimit:
    """Return the limit of attempts to use a code or link."""
    return RequestLimit("verify", settings.token_verifications)


async def count_request(database: ConnectionPool, limit: RequestLimit, client: str) -> None:
    """Count one request of a client address. A limit of 0 means unlimited.

    Raises: AuthError (429) with the seconds to wait; DatabaseError and its siblings.
    """
    if limit.most <= 0 or not client:
        return
    name, rate = f"{limit.name}:{client_network(client)}"[:512], limit.most / limit.over_s
    async with database.transaction((("search_path", "auth"),)) as transaction:
        if await transaction.rows(_SQL["take"], name, repr(rate), repr(limit.burst)):
            return
        rows = await transaction.rows(_SQL["wait"], name, repr(rate), repr(limit.burst))
    seconds = int(rows[0][0] or 1) if rows else 1
    raise rejections.OVER_REQUEST_RATE(retry_after_s=max(1, seconds), burst=int(limit.burst))


async def count(transaction: Transaction, name: str, quota: Quota, number: int = 1) -> int:
    """Count messages that are about to be sent, to any recipient; return 0, or the seconds until the quota allows them.

    A quota of 0 means unlimited.
    """
    if quota.most <= 0 or number <= 0:
        return 0
    rate = repr(quota.most / quota.over_s)
    if quota.refills:
        values = (name, rate, repr(float(quota.most)))
        if await transaction.rows(_SQL["take_drops"], *values, number):
            return 0
        rows = await transaction.rows(_SQL["wait"], *values)
    else:
        if await transaction.rows(_SQL["take_window"], name, number, repr(quota.over_s), quota.most):
            return 0
        rows = await transaction.rows(_SQL["window_left"], name, repr(quota.over_s))
    return max(1, int(rows[0][0] or 1)) if rows else 1


async def forget(transaction: Transaction, *names: str) -> None:
    """Reset counters to zero."""
    for name in names:
        await transaction.rows(_SQL["forget"], name)


async def pause(transaction: Transaction, name: str, now: datetime, least_s: float) -> int:
    """Allow an action at most once every `least_s` seconds: return 0, or the seconds until it is allowed again."""
    if await transaction.rows(_SQL["pause"], name, now.isoformat(), repr(float(least_s))):
        return 0
    return max(1, await paused_s(transaction, name, now, least_s))


async def paused_s(transaction: Transaction, name: str, now: datetime, least_s: float) -> int:
    """Return the seconds until an action of `pause` is allowed again, without starting its pause; 0 if it is allowed now."""
    rows = await transaction.rows(_SQL["paused_since"], name, now.isoformat())
    since_s = float(rows[0][0] or 0) if rows else least_s
    # One that is as far in the future does not count: the clock was set back since.
    return 0 if abs(since_s) >= least_s else math.ceil(least_s - since_s)
