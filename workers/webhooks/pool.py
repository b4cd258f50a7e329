"""Start the pool in a process: it leads or stands by until the process drains. It serves no requests."""

import asyncio
from contextlib import suppress

from broker.backoff import Backoff
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe, traceback_of
from schemas.database_logins import SCHEDULER
from schemas.settings.tree import Settings, SettingsError
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import Leadership, LeadershipLost, lead
from workers.http_client.client import HttpClient
from workers.http_client.project_guard import guard_of
from workers.resources import Resources
from workers.webhooks.observations import WebhooksCrashed, WebhooksLost
from workers.webhooks.term import WebhookTerm

LOCK = (0x68776373, 3)
"""The two keys of the advisory lock of the leader."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 10.0


async def serve_pool(resources: Resources) -> None:
    """Start to lead or stand by in the background. Raises: SettingsError."""
    if not resources.settings.webhooks.enabled:
        return
    candidate = WebhookCandidate(resources.url_of(SCHEDULER), resources.connection, resources.settings)
    resources.process.on_drain(candidate.close)
    candidate.begin()


class WebhookCandidate:
    """Leads or stands by from `begin` to `close`, and tries again after failures. Raises: SettingsError."""

    def __init__(self, url: str, connection: NatsConnection, settings: Settings) -> None:
        try:
            self._outgoing = HttpClient(guard_of(settings))
        except ValueError as error:
            raise SettingsError(f"net.allow or net.gateway_url: {error}") from None
        self._url, self._connection, self._settings = url, connection, settings
        self._term: WebhookTerm | None = None
        self._task: asyncio.Task[None] | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        self._complaint = ""
        self._is_closing = False
        self._hide = gauge(
            "headwater_webhooks_sending",
            "Deliveries of webhooks that are underway in the process that leads.",
            lambda: self._term.sending if self._term else 0.0,
        )

    @property
    def is_leader(self) -> bool:
        """Whether this process leads."""
        return self._term is not None

    def begin(self) -> None:
        """Start the background task."""
        self._task = asyncio.get_running_loop().create_task(self._stand(), name="webhooks")

    async def close(self) -> None:
        """Release the lead; what is underway gets half of `drain_timeout`. Another process takes over at once."""
        self._is_closing = True
        self._hide()
        if self._task is not None:
            if self._term is not None:
                self._term.stop()
                await asyncio.wait((self._task,), timeout=float(self._settings.pools.drain_timeout))
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._outgoing.close()

    async def _stand(self) -> None:
        while True:
            try:
                await lead(self._url, LOCK, self._lead, lambda: None, name="headwater webhooks")
                if self._is_closing:
                    return
            except (Disconnected, LeadershipLost, DatabaseError) as error:
                self._complain(error)
            except Exception as error:  # without this task nothing is sent
                observe(WebhooksCrashed(traceback_of(error)))
            await self._backoff.wait()

    async def _lead(self, leadership: Leadership) -> None:
        self._term = WebhookTerm(leadership, self._connection, self._outgoing, self._settings)
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
            observe(WebhooksLost(reason))
