"""How often an address may ask: buckets in the database, so that all workers count together.

A bucket holds `burst` drops and empties at a rate; a request puts one in, in a transaction of its own, and is refused
when there is no room. Source: reference page "auth", section 21.
"""

from dataclasses import dataclass

from schemas.auth_settings import Limits as Settings
from workers.auth import refusals
from workers.database.pool import Pool
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth", "limits.sql")
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


def account_limit(settings: Settings, kind: str) -> Limit:
    """Give the limit of sign-ups, changes and their like; each kind has its own bucket."""
    return Limit(kind, settings.sign_in_sign_ups)


def anonymous_limit(settings: Settings) -> Limit:
    """Give the limit of anonymous sign-ups."""
    return Limit("anonymous", settings.anonymous_users, _HOUR)


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
    raise refusals.OVER_REQUEST_RATE(retry_after_s=max(1, seconds))
