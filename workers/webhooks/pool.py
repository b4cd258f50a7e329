"""Start the pool in a process: it leads or stands by until the process drains. It serves no requests."""

from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe
from schemas.database_logins import SCHEDULER
from schemas.settings.tree import Settings, SettingsError
from workers.database.sessions.leader_candidate import LeaderCandidate
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import HttpClient
from workers.http_client.project_guard import guard_of
from workers.resources import Resources
from workers.webhooks.observations import WebhooksCrashed, WebhooksLost
from workers.webhooks.term import WebhookTerm

LOCK = (0x68776373, 3)
"""The two keys of the advisory lock of the leader."""


async def serve_pool(resources: Resources) -> None:
    """Start to lead or stand by in the background. Raises: SettingsError."""
    if not resources.settings.webhooks.enabled:
        return
    candidate = WebhookCandidate(resources.url_of(SCHEDULER), resources.connection, resources.settings)
    resources.process.on_drain(candidate.close)
    candidate.begin()


class WebhookCandidate:
    """Leads or stands by from `begin` to `close`. Raises: SettingsError."""

    def __init__(self, url: str, connection: NatsConnection, settings: Settings) -> None:
        try:
            self._outgoing = HttpClient(guard_of(settings))
        except ValueError as error:
            raise SettingsError(f"net.allow or net.gateway_url: {error}") from None
        self._connection, self._settings = connection, settings
        self._term: WebhookTerm | None = None
        self._candidate = LeaderCandidate(
            url,
            LOCK,
            self._lead,
            name="webhooks",
            on_lost=lambda reason: observe(WebhooksLost(reason)),
            on_crash=lambda traceback: observe(WebhooksCrashed(traceback)),
        )
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
        self._candidate.begin()

    async def close(self) -> None:
        """Release the lead; what is underway gets half of `drain_timeout`. Another process takes over at once."""
        self._hide()
        if self._term is not None:
            self._term.stop()
        await self._candidate.close(float(self._settings.pools.drain_timeout) if self._term else 0.0)
        await self._outgoing.close()

    async def _lead(self, leadership: Leadership) -> None:
        self._term = WebhookTerm(leadership, self._connection, self._outgoing, self._settings)
        try:
            await self._term.run()
        finally:
            self._term = None
