"""Start the pool in a process of its own: it leads or stands by until the process drains. It serves no requests."""

from collections.abc import Mapping

from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.database_logins import SCHEDULER
from schemas.settings.streams import StreamSettings
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.sessions.leader_candidate import LeaderCandidate
from workers.database.sessions.leadership import Leadership
from workers.resources import Resources
from workers.streams.observations import StreamsCrashed, StreamsLost
from workers.streams.term import StreamsTerm

LOCK = (0x68776373, 6)
"""The two keys of the advisory lock of the leader."""


async def serve_pool(resources: Resources) -> None:
    """Lead or stand by in the background, if there are streams. Raises: SettingsError."""
    settings = resources.settings
    streams = {name: stream for name, stream in settings.streams.items() if stream.enabled}
    if not streams or not settings.realtime.enabled:
        return
    candidate = StreamsCandidate(
        resources.url_of(SCHEDULER), resources.connection, resources.database, streams
    )
    resources.process.on_drain(candidate.close)
    resources.cache.on_change(lambda _: candidate.change())
    candidate.begin()


class StreamsCandidate:
    """Leads or stands by from `begin` to `close`. `url`: of the login that keeps the state; `database` reads rows."""

    def __init__(
        self,
        url: str,
        connection: NatsConnection,
        database: ConnectionPool,
        streams: Mapping[str, StreamSettings],
    ) -> None:
        self._connection, self._database, self._streams = connection, database, streams
        self._term: StreamsTerm | None = None
        self._candidate = LeaderCandidate(
            url,
            LOCK,
            self._lead,
            name="streams",
            on_lost=lambda reason: observe(StreamsLost(reason)),
            on_crash=lambda traceback: observe(StreamsCrashed(traceback)),
        )

    def begin(self) -> None:
        """Start the background task."""
        self._candidate.begin()

    def change(self) -> None:
        """The schema may be another one."""
        if self._term is not None:
            self._term.change()

    async def close(self) -> None:
        """Release the lead; the next leader goes on from what each target has."""
        await self._candidate.close()

    async def _lead(self, leadership: Leadership) -> None:
        self._term = StreamsTerm(leadership, self._connection, self._database, self._streams)
        try:
            await self._term.run()
        finally:
            self._term = None
