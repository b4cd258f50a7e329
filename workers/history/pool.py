"""Start the pool in a process: it leads or stands by once a table has a history, until the process drains. It serves no requests."""

from collections.abc import Sequence

from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.causes import cause_keys
from schemas.database_logins import SCHEDULER
from workers.database.sessions.leader_candidate import LeaderCandidate
from workers.database.sessions.leadership import Leadership
from workers.history.observations import HistoryCrashed, HistoryLost
from workers.history.term import HistoryTerm
from workers.resources import Resources

LOCK = (0x68776373, 5)
"""The two keys of the advisory lock of the leader."""


async def serve_pool(resources: Resources) -> None:
    """Lead or stand by in the background as soon as there is a table with history. Without the stream of changes nothing is done."""
    settings = resources.settings
    if not settings.history.enabled or not settings.realtime.enabled:
        return
    candidate = HistoryCandidate(resources.url_of(SCHEDULER), resources.connection, cause_keys(settings.auth))
    resources.process.on_drain(candidate.close)
    resources.history_watch.on_wanted(candidate.look)


class HistoryCandidate:
    """Leads or stands by from the first `look` to `close`. A platform without history has no session for it."""

    def __init__(self, url: str, connection: NatsConnection, keys: Sequence[bytes]) -> None:
        self._connection, self._keys = connection, keys
        self._term: HistoryTerm | None = None
        self._has_begun = False
        self._candidate = LeaderCandidate(
            url,
            LOCK,
            self._lead,
            name="history",
            on_lost=lambda reason: observe(HistoryLost(reason)),
            on_crash=lambda traceback: observe(HistoryCrashed(traceback)),
        )

    def look(self) -> None:
        """Begin, or look at the tables again: the schema may be another one."""
        if not self._has_begun:
            self._has_begun = True
            self._candidate.begin()
        elif self._term is not None:
            self._term.change()

    async def close(self) -> None:
        """Release the lead; another process takes over at once."""
        await self._candidate.close()

    async def _lead(self, leadership: Leadership) -> None:
        self._term = HistoryTerm(leadership, self._connection, self._keys)
        try:
            await self._term.run()
        finally:
            self._term = None
