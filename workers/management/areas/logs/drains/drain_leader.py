"""The leader that sends log lines to other systems: one process of all that run the pool management, by an advisory lock."""

from collections.abc import Callable, Mapping

from broker.logs.lines import SOURCES
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe
from schemas.settings.logs import LogDrain
from workers.database.sessions.leader_candidate import LeaderCandidate
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import HttpClient
from workers.management.areas.logs.drains.log_drain import SQL, DrainedStream, DrainFigures, gauges_of
from workers.management.areas.logs.drains.observations import LogDrainsCrashed, LogDrainsLost
from workers.management.areas.logs.drains.receivers import receiver_of
from workers.management.areas.logs.messages import LOGS

LOCK = (0x68776373, 4)
"""The two keys of the advisory lock of the leader."""


class DrainLeader:
    """Leads or stands by from `begin` to `close`."""

    def __init__(self, url: str, connection: NatsConnection, drains: Mapping[str, LogDrain]) -> None:
        self._connection = connection
        self._drains = {name: drain for name, drain in drains.items() if drain.enabled}
        self._outgoing = HttpClient()
        self._candidate = LeaderCandidate(
            url,
            LOCK,
            self._lead,
            name="log drains",
            on_lost=lambda reason: observe(LogDrainsLost(reason)),
            on_crash=lambda traceback: observe(LogDrainsCrashed(traceback)),
        )

    def begin(self) -> None:
        """Start the background task."""
        self._candidate.begin()

    async def close(self) -> None:
        """Release the lead; the next leader sends on from the stored place."""
        await self._candidate.close()
        await self._outgoing.close()

    async def _lead(self, leadership: Leadership) -> None:
        await leadership.ask(SQL["forget"], list(self._drains))
        streams: list[DrainedStream] = []
        receivers = {name: receiver_of(drain, self._outgoing) for name, drain in self._drains.items()}
        hide: list[Callable[[], None]] = []
        for name, drain in self._drains.items():
            figures = DrainFigures()
            hide += [gauge(metric, help, read, drain=name) for metric, help, read in gauges_of(figures)]
            streams += [
                DrainedStream(name, drain, source, self._connection, leadership, receivers[name], figures)
                for source in range(len(SOURCES))
                if source == LOGS or drain.functions
            ]
        try:
            await leadership.work(*(stream.run for stream in streams))
        finally:
            for remove in hide:
                remove()
            for receiver in receivers.values():
                await receiver.close()
