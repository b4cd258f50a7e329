"""Events -> the stream STORAGE_EVENTS, as JSON, on a subject of their bucket and kind.

The stream knows each event by its id, so one that is published again within its window of ten minutes (a worker died
before it could forget the row) is kept once. Events of one object are published one after the other, each when the one
before it is kept; those of different objects at the same time.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from broker.jetstream import durable_consumer
from broker.nats.connection import Connection
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
"""Beginning of the type of an event -> last part of its subject."""
OTHER = "other"

_encode = msgspec.json.Encoder().encode


class Limits(Struct, frozen=True):
    """How long, and how many bytes of events, the stream keeps; 0 seconds are no limit."""

    max_age_s: float
    max_bytes: int


class Told(Struct, frozen=True):
    """The sequence numbers of events that are told, or can never be; and why the others are not."""

    sequences: Sequence[int]
    reason: str = ""


async def ensure_events(connection: Connection, limits: Limits) -> None:
    """Make the stream, or change it to these limits. Raises: Unavailable, JetStreamRefused."""
    await durable_consumer.ensure_stream(
        connection,
        STREAM,
        [STORAGE_EVENTS, canary(STREAM).name],
        max_age_s=limits.max_age_s,
        max_bytes=limits.max_bytes,
        duplicate_window_s=_REPEATS_S,
    )


async def publish_events(connection: Connection, events: Iterable[StorageEvent]) -> Told:
    """Publish events; what comes after a failed one of the same object is not tried."""
    chains: dict[tuple[str, str], list[StorageEvent]] = {}
    for event in events:
        name = "" if event.type.startswith("Bucket:") else event.name
        chains.setdefault((event.bucket, name), []).append(event)
    told = await asyncio.gather(*(_publish_chain(connection, chain) for chain in chains.values()))
    reasons = (each.reason for each in told if each.reason)
    return Told([number for each in told for number in each.sequences], next(reasons, ""))


def subject_of(event: StorageEvent) -> Subject:
    """Give the subject of an event (pure)."""
    whole, kind = event.type, event.type.partition(":")[0]
    return storage_event(event.bucket, KINDS.get(whole) or KINDS.get(kind, OTHER))


async def _publish_chain(connection: Connection, events: Iterable[StorageEvent]) -> Told:
    done: list[int] = []
    for event in events:
        try:
            await _publish(connection, event)
        except MessageTooLong:
            observe(StorageEventDropped(event.type, event.sequence, "it is too long for a message"))
        except Unavailable as error:
            return Told(done, str(error) or type(error).__name__)
        done.append(event.sequence)
    return Told(done)


async def _publish(connection: Connection, event: StorageEvent) -> None:
    """Publish one event, without its metadata where they make it too long. Raises: MessageTooLong, Unavailable."""
    subject = subject_of(event).name
    try:
        await durable_consumer.publish(connection, subject, _encode(event), id=event.id)
    except MessageTooLong:
        short = msgspec.structs.replace(event, metadata=NOTHING)
        await durable_consumer.publish(connection, subject, _encode(short), id=event.id)
    observe(StorageEventPublished(event.type))
