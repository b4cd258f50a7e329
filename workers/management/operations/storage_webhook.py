"""The operation that reports the state of the webhook for events of storage (docs/storage-events.md)."""

from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from broker.jetstream.api import JetStreamFault, jetstream_request
from broker.jetstream.errors import JetStreamError
from broker.subjects import STORAGE_EVENTS_STREAM
from workers.management.interface.backends.metrics_text import read_metrics
from workers.management.interface.backends.typed_rows import read_rows
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.jobs import SQL

_CONSUMER = "storage-webhook"
_NO_CONSUMER = 10014
_OBSERVATIONS = "headwater_observations_total"


class StorageWebhook(Struct, frozen=True):
    """The webhook for events of storage (docs/storage-events.md). Its address is a secret: only its host is shown.

    `waiting`: events that it has not got yet; `retrying`: those of them that failed and are tried again; `unpublished`: events that
    wait in the database. `sent`, `failed`, `dropped` count tries since the processes of the pool storage started.
    """

    is_configured: bool
    host: str
    give_up_s: float
    waiting: int
    retrying: int
    unpublished: int
    sent: int
    failed: int
    dropped: int


class _Count(Struct, frozen=True):
    count: int


class _ConsumerInfo(Struct, frozen=True):
    num_pending: int = 0
    num_ack_pending: int = 0
    num_redelivered: int = 0
    error: JetStreamFault | None = None


_consumer_info = msgspec.json.Decoder(_ConsumerInfo)


async def storage_webhook(context: OperationContext, arguments: NoArguments) -> StorageWebhook:
    """Return the state of the webhook for events of storage."""
    del arguments
    storage = context.configuration.storage
    url = storage.webhook_url.reveal() if storage.webhook_url else ""
    [outbox] = await read_rows(context, _Count, SQL["outbox"])
    info = await _consumer(context)
    metrics = read_metrics(await context.pools.metrics(), (_OBSERVATIONS,))
    sent, failed, dropped = (
        round(metrics.total(_OBSERVATIONS, kind=kind))
        for kind in ("WebhookSent", "WebhookFailed", "WebhookDropped")
    )
    return StorageWebhook(
        bool(url),
        urlsplit(url).hostname or "" if url else "",
        float(storage.webhook_give_up),
        info.num_pending + info.num_ack_pending,
        info.num_redelivered,
        outbox.count,
        sent,
        failed,
        dropped,
    )


async def _consumer(context: OperationContext) -> _ConsumerInfo:
    """Return how far the webhook has read the stream; empty if there never was one."""
    try:
        return await jetstream_request(
            context.pools.connection, f"CONSUMER.INFO.{STORAGE_EVENTS_STREAM}.{_CONSUMER}", {}, _consumer_info
        )
    except JetStreamError as error:
        if error.code != _NO_CONSUMER:
            raise ManagementError(503, "unavailable", f"JetStream does not answer: {error}") from None
        return _ConsumerInfo()


def operations() -> list[Operation]:
    """Return the operation of this module."""
    return [
        Operation(
            "webhooks.storage",
            "The state of the webhook for events of storage",
            NoArguments,
            StorageWebhook,
            Right.READER,
            storage_webhook,
        )
    ]
