"""Limits on the joins of a socket: rates of the socket and of the process, counts and lengths."""

from collections.abc import Callable
from dataclasses import dataclass

from schemas.settings.realtime import RealtimeSettings
from services.realtime.limits import TokenBucket
from services.realtime.protocol.frames import Push
from services.realtime.protocol.join import JoinRequest

JOINS_OVER_S = 10.0
_LONGEST_TOPIC = 2000
_LONGEST_JOIN = 512 * 1024
"""Bytes of the payload of a join: its tokens and all its subscriptions."""
_LONGEST_KEY = 1024
_SUBSCRIPTIONS_OF_JOIN = 10
"""Subscriptions to row changes that count as one more join in the rate: each needs a query of the database."""
TOO_MANY_JOINS = "ClientJoinRateLimitReached: Too many joins per second"


@dataclass(frozen=True, slots=True)
class ProcessJoinLimits:
    """Limits that all sockets of the process share. `rejection` returns a reason that applies to every client, or ""."""

    joins: TokenBucket
    rejection: Callable[[JoinRequest], str]


class JoinLimits:
    """The limits of one socket. Each method returns the reason for a rejection, or ""."""

    def __init__(self, settings: RealtimeSettings, process: ProcessJoinLimits) -> None:
        self._settings, self._process = settings, process
        self._joins = TokenBucket(settings.max_joins_per_client, JOINS_OVER_S)

    def check_unparsed(self, push: Push, now: float) -> str:
        """Check what is known before the payload is parsed: parsing costs more than all these checks."""
        if len(push.topic) > _LONGEST_TOPIC:
            return f"TopicNameTooLong: A topic has {_LONGEST_TOPIC} characters at most"
        if len(push.payload) > _LONGEST_JOIN:
            return f"JoinTooLong: The payload of a join has {_LONGEST_JOIN} bytes at most"
        return self._check_rate(1, now)

    def check(self, join: JoinRequest, channels: int, subscriptions: int, now: float) -> str:
        """Check a parsed join. `channels` and `subscriptions` are those that the socket has already."""
        reason = self._process.rejection(join)
        if reason:
            return reason
        settings, requested = self._settings, len(join.changes)
        if 0 < settings.max_channels_per_client <= channels:
            return "ChannelRateLimitReached: Too many channels"
        if join.has_too_many:
            return f"ChangesLimitReached: A join has {settings.max_changes_per_join} entries of postgres_changes at most"
        if 0 < settings.max_changes_per_client < subscriptions + requested:
            return (
                f"ChangesLimitReached: A connection has {settings.max_changes_per_client} entries of "
                "postgres_changes at most"
            )
        if len(join.presence_key) > _LONGEST_KEY:
            return f"PresenceKeyTooLong: A presence key has {_LONGEST_KEY} characters at most"
        return self._check_rate(requested // _SUBSCRIPTIONS_OF_JOIN, now)

    def _check_rate(self, count: int, now: float) -> str:
        if self._joins.take(now, count) and self._process.joins.take(now, count):
            return ""
        return TOO_MANY_JOINS
