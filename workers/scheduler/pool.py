"""Start the scheduler in a process: it leads or stands by until the process drains. It serves no requests."""

import time
from collections.abc import Callable

from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe
from broker.requests.call import Calls
from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.tree import Settings, SettingsError
from workers.database.sessions.leader_candidate import LeaderCandidate
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import HttpClient
from workers.http_client.project_guard import guard_of
from workers.resources import Resources
from workers.scheduler.leader_term import SchedulerTerm
from workers.scheduler.observations import SchedulerCrashed, SchedulerLost, SchedulerWaits

LOGIN = "headwater_scheduler"
LOCK = (0x68776373, 1)
"""The two keys of the advisory lock that makes one scheduler the leader."""


async def serve_pool(resources: Resources) -> None:
    """Start to lead or stand by in the background. Raises: SettingsError."""
    settings = resources.settings
    if not settings.scheduler.enabled:
        return
    calls = Calls(resources.connection, max_in_flight=settings.gateway.max_in_flight)
    scheduler = SchedulerCandidate(resources.url_of(LOGIN), resources.connection, calls, settings)
    resources.process.on_drain(scheduler.close)
    scheduler.begin()


class SchedulerCandidate:
    """Leads or stands by from `begin` to `close`, and retries after failures of the database. Raises: SettingsError."""

    def __init__(
        self,
        url: str,
        connection: NatsConnection,
        calls: Calls,
        settings: Settings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        try:
            self._outgoing = HttpClient(guard_of(settings))
        except ValueError as error:
            raise SettingsError(f"net.allow or net.gateway_url: {error}") from None
        try:
            parse_schedule("* * * * *", settings.scheduler.timezone)
        except InvalidSchedule as error:
            raise SettingsError(f"scheduler.timezone: {error}") from None
        self._url, self._settings, self._clock = url, settings, clock
        self._connection, self._calls = connection, calls
        self._term: SchedulerTerm | None = None
        self._candidate = LeaderCandidate(
            url,
            LOCK,
            self._lead,
            name="scheduler",
            on_lost=lambda reason: observe(SchedulerLost(reason)),
            on_crash=lambda text: observe(SchedulerCrashed(text)),
            on_waiting=lambda: observe(SchedulerWaits()),
        )
        self._hide = gauge(
            "headwater_scheduler_leader",
            "1: this process leads and runs the schedules.",
            lambda: float(self.is_leader),
        )

    @property
    def is_leader(self) -> bool:
        """Whether this process leads."""
        return self._term is not None

    def begin(self) -> None:
        """Start the background task."""
        self._candidate.begin()

    async def close(self) -> None:
        """Release the lead; running jobs get `drain_timeout` to finish. Another process takes over at once."""
        self._hide()
        if self._term is not None:
            self._term.stop()
        await self._candidate.close(float(self._settings.pools.drain_timeout) if self._term else 0.0)
        await self._outgoing.close()

    async def _lead(self, leadership: Leadership) -> None:
        self._term = SchedulerTerm(
            leadership,
            self._url,
            self._connection,
            self._calls,
            self._outgoing,
            self._settings,
            self._clock,
        )
        try:
            await self._term.run()
        finally:
            self._term = None
