"""Events: told once, heard by all who follow; or kept by a stream until they are handled.

Live: `publish` and `follow`. At most once, in the order of the publisher; who is disconnected misses events, so a
follower that keeps state refreshes it in `Connection.on_back`. Durable: `publish_durably` and `follow_durably`. At
least once: an event comes again until its callback ends without an exception. (Layout, "What every way promises".)
"""

import asyncio
import contextlib
import enum
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from broker.codec import Undecodable, decoder, encode
from broker.jetstream import durable_consumer
from broker.jetstream.durable_consumer import (
    ensure_stream as ensure_stream,  # offered here, beside those who need it
)
from broker.jetstream.nats_py import Closed
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import Message
from broker.observability.observations import EventFailed, EventsDropped, EventUnreadable
from broker.observability.observe import observe, traceback_of
from broker.subjects import Subject

T = TypeVar("T", bound=Struct)

_AGAIN_S = (0.2, 1.0, 5.0, 30.0)
_PATIENCE_S = 1.0


class Later(Exception):
    """Raised by the callback of a durable follower that has told why itself: the event shall come again later."""


class Following:
    """A follower at work. `close` ends it after the event in hand."""

    def __init__(self, task: asyncio.Task[None], subscription: Subscription | None = None) -> None:
        self._task = task
        self._subscription = subscription

    async def close(self) -> None:
        """Hear nothing more. An event in hand of a durable follower comes again."""
        if self._subscription is not None:
            self._subscription.unsubscribe()
        while not self._task.done():  # a callback, or the client library, may swallow a cancellation
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_PATIENCE_S)


def publish(connection: Connection, subject: Subject, event: Struct) -> None:
    """Tell an event to all who follow now. Raises: Unavailable while disconnected."""
    connection.publish(subject.name, encode(event))


async def publish_durably(connection: Connection, subject: Subject, event: Struct, *, id: str = "") -> int:
    """Tell an event and wait until its stream keeps it; give its sequence number. The same `id` is kept once.

    Raises: Unavailable; then the event may be kept or not.
    """
    return await durable_consumer.publish(connection, subject.name, encode(event), id=id)


async def follow(
    connection: Connection,
    subject: Subject | str,
    kind: type[T],
    callback: Callable[[T], Awaitable[None]],
    *,
    backlog: int = 1024,
) -> Following:
    """Call `callback` with each event as it comes, one after the other. A `str` may hold wildcards.

    A callback that raises is observed and passed over. When more than `backlog` events wait, the oldest are dropped.
    Raises: Unavailable if the broker is away.
    """
    name = subject if isinstance(subject, str) else subject.name
    waiting: deque[Message] = deque()
    arrived = asyncio.Event()

    def take(message: Message) -> None:
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
    following = Following(asyncio.get_running_loop().create_task(work()), subscription)
    try:
        await connection.flush()
    except BaseException:
        await following.close()
        raise
    return following


async def follow_durably(
    connection: Connection,
    subject: Subject | str,
    kind: type[T],
    callback: Callable[[T], Awaitable[None]],
    *,
    stream: str,
    durable: str,
    ack_wait_s: float = 30.0,
    batch: int = 64,
    only_new: bool = False,
) -> Following:
    """Call `callback` with each event that a stream keeps, from where `durable` stopped; it is shared by all who name it.

    An event is acknowledged when its callback has ended. One that raises comes again, later and later; then events
    after it may have been handled before, unless `batch` is 1. What is no `kind` is passed over for good.
    Raises: Unavailable.
    """
    name = subject if isinstance(subject, str) else subject.name
    consumer = durable_consumer.Consumer(stream, durable, name, ack_wait_s, only_new, batch)
    await durable_consumer.ensure_consumer(connection, consumer)

    async def work() -> None:
        async with durable_consumer.Pull(connection, consumer) as pull:
            while True:
                message = await pull.next()
                match await _handle(message.subject, message.data, kind, callback):
                    case _Outcome.HANDLED:
                        await pull.acknowledge()
                    case _Outcome.UNREADABLE:
                        await pull.reject()
                    case _Outcome.FAILED:
                        deliveries = message.metadata.num_delivered
                        await pull.again(_AGAIN_S[min(deliveries, len(_AGAIN_S)) - 1])

    async def work_until_closed() -> None:
        with contextlib.suppress(Closed):
            await work()

    return Following(asyncio.get_running_loop().create_task(work_until_closed()))


class _Outcome(enum.Enum):
    """What became of an event."""

    HANDLED = enum.auto()
    UNREADABLE = enum.auto()
    FAILED = enum.auto()


async def _handle(
    subject: str, payload: bytes, kind: type[T], callback: Callable[[T], Awaitable[None]]
) -> _Outcome:
    """Call a callback with an event. What goes wrong is observed."""
    try:
        event = decoder(kind)(payload)
    except Undecodable as error:
        observe(EventUnreadable(subject, str(error)))
        return _Outcome.UNREADABLE
    try:
        await callback(event)
    except Later:
        return _Outcome.FAILED
    except Exception as error:  # the rim of a served message
        observe(EventFailed(subject, repr(error), traceback_of(error)))
        return _Outcome.FAILED
    return _Outcome.HANDLED
