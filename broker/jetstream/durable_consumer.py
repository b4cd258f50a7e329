"""Store messages in a stream with an acknowledgement, and read them through a durable consumer until they are handled.

A durable consumer is a position in a stream that the server stores under a name. The server delivers a message to one
of the processes that pull from the consumer. The process acknowledges it (ack), postpones it (nak with a delay), or
rejects it for good (term). A message without any of these is delivered again after `ack_wait_s`; the sign "in
progress" restarts that time. So a message is handled at least once.

Consumers go through the library nats-py (`broker/jetstream/nats_py.py` holds its connection); its exceptions become
`Unavailable` and `JetStreamError` here. A message is published by the hot-path client: that is a request like any other. Streams are created and changed by `broker/jetstream/streams.py` alone.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, NoStreamResponseError

from broker.backoff import Backoff
from broker.jetstream.api import PublishAck, decode_ack
from broker.jetstream.errors import JetStreamError
from broker.jetstream.nats_py import ConnectionClosed, JetStreamClient
from broker.jetstream.streams import NO_STREAM, EnsuredStreams
from broker.nats import protocol
from broker.nats.connection import NatsConnection, NoResponders
from broker.nats.protocol import MessageTooLong
from broker.observability.observations import BrokerComplained
from broker.observability.observe import observe
from schemas.errors import Unavailable

_REQUEST_S = 5.0
_PULL_S = 5.0
_GATHER_S = 0.05
_UNDERWAY = 16
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 1.0
_GONE = (nats.errors.Error, OSError)
_NO_LINE_ENDS = {ord("\r"): None, ord("\n"): None}
_MSG_ID = "Nats-Msg-Id"
_HEADER_BYTES = len(b"NATS/1.0\r\nNats-Msg-Id: \r\n\r\n")


@dataclass(frozen=True, slots=True)
class DurableConsumer:
    """A durable consumer: its position in the stream outlives this process and is shared by all that pull from it.

    Up to `batch` messages are fetched at once, and more may be underway to other processes. A batch of one means that
    a message is delivered only after the one before it is done. A message that is not done in `ack_wait_s` is
    delivered again.
    """

    stream: str
    durable: str
    subject: str
    ack_wait_s: float
    only_new: bool
    batch: int


async def publish(
    connection: NatsConnection, subject: str, payload: bytes, *, id: str = "", timeout: float = _REQUEST_S
) -> int:
    """Publish a message and wait until the stream has stored it; return its sequence number.

    Two messages with the same `id` within the stream's window are stored once. Raises: MessageTooLong; Unavailable,
    JetStreamError: then the message may be stored or not.
    """
    id = id.translate(_NO_LINE_ENDS)  # a header is one line
    size = len(payload) + (_HEADER_BYTES + len(id.encode()) if id else 0)
    if size > connection.max_payload:  # the server would close the connection on it
        raise MessageTooLong(size, connection.max_payload)
    head = protocol.headers({_MSG_ID: id}) if id else b""
    try:
        return await _publish(connection, subject, payload, head, timeout)
    except _NoStream:
        streams = connection.linked(EnsuredStreams)
        if not await streams.recreate(streams.name_for(subject)):
            raise
        return await _publish(connection, subject, payload, head, timeout)


async def ensure_consumer(connection: NatsConnection, consumer: DurableConsumer) -> None:
    """Create a durable consumer, or update it to these limits. Raises: Unavailable, JetStreamError."""
    config = api.ConsumerConfig(
        durable_name=consumer.durable,
        filter_subject=consumer.subject,
        ack_policy=api.AckPolicy.EXPLICIT,
        ack_wait=consumer.ack_wait_s,
        max_ack_pending=1 if consumer.batch == 1 else consumer.batch * _UNDERWAY,
        max_deliver=-1,
        deliver_policy=api.DeliverPolicy.NEW if consumer.only_new else api.DeliverPolicy.ALL,
        replay_policy=api.ReplayPolicy.INSTANT,
    )
    async with _jetstream(connection, f"consumer {consumer.durable} of {consumer.stream}") as jetstream:
        await jetstream.add_consumer(consumer.stream, config)


class ConsumerPull:
    """Pulls the messages of a durable consumer, across reconnects of either side: `async with ConsumerPull(...) as
    pull`.

    For messages that are fetched and not done, an "in progress" sign is sent every third of `ack_wait_s`. At the end
    they are given back (nak). A consumer that was deleted is created again; it starts where a new one would.
    """

    def __init__(self, connection: NatsConnection, consumer: DurableConsumer) -> None:
        self._connection = connection
        self._consumer = consumer
        self._arrived: deque[Msg] = deque()
        self._current: Msg | None = None
        self._expected = 0
        self._context: JetStreamContext | None = None
        self._subscription: JetStreamContext.PullSubscription | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        self._complaint = ""

    async def __aenter__(self) -> Self:
        self._in_progress_task = asyncio.get_running_loop().create_task(self._send_in_progress())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in_progress_task.cancel()
        with contextlib.suppress(*_GONE):
            if self._subscription is not None:
                await self._subscription.unsubscribe()
            for message in self._unfinished():
                await message.nak()

    async def next(self) -> Msg:
        """Return the next message; it is delivered again unless it is acknowledged. Raises: ConnectionClosed."""
        while not self._arrived:
            try:
                await self._fetch()
                self._backoff.reset()
                self._complaint = ""
            except ConnectionClosed:
                raise
            except Unavailable:
                await self._recover()
        self._current = self._arrived.popleft()
        return self._current

    async def acknowledge(self) -> None:
        """Acknowledge the current message. If that cannot be sent, it is delivered again."""
        await self._finish(Msg.ack)

    async def reject(self) -> None:
        """Reject the current message for good (term)."""
        await self._finish(Msg.term)

    async def postpone(self, delay_s: float) -> None:
        """Postpone the current message (nak with a delay)."""
        await self._finish(lambda message: message.nak(delay_s))

    async def _finish(self, send: Callable[[Msg], Awaitable[None]]) -> None:
        message, self._current = self._current, None
        if message is not None:
            with contextlib.suppress(*_GONE):
                await send(message)

    def _unfinished(self) -> list[Msg]:
        return [*([self._current] if self._current else []), *self._arrived]

    async def _send_in_progress(self) -> None:
        while True:
            await asyncio.sleep(self._consumer.ack_wait_s / 3)
            for message in self._unfinished():
                with contextlib.suppress(*_GONE):
                    await message.in_progress()

    async def _fetch(self) -> None:
        """Take the first message that arrives within some seconds, or as many as the stream is known to have.

        It requests no more than that: the library returns messages only when all requested ones arrived or the time
        is over.
        """
        count = min(self._consumer.batch, max(self._expected, 1))
        self._expected = 0
        async with _jetstream(self._connection, self._consumer.durable, _PULL_S + _REQUEST_S) as jetstream:
            subscription = await self._subscribe(jetstream)
            try:
                messages = await subscription.fetch(count, timeout=_PULL_S if count == 1 else _GATHER_S)
            except TimeoutError:  # the one of `fetch`; the one of `_jetstream` arrives here as a cancellation
                return
            # Inside of the block: at its end a cancellation may show, and then `__aexit__` gives back what arrived.
            self._arrived.extend(messages)
        if messages:
            self._expected = messages[-1].metadata.num_pending

    async def _subscribe(self, jetstream: JetStreamContext) -> JetStreamContext.PullSubscription:
        """Return the subscription on which messages arrive; each client of the library needs its own."""
        if self._subscription is None or self._context is not jetstream:
            bind = jetstream.pull_subscribe_bind
            self._subscription = await bind(self._consumer.durable, stream=self._consumer.stream)
            self._context = jetstream
        return self._subscription

    async def _ensure(self) -> None:
        """Create the consumer, and its stream if that vanished. Raises: Unavailable, JetStreamError."""
        try:
            await ensure_consumer(self._connection, self._consumer)
        except JetStreamError as error:
            streams = self._connection.linked(EnsuredStreams)
            if error.code != NO_STREAM or not await streams.recreate(self._consumer.stream):
                raise
            await ensure_consumer(self._connection, self._consumer)

    async def _recover(self) -> None:
        """After a failed fetch: wait for the backoff, then create the consumer again if it is gone."""
        await self._backoff.wait()
        try:
            await self._ensure()
        except JetStreamError as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                observe(BrokerComplained(f"consumer {self._consumer.durable}: {error}"))
        except ConnectionClosed:
            raise
        except Unavailable:
            pass  # the connection reports it


class _NoStream(Unavailable):
    """The subject belongs to no stream: the stream was deleted, or JetStream does not answer."""


async def _publish(
    connection: NatsConnection, subject: str, payload: bytes, head: bytes, timeout: float
) -> int:
    """Publish by the hot-path client, which takes less CPU than nats-py, and read the stream's acknowledgement."""
    try:
        reply = await connection.request(subject, payload, timeout, head=head)
    except NoResponders:
        raise _NoStream(f"nobody answers for {subject}") from None
    try:
        ack = decode_ack.decode(reply.payload)
    except msgspec.MsgspecError:
        ack = PublishAck()
    if ack.error is not None and ack.error.err_code:
        raise JetStreamError(ack.error.err_code, ack.error.description)
    if not ack.seq:  # the reply came from a subscriber that is not a stream
        raise Unavailable(f"the answer on {subject} is not one of a stream")
    return ack.seq


@contextlib.asynccontextmanager
async def _jetstream(
    connection: NatsConnection, target: str, timeout: float = _REQUEST_S
) -> AsyncIterator[JetStreamContext]:
    """Provide JetStream for one request, and translate the library's exceptions. Raises: Unavailable, JetStreamError."""
    try:
        async with connection.linked(JetStreamClient).use(timeout) as jetstream:
            yield jetstream
    except APIError as error:
        if error.err_code is None:  # not an answer of JetStream: the subject lacks a subscriber
            raise _NoStream(f"nobody answers for {target}") from None
        raise JetStreamError(error.err_code, error.description or "") from None
    except (NoStreamResponseError, nats.errors.NoRespondersError):
        raise _NoStream(f"nobody answers for {target}") from None
    except TimeoutError:
        raise Unavailable(f"nobody answered for {target} in time") from None
    except _GONE as error:
        raise Unavailable(f"the broker cannot be asked for {target} ({type(error).__name__})") from None
