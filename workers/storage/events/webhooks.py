"""The stream of events -> the project's webhook: one POST an event, repeated until the service takes it or it is too old.

A durable consumer, shared by all workers, knows what is done. Any status from 200 to 299 takes an event; whatever else
happens, it comes again after a pause that grows to a minute, and the events behind it go on: posts of one object may
change their order then (`sequence` tells). What the operator set may be a private address. The URL and the key are secret.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from broker.jetstream import durable_consumer
from broker.jetstream.durable_consumer import Consumer, Pull
from broker.jetstream.nats_py import Closed
from broker.nats.connection import Connection
from broker.observability.observations import EventUnreadable
from broker.observability.observe import observe
from broker.subjects import STORAGE_EVENTS
from schemas.keys.secret import Secret
from schemas.storage_events import StorageEvent
from workers.http_client.client import FetchFailed, Outgoing
from workers.storage.events.observations import (
    WebhookBack,
    WebhookDropped,
    WebhookFailed,
    WebhookLost,
    WebhookSent,
)
from workers.storage.events.publish import STREAM
from workers.storage.events.webhook_body import Tenant, body_of

CONSUMER = Consumer(STREAM, "storage-webhook", STORAGE_EVENTS, ack_wait_s=15.0, only_new=True, batch=32)
"""It begins with what happens after it was first made; a webhook that was switched off goes on where it stopped."""
_AT_A_TIME = 4
_TIMEOUT_S = 10.0
_AGAIN_S = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0)

_read = msgspec.json.Decoder(StorageEvent).decode


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events are posted, and for how long each."""

    url: Secret
    key: Secret | None
    give_up_s: float
    tenant: Tenant
    again_s: tuple[float, ...] = _AGAIN_S
    """Pauses after the first, second... failure; the last one holds for all that follow."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Give the headers of a post."""
        plain = {"content-type": "application/json"}
        return plain | ({"authorization": f"Bearer {self.key.reveal()}"} if self.key else {})


@dataclass(slots=True)
class Poster:
    """Posts events until it is cancelled."""

    connection: Connection
    outgoing: Outgoing
    webhook: Webhook
    clock: Callable[[], float] = time.time
    _lost_at: float | None = field(default=None, init=False)

    async def prepare(self) -> None:
        """Make the consumer: events are kept for it from then on. Raises: Unavailable, JetStreamRefused."""
        await durable_consumer.ensure_consumer(self.connection, CONSUMER)

    async def run(self) -> None:
        """Post events, some at a time."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_A_TIME):
                group.create_task(self._post_all())

    async def _post_all(self) -> None:
        with suppress(Closed):
            async with Pull(self.connection, CONSUMER) as pull:
                while True:
                    message = await pull.next()
                    told = message.metadata
                    again_s = await self._hand_on(
                        message.subject, message.data, told.num_delivered, told.timestamp.timestamp()
                    )
                    if again_s is None:
                        await pull.acknowledge()
                    else:
                        await pull.again(again_s)

    async def _hand_on(self, subject: str, data: bytes, tries: int, kept_at: float) -> float | None:
        """Post a message once; give the seconds after which it shall come again, None if it is done with."""
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
        """Post an event; say why it was not taken, nothing if it was."""
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
