"""Deletes expired rows, 100 of each kind at a time, so that no delete holds its locks for long.

Counters of rate limits, and records of what must not be used twice, are always swept, the audit log if it has a retention; the rest if
`auth.db_cleanup_enabled` is set. Every worker process may sweep at any time: `for update skip locked` passes over rows that
another one is deleting. Source: docs/reference/auth.md, section 8.5.
"""

import asyncio
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.auth.factors.factors import failures_count
from workers.auth.model.context import AuthContext
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout, reason_of
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth", "cleanup.sql")
_ALWAYS = ("rate_limits", "web3_nonces", "saml_assertions", "browser_departures", "known_networks")
_EXPIRED = (
    "refresh_tokens",
    "ended_sessions",
    "relay_states",
    "client_states",
    "webauthn_challenges",
    "authorizations",
)
_ANONYMOUS = "anonymous_users"
_BATCH = 100
_PAUSE_S = 60.0


class CleanupFailed(Observation, frozen=True):
    """A batch could not be deleted; the next sweep tries again."""

    level: ClassVar[str] = "warning"
    what: str
    reason: str


async def sweep_forever(current_context: Callable[[], AuthContext]) -> None:
    """Sweep at once, then every 30 to 90 seconds, until cancelled. A sweep that deleted a full batch is repeated at once."""
    while True:
        removed = await sweep(current_context())
        if removed < _BATCH:
            await asyncio.sleep(_PAUSE_S * random.uniform(0.5, 1.5))


async def sweep(context: AuthContext) -> int:
    """Delete one batch of each kind, each in its own transaction; return the number of rows of the largest."""
    largest = 0
    for name, values in _statements(context):
        try:
            largest = max(largest, await _delete(context, name, values))
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            observe(CleanupFailed(name, reason_of(error)))
    return largest


async def _delete(context: AuthContext, name: str, values: tuple[str, ...]) -> int:
    try:
        async with context.transaction() as transaction:
            return len(await transaction.rows(_SQL[name], _BATCH, *values))
    except DatabaseError as error:
        if name != _ANONYMOUS:
            raise
        observe(CleanupFailed(name, reason_of(error)))
    return await _delete_each(context)


async def _delete_each(context: AuthContext) -> int:
    """Delete anonymous users one by one, because a foreign key or a trigger of the project protects some of them."""
    start, removed = str(uuid.uuid4()), 0
    async with context.transaction() as transaction:
        ids = [row[0] for row in await transaction.rows(_SQL["some_anonymous_users"], _BATCH, start)]
    for id in ids:
        with suppress(DatabaseError):
            async with context.transaction() as transaction:
                removed += len(await transaction.rows(_SQL["anonymous_user"], id))
    return removed


def _statements(context: AuthContext) -> Iterator[tuple[str, tuple[str, ...]]]:
    settings = context.settings
    yield from ((name, ()) for name in _ALWAYS)
    if settings.audit_log.retention:
        yield "audit_entries", (repr(float(settings.audit_log.retention)),)
    if not settings.db_cleanup_enabled:
        return
    yield from ((name, ()) for name in _EXPIRED)
    codes_live_s = repr(float(max(settings.email.otp_expiry, settings.sms.otp_expiry)))
    yield from ((name, (codes_live_s,)) for name in ("flow_states", "one_time_tokens"))
    challenge_s = failures_count(timedelta(seconds=settings.mfa.challenge_expiry_duration)).total_seconds()
    yield "challenges", (repr(challenge_s),)
    yield "unverified_factors", (repr(float(settings.mfa.factor_expiry_duration)),)
    if settings.sessions.timebox:
        yield "old_sessions", (repr(float(settings.sessions.timebox)),)
    if settings.sessions.inactivity_timeout:
        yield "idle_sessions", (repr(float(settings.sessions.inactivity_timeout)),)
    if settings.enable_anonymous_sign_ins:
        yield _ANONYMOUS, ()
