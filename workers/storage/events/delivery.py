"""Start the delivery of events in the storage pool: the outbox drain, the webhook if configured, their metrics."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from broker.jetstream.stream_watch import StreamWatch
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe, traceback_of
from broker.requests.handler import Handler, RequestBody
from broker.subjects import STORAGE_EVENTS_STREAM
from schemas.http import Request
from schemas.settings.tree import Settings
from workers.database.connection_pool.pool import ConnectionPool
from workers.http_client.client import HttpClient
from workers.storage.events.drain import OutboxDrain
from workers.storage.events.observations import StorageEventsCrashed
from workers.storage.events.publish import EventStreamLimits, ensure_events
from workers.storage.events.webhook_body import tenant_of
from workers.storage.events.webhooks import Webhook, WebhookPoster

_READS_ONLY = ("GET", "HEAD", "OPTIONS")
_AFTER_CRASH_S = 5.0


class EventDelivery:
    """Delivers events from `begin` to `close`."""

    def __init__(self, connection: NatsConnection, database: ConnectionPool, settings: Settings) -> None:
        storage_settings = settings.storage
        self._connection = connection
        self._limits = EventStreamLimits(
            float(storage_settings.events_max_age), int(storage_settings.events_max_size)
        )
        self._outgoing = HttpClient()
        self._drain = OutboxDrain(database, connection, self._prepare)
        self._poster: WebhookPoster | None = None
        if storage_settings.webhook_url:
            webhook = Webhook(
                storage_settings.webhook_url,
                storage_settings.webhook_api_key,
                float(storage_settings.webhook_give_up),
                tenant_of(settings),
            )
            self._poster = WebhookPoster(connection, self._outgoing, webhook)
        self._watch = StreamWatch(
            connection, STORAGE_EVENTS_STREAM, lambda: ensure_events(connection, self._limits)
        )
        self._is_watched = False
        self._tasks: list[asyncio.Task[None]] = []
        self._gauges: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Start the drain and the webhook."""
        self._gauges = [
            gauge(
                "headwater_storage_events_waiting",
                "Events in the outbox that are not published to NATS yet, at this worker's last measurement.",
                lambda: self._drain.depth.count,
            ),
            gauge(
                "headwater_storage_events_waiting_seconds",
                "How long the oldest of these events had waited.",
                lambda: self._drain.depth.age_s,
            ),
        ]
        self._start(self._drain.run)

    def wake_after(self, answer: Handler) -> Handler:
        """Return a handler that wakes the drain after every response, except to read-only requests."""

        async def answer_and_wake(request: Request, body: RequestBody) -> Any:
            try:
                return await answer(request, body)
            finally:
                if request.method not in _READS_ONLY:
                    self._drain.wake()

        return answer_and_wake

    async def close(self) -> None:
        """Stop. Unfinished events are delivered by other workers, or after a restart."""
        for remove in self._gauges:
            remove()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._watch.close()
        await self._outgoing.close()

    async def _prepare(self) -> None:
        """Create the stream, and the webhook's consumer before the first event. The first call starts the webhook."""
        await ensure_events(self._connection, self._limits)
        if not self._is_watched:
            self._is_watched = True
            self._watch.start()
        if self._poster is not None:
            await self._poster.prepare()
            if len(self._tasks) == 1:
                self._start(self._poster.run)

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(_keep_running(work)))


async def _keep_running(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run work until it returns; a defect is reported, and it runs again."""
    while True:
        try:
            await work()
            return
        except (
            Exception
        ) as error:  # no other task would report it, and without this one no event is delivered
            observe(StorageEventsCrashed(traceback_of(error)))
        await asyncio.sleep(_AFTER_CRASH_S)
