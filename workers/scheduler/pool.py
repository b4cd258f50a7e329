"""Start the scheduler in a process: it leads or stands by until the process drains. It serves no requests."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from broker.backoff import Backoff
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe, traceback_of
from broker.requests.call import Calls
from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.tree import Settings, SettingsError
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import Leadership, LeadershipLost, lead
from workers.http_client.client import HttpClient
from workers.http_client.project_guard import guard_of
from workers.resources import Resources
from workers.scheduler.leader_term import SchedulerTerm
from workers.scheduler.observations import SchedulerCrashed, SchedulerLost, SchedulerWaits

LOGIN = "headwater_scheduler"
LOCK = (0x68776373, 1)
"""The two keys of the advisory lock that makes one scheduler the leader."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 10.0


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
        self._task: asyncio.Task[None] | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        self._complaint = ""
        self._is_closing = False
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
        self._task = asyncio.get_running_loop().create_task(self._stand(), name="scheduler")

    async def close(self) -> None:
        """Release the lead; running jobs get `drain_timeout` to finish. Another process takes over at once."""
        self._is_closing = True
        self._hide()
        if self._task is None:
            return
        if self._term is not None:
            self._term.stop()
            await asyncio.wait((self._task,), timeout=self._settings.pools.drain_timeout)
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._outgoing.close()

    async def _stand(self) -> None:
        while True:
            try:
                await lead(self._url, LOCK, self._lead, _wait, name="headwater scheduler")
                if self._is_closing:
                    return
            except (Disconnected, LeadershipLost, DatabaseError) as error:
                self._complain(error)
            except Exception as error:  # without this task no process may run the schedules
                observe(SchedulerCrashed(traceback_of(error)))
            await self._backoff.wait()

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
        self._backoff.reset()
        self._complaint = ""
        try:
            await self._term.run()
        finally:
            self._term = None

    def _complain(self, error: Exception) -> None:
        # Messages of the database may contain values; its code does not.
        reason = f"SQLSTATE {error.code}" if isinstance(error, DatabaseError) else str(error)
        if reason != self._complaint:
            self._complaint = reason
            observe(SchedulerLost(reason))


def _wait() -> None:
    observe(SchedulerWaits())
