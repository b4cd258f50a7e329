"""Events of the storage pool at work: the drain, the webhook if one is set, their numbers among the metrics."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from broker.jetstream.stream_watch import StreamWatch
from broker.nats.connection import Connection
from broker.observability.observe import gauge
from broker.requests.serve import Handler, RequestBody
from broker.subjects import STORAGE_EVENTS_STREAM
from schemas.http import Request
from schemas.settings.tree import Settings
from workers.database.pool import Pool
from workers.http_client.client import Outgoing
from workers.storage.events.drain import Drain
from workers.storage.events.publish import Limits, ensure_events
from workers.storage.events.webhook_body import tenant_of
from workers.storage.events.webhooks import Poster, Webhook

_READS_ONLY = ("GET", "HEAD", "OPTIONS")


class Telling:
    """Tells events from `begin` to `close`."""

    def __init__(self, connection: Connection, database: Pool, settings: Settings) -> None:
        own = settings.storage
        self._connection = connection
        self._limits = Limits(float(own.events_max_age), int(own.events_max_size))
        self._outgoing = Outgoing()
        self._drain = Drain(database, connection, self._prepare)
        self._poster: Poster | None = None
        if own.webhook_url:
            webhook = Webhook(
                own.webhook_url, own.webhook_api_key, float(own.webhook_give_up), tenant_of(settings)
            )
            self._poster = Poster(connection, self._outgoing, webhook)
        self._watch = StreamWatch(
            connection, STORAGE_EVENTS_STREAM, lambda: ensure_events(connection, self._limits)
        )
        self._is_watched = False
        self._tasks: list[asyncio.Task[None]] = []
        self._gauges: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Begin to tell events, and to post them."""
        self._gauges = [
            gauge(
                "headwater_storage_events_waiting",
                "Events in the database that are not on NATS yet, as this worker saw them last.",
                lambda: self._drain.depth.count,
            ),
            gauge(
                "headwater_storage_events_waiting_seconds",
                "How long the oldest of them had waited then.",
                lambda: self._drain.depth.age_s,
            ),
        ]
        self._start(self._drain.run())

    def waking(self, answer: Handler) -> Handler:
        """Give a handler after whose answers the outbox is looked at, unless they only read."""

        async def answer_and_wake(request: Request, body: RequestBody) -> Any:
            try:
                return await answer(request, body)
            finally:
                if request.method not in _READS_ONLY:
                    self._drain.wake()

        return answer_and_wake

    async def close(self) -> None:
        """End. What is in hand comes again elsewhere."""
        for remove in self._gauges:
            remove()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._watch.close()
        await self._outgoing.close()

    async def _prepare(self) -> None:
        """Make the stream, and who must be there before its first event. Posting begins with the first time."""
        await ensure_events(self._connection, self._limits)
        if not self._is_watched:
            self._is_watched = True
            self._watch.start()
        if self._poster is not None:
            await self._poster.prepare()
            if len(self._tasks) == 1:
                self._start(self._poster.run())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))
