"""Publish storage events as JSON to the stream STORAGE_EVENTS, on a subject with their bucket and kind.

JetStream deduplicates by the event id within ten minutes, so an event that is published twice (a worker died before it
deleted the row) is stored once. The events of one object are published one after another, each after the
acknowledgement of the one before; the events of different objects are published concurrently.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from broker.jetstream import durable_consumer
from broker.jetstream.streams import ensure_stream
from broker.nats.connection import NatsConnection
from broker.nats.protocol import MessageTooLong
from broker.observability.observe import observe
from broker.subjects import STORAGE_EVENTS, STORAGE_EVENTS_STREAM, Subject, canary, storage_event
from schemas.errors import Unavailable
from schemas.storage_events import NOTHING, StorageEvent
from workers.storage.events.observations import StorageEventDropped, StorageEventPublished

STREAM = STORAGE_EVENTS_STREAM
_REPEATS_S = 600.0

KINDS = {
    "ObjectCreated": "object_created",
    "ObjectRemoved": "object_removed",
    "ObjectUpdated": "object_updated",
    "Bucket:Created": "bucket_created",
    "Bucket:Deleted": "bucket_deleted",
}
"""Beginning of an event's type -> last part of its subject."""
OTHER = "other"

_encode = msgspec.json.Encoder().encode


class EventStreamLimits(Struct, frozen=True):
    """How long, and how many bytes of events, the stream retains; 0 seconds means no limit."""

    max_age_s: float
    max_bytes: int


class PublishResult(Struct, frozen=True):
    """The sequence numbers of events that are published or never can be, and why the others failed."""

    sequences: Sequence[int]
    reason: str = ""


async def ensure_events(connection: NatsConnection, limits: EventStreamLimits) -> None:
    """Create the stream, or change it to these limits. Raises: Unavailable, JetStreamError."""
    await ensure_stream(
        connection,
        STREAM,
        [STORAGE_EVENTS, canary(STREAM).name],
        max_age_s=limits.max_age_s,
        max_bytes=limits.max_bytes,
        duplicate_window_s=_REPEATS_S,
    )


async def publish_events(connection: NatsConnection, events: Iterable[StorageEvent]) -> PublishResult:
    """Publish events. After a failure the later events of the same object are not tried."""
    chains: dict[tuple[str, str], list[StorageEvent]] = {}
    for event in events:
        name = "" if event.type.startswith("Bucket:") else event.name
        chains.setdefault((event.bucket, name), []).append(event)
    results = await asyncio.gather(*(_publish_chain(connection, chain) for chain in chains.values()))
    reasons = (result.reason for result in results if result.reason)
    return PublishResult([number for result in results for number in result.sequences], next(reasons, ""))


def subject_of(event: StorageEvent) -> Subject:
    """Return the subject of an event (pure)."""
    whole, kind = event.type, event.type.partition(":")[0]
    return storage_event(event.bucket, KINDS.get(whole) or KINDS.get(kind, OTHER))


async def _publish_chain(connection: NatsConnection, events: Iterable[StorageEvent]) -> PublishResult:
    done: list[int] = []
    for event in events:
        try:
            await _publish(connection, event)
        except MessageTooLong:
            observe(StorageEventDropped(event.type, event.sequence, "it is too long for a message"))
        except Unavailable as error:
            return PublishResult(done, str(error) or type(error).__name__)
        done.append(event.sequence)
    return PublishResult(done)


async def _publish(connection: NatsConnection, event: StorageEvent) -> None:
    """Publish one event, without its metadata if that would be too long. Raises: MessageTooLong, Unavailable."""
    subject = subject_of(event).name
    try:
        await durable_consumer.publish(connection, subject, _encode(event), id=event.id)
    except MessageTooLong:
        short = msgspec.structs.replace(event, metadata=NOTHING)
        await durable_consumer.publish(connection, subject, _encode(short), id=event.id)
    observe(StorageEventPublished(event.type))
