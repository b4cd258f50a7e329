"""Publish events to all subscribers, or store them in a stream until they are handled.

Live events: `publish_event` and `subscribe_events`. At most once, in the order of the publisher. A disconnected
subscriber misses events, so a subscriber that holds state refreshes it in `NatsConnection.on_back`.

Durable events: `store_event` and `consume_events`. At least once: an event is delivered again until its callback
returns without an exception.
"""

import asyncio
import contextlib
import enum
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from broker.codec import InvalidMessage, decoder, encode
from broker.jetstream import durable_consumer
from broker.jetstream.nats_py import ConnectionClosed
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observations import EventFailed, EventsDropped, EventUnreadable
from broker.observability.observe import observe, traceback_of
from broker.subjects import Subject

T = TypeVar("T", bound=Struct)

_REDELIVERY_S = (0.2, 1.0, 5.0, 30.0)
_CANCEL_S = 1.0
"""How long a cancelled callback may take before it is cancelled again."""


class RetryLater(Exception):
    """Raised by the callback of a durable subscription that has reported the reason itself: deliver the event again later."""


class EventSubscription:
    """A running subscription to events. `close` stops it."""

    def __init__(self, task: asyncio.Task[None], subscription: NatsSubscription | None = None) -> None:
        self._task = task
        self._subscription = subscription

    async def close(self) -> None:
        """Unsubscribe and cancel the running callback. The current event of a durable subscription is delivered again."""
        if self._subscription is not None:
            self._subscription.unsubscribe()
        while not self._task.done():  # a callback, or the client library, may swallow a cancellation
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CANCEL_S)


def publish_event(connection: NatsConnection, subject: Subject, event: Struct) -> None:
    """Publish an event to the present subscribers. Raises: Unavailable while disconnected."""
    connection.publish(subject.name, encode(event))


async def store_event(connection: NatsConnection, subject: Subject, event: Struct, *, id: str = "") -> int:
    """Publish an event and wait until its stream has stored it; return its sequence number. The same `id` is stored
    once.

    Raises: Unavailable; then the event may be stored or not.
    """
    return await durable_consumer.publish(connection, subject.name, encode(event), id=id)


async def subscribe_events(
    connection: NatsConnection,
    subject: Subject | str,
    kind: type[T],
    callback: Callable[[T], Awaitable[None]],
    *,
    backlog: int = 1024,
) -> EventSubscription:
    """Call `callback` with each event in order of arrival. A `str` may contain wildcards.

    An exception of the callback is reported and the event skipped. When more than `backlog` events wait, the oldest
    are dropped. Raises: Unavailable if the broker is away.
    """
    name = subject if isinstance(subject, str) else subject.name
    waiting: deque[NatsMessage] = deque()
    arrived = asyncio.Event()

    def take(message: NatsMessage) -> None:
        if len(waiting) >= backlog:
            waiting.popleft()
            observe(EventsDropped(name, 1))
        waiting.append(message)
        arrived.set()

    async def work() -> None:
        while True:
            await arrived.wait()
            while waiting:
                message = waiting.popleft()
                await _handle(message.subject, message.payload, kind, callback)
            arrived.clear()

    subscription = connection.subscribe(name, take)
    subscribed = EventSubscription(asyncio.get_running_loop().create_task(work()), subscription)
    try:
        await connection.flush()
    except BaseException:
        await subscribed.close()
        raise
    return subscribed


async def consume_events(
    connection: NatsConnection,
    subject: Subject | str,
    kind: type[T],
    callback: Callable[[T], Awaitable[None]],
    *,
    stream: str,
    durable: str,
    ack_wait_s: float = 30.0,
    batch: int = 64,
    only_new: bool = False,
) -> EventSubscription:
    """Call `callback` with each event of a stream, from the position of the consumer `durable`, which processes share
    by its name.

    An event is acknowledged when its callback has returned. When the callback raises, the event is delivered again
    after 0.2, 1, 5, then 30 s; later events may be handled before it, unless `batch` is 1. A message that is not a
    `kind` is skipped for good. Raises: Unavailable.
    """
    name = subject if isinstance(subject, str) else subject.name
    consumer = durable_consumer.DurableConsumer(stream, durable, name, ack_wait_s, only_new, batch)
    await durable_consumer.ensure_consumer(connection, consumer)

    async def work() -> None:
        async with durable_consumer.ConsumerPull(connection, consumer) as pull:
            while True:
                message = await pull.next()
                match await _handle(message.subject, message.data, kind, callback):
                    case _Outcome.HANDLED:
                        await pull.acknowledge()
                    case _Outcome.UNREADABLE:
                        await pull.reject()
                    case _Outcome.FAILED:
                        deliveries = message.metadata.num_delivered
                        await pull.postpone(_REDELIVERY_S[min(deliveries, len(_REDELIVERY_S)) - 1])

    async def work_until_closed() -> None:
        with contextlib.suppress(ConnectionClosed):
            await work()

    return EventSubscription(asyncio.get_running_loop().create_task(work_until_closed()))


class _Outcome(enum.Enum):
    """The result of handling an event."""

    HANDLED = enum.auto()
    UNREADABLE = enum.auto()
    FAILED = enum.auto()


async def _handle(
    subject: str, payload: bytes, kind: type[T], callback: Callable[[T], Awaitable[None]]
) -> _Outcome:
    """Decode an event and call the callback. Errors are reported."""
    try:
        event = decoder(kind)(payload)
    except InvalidMessage as error:
        observe(EventUnreadable(subject, str(error)))
        return _Outcome.UNREADABLE
    try:
        await callback(event)
    except RetryLater:
        return _Outcome.FAILED
    except Exception as error:  # last resort: an error of one event must not stop the subscription
        observe(EventFailed(subject, repr(error), traceback_of(error)))
        return _Outcome.FAILED
    return _Outcome.HANDLED
