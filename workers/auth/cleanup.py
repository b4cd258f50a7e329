"""Removal of what has expired: small batches, in turns, so that nobody waits for them.

Counters of rate limits, and notes of what must not be used twice, are always swept; the rest as
`auth.db_cleanup_enabled` says. Every worker may sweep at any time: rows that another one has in hand are skipped.
Source: reference page "auth", section 8.5.
"""

import asyncio
import random
from collections.abc import Iterator
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.auth.context import Accounts
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth", "cleanup.sql")
_ALWAYS = ("rate_limits", "web3_nonces", "saml_assertions", "browser_departures", "known_networks")
_EXPIRED = (
    "refresh_tokens",
    "ended_sessions",
    "relay_states",
    "client_states",
    "challenges",
    "unverified_factors",
    "webauthn_challenges",
    "authorizations",
)
_BATCH = 100
_PAUSE_S = 60.0


class CleanupFailed(Observation, frozen=True):
    """A batch could not be removed; the next turn tries again."""

    level: ClassVar[str] = "warning"
    what: str
    reason: str


async def sweep_forever(accounts: Accounts) -> None:
    """Sweep at once, then now and then, until cancelled. After a turn that removed a whole batch the next follows at once."""
    while True:
        removed = await sweep(accounts)
        if removed < _BATCH:
            await asyncio.sleep(_PAUSE_S * random.uniform(0.5, 1.5))


async def sweep(accounts: Accounts) -> int:
    """Remove one batch of each kind; give the rows of the largest."""
    largest = 0
    for name, values in _statements(accounts):
        try:
            async with accounts.transaction() as transaction:
                largest = max(largest, len(await transaction.rows(_SQL[name], _BATCH, *values)))
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            observe(CleanupFailed(name, type(error).__name__))
    return largest


def _statements(accounts: Accounts) -> Iterator[tuple[str, tuple[str, ...]]]:
    own = accounts.settings
    yield from ((name, ()) for name in _ALWAYS)
    if not own.db_cleanup_enabled:
        return
    yield from ((name, ()) for name in _EXPIRED)
    codes_live_s = repr(float(max(own.email.otp_expiry, own.sms.otp_expiry)))
    yield from ((name, (codes_live_s,)) for name in ("flow_states", "one_time_tokens"))
    if own.sessions.timebox:
        yield "old_sessions", (repr(float(own.sessions.timebox)),)
    if own.sessions.inactivity_timeout:
        yield "idle_sessions", (repr(float(own.sessions.inactivity_timeout)),)
    if own.enable_anonymous_sign_ins:
        yield "anonymous_users", ()
