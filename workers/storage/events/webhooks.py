"""Post events from the stream to the project's webhook: one POST for each event, repeated until it succeeds or is too
old.

A durable consumer that all workers share records which events are done. Any status from 200 to 299 acknowledges an
event. After any other result it is redelivered after a pause that grows to a minute, while later events are posted: so
the posts of one object may change their order (`sequence` tells it). The operator may configure a private address. URL
and key are secret.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from broker.jetstream import durable_consumer
from broker.jetstream.durable_consumer import ConsumerPull, DurableConsumer
from broker.jetstream.nats_py import ConnectionClosed
from broker.nats.connection import NatsConnection
from broker.observability.observations import EventUnreadable
from broker.observability.observe import observe
from broker.subjects import STORAGE_EVENTS
from schemas.keys.secret import Secret
from schemas.storage_events import StorageEvent
from workers.http_client.client import FetchFailed, HttpClient
from workers.storage.events.observations import (
    WebhookBack,
    WebhookDropped,
    WebhookFailed,
    WebhookLost,
    WebhookSent,
)
from workers.storage.events.publish import STREAM
from workers.storage.events.webhook_body import WebhookTenant, body_of

CONSUMER = DurableConsumer(
    STREAM, "storage-webhook", STORAGE_EVENTS, ack_wait_s=15.0, only_new=True, batch=32
)
"""Starts with events after its creation. A webhook that was switched off continues where it stopped."""
_AT_A_TIME = 4
_TIMEOUT_S = 10.0
_AGAIN_S = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0)

_read = msgspec.json.Decoder(StorageEvent).decode


@dataclass(frozen=True, slots=True)
class Webhook:
    """The URL that receives events, and for how long each event is retried."""

    url: Secret
    key: Secret | None
    give_up_s: float
    tenant: WebhookTenant
    again_s: tuple[float, ...] = _AGAIN_S
    """Pauses after the first, second... failure; the last one repeats."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers of a post."""
        plain = {"content-type": "application/json"}
        return plain | ({"authorization": f"Bearer {self.key.reveal()}"} if self.key else {})


@dataclass(slots=True)
class WebhookPoster:
    """Posts events until it is cancelled."""

    connection: NatsConnection
    outgoing: HttpClient
    webhook: Webhook
    clock: Callable[[], float] = time.time
    _lost_at: float | None = field(default=None, init=False)

    async def prepare(self) -> None:
        """Create the consumer: from then on the stream retains events for it. Raises: Unavailable, JetStreamError."""
        await durable_consumer.ensure_consumer(self.connection, CONSUMER)

    async def run(self) -> None:
        """Post events, a few at a time."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_A_TIME):
                group.create_task(self._post_all())

    async def _post_all(self) -> None:
        with suppress(ConnectionClosed):
            async with ConsumerPull(self.connection, CONSUMER) as pull:
                while True:
                    message = await pull.next()
                    metadata = message.metadata
                    again_s = await self._hand_on(
                        message.subject, message.data, metadata.num_delivered, metadata.timestamp.timestamp()
                    )
                    if again_s is None:
                        await pull.acknowledge()
                    else:
                        await pull.postpone(again_s)

    async def _hand_on(self, subject: str, data: bytes, tries: int, kept_at: float) -> float | None:
        """Post a message once. Return the seconds until its redelivery, or None if it is done."""
        try:
            event = _read(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            observe(EventUnreadable(subject, "not a StorageEvent"))
            return None
        if not (reason := await self._post(event)):
            observe(WebhookSent(event.type))
            self._note_back()
            return None
        self._note_lost(reason)
        if self.clock() - kept_at >= self.webhook.give_up_s:
            observe(WebhookDropped(event.id, event.type, tries, reason))
            return None
        observe(WebhookFailed(event.type, reason))
        return self.webhook.again_s[min(tries, len(self.webhook.again_s)) - 1]

    async def _post(self, event: StorageEvent) -> str:
        """Post an event. Return why it failed, or an empty text."""
        webhook = self.webhook
        try:
            answer = await self.outgoing.fetch(
                "POST",
                webhook.url.reveal(),
                headers=webhook.headers,
                body=body_of(event, webhook.tenant, self.clock()),
                timeout_s=_TIMEOUT_S,
            )
        except FetchFailed as error:
            return str(error)
        return "" if answer.is_ok else f"it answered with status {answer.status}"

    def _note_lost(self, reason: str) -> None:
        if self._lost_at is None:
            self._lost_at = self.clock()
            observe(WebhookLost(reason))

    def _note_back(self) -> None:
        if self._lost_at is not None:
            observe(WebhookBack(round(self.clock() - self._lost_at, 3)))
            self._lost_at = None
