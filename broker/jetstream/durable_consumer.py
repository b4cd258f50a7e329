"""JetStream: messages that the broker keeps until they are handled. Orders to it, and the messages of a consumer.

All of it goes through the package `nats-py` (`broker/jetstream/nats_py.py` holds its connection); here its errors become
`Unavailable` and `JetStreamRefused`, and a consumer becomes something that gives messages whatever happens to it.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import nats.errors
from nats.aio.msg import Msg
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, NoStreamResponseError

from broker.jetstream.errors import JetStreamRefused as JetStreamRefused
from broker.jetstream.errors import without_room
from broker.jetstream.nats_py import Closed, Durable
from broker.nats.connection import Connection
from broker.nats.protocol import MessageTooLong
from broker.observability.observations import BrokerComplained, StreamRecreated
from broker.observability.observe import observe
from schemas.errors import Unavailable

_NAME_IN_USE, _NO_STREAM = 10058, 10059
_ORDER_S = 5.0
_PULL_S = 5.0
_GATHER_S = 0.05
_UNDERWAY = 16
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 1.0
_GONE = (nats.errors.Error, OSError)
_HEADER_BYTES = len(b"NATS/1.0\r\nNats-Msg-Id: \r\n\r\n")


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable consumer: its place in the stream outlives us and is shared by all that pull from it.

    Up to `batch` messages are fetched at once, and some more may be underway to others who pull. A batch of one means
    that no message is delivered before the one before it is done. One that is not done in `ack_wait_s` comes again.
    """

    stream: str
    durable: str
    subject: str
    ack_wait_s: float
    only_new: bool
    batch: int


async def ensure_stream(
    connection: Connection,
    name: str,
    subjects: Sequence[str],
    *,
    max_age_s: float = 0,
    max_bytes: int = -1,
    duplicate_window_s: float = 120,
    in_memory: bool = False,
) -> None:
    """Make a stream that keeps what is published on some subjects, or change it to these limits.

    Past a limit the oldest messages go; 0 seconds and -1 bytes are no limit. Raises: Unavailable, JetStreamRefused.
    """
    config = api.StreamConfig(
        name=name,
        subjects=list(subjects),
        retention=api.RetentionPolicy.LIMITS,
        discard=api.DiscardPolicy.OLD,
        storage=api.StorageType.MEMORY if in_memory else api.StorageType.FILE,
        num_replicas=connection.replicas,
        max_age=max_age_s,
        max_bytes=max_bytes,
        duplicate_window=min(duplicate_window_s, max_age_s or duplicate_window_s),
        allow_msg_ttl=True,
    )
    connection.companion(_Streams).configs[name] = config
    await _ensure(connection, config)


async def publish(
    connection: Connection, subject: str, payload: bytes, *, id: str = "", timeout: float = _ORDER_S
) -> int:
    """Publish and wait until the stream has it; give its sequence number.

    Two messages with the same `id` within the stream's window are kept once. Raises: MessageTooLong; Unavailable,
    JetStreamRefused: then the message may be kept or not.
    """
    size = len(payload) + (_HEADER_BYTES + len(id.encode()) if id else 0)
    if size > connection.max_payload:  # the server would close the connection on it
        raise MessageTooLong(size, connection.max_payload)
    headers = {api.Header.MSG_ID.value: id} if id else None
    try:
        return await _publish(connection, subject, payload, headers, timeout)
    except _NoStream:
        config = connection.companion(_Streams).keeping(subject)
        if config is None:
            raise
        await _recreate(connection, config)
        return await _publish(connection, subject, payload, headers, timeout)


async def ensure_consumer(connection: Connection, consumer: Consumer) -> None:
    """Make a durable consumer, or change it to these limits. Raises: Unavailable, JetStreamRefused."""
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
    async with _order(connection, f"consumer {consumer.durable} of {consumer.stream}") as jetstream:
        await jetstream.add_consumer(consumer.stream, config)


class Pull:
    """Gets the messages of a durable consumer, over reconnects of either side: `async with Pull(...) as pull`.

    Those that are here and not done yet are kept ours: JetStream is told in time that they are being worked on.
    When it ends they are given back. A consumer that is gone is made anew, from where it would begin as a new one.
    """

    def __init__(self, connection: Connection, consumer: Consumer) -> None:
        self._connection = connection
        self._consumer = consumer
        self._arrived: deque[Msg] = deque()
        self._in_hand: Msg | None = None
        self._expected = 0
        self._context: JetStreamContext | None = None
        self._subscription: JetStreamContext.PullSubscription | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._complaint = ""

    async def __aenter__(self) -> Self:
        self._keeping = asyncio.get_running_loop().create_task(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keeping.cancel()
        with contextlib.suppress(*_GONE):
            if self._subscription is not None:
                await self._subscription.unsubscribe()
            for message in self._ours():
                await message.nak()

    async def next(self) -> Msg:
        """Give the next message; it comes again unless it is told to be done. Raises: Closed with the connection."""
        while not self._arrived:
            try:
                self._arrived.extend(await self._fetch())
                self._pause_s, self._complaint = _FIRST_PAUSE_S, ""
            except Closed:
                raise
            except Unavailable:
                await self._mend()
        self._in_hand = self._arrived.popleft()
        return self._in_hand

    async def acknowledge(self) -> None:
        """Tell that the message in hand is handled. If that cannot be told, it comes again."""
        await self._let_go(Msg.ack)

    async def reject(self) -> None:
        """Tell that the message in hand shall never come again."""
        await self._let_go(Msg.term)

    async def again(self, delay_s: float) -> None:
        """Ask for the message in hand once more after a while."""
        await self._let_go(lambda message: message.nak(delay_s))

    async def _let_go(self, tell: Callable[[Msg], Awaitable[None]]) -> None:
        message, self._in_hand = self._in_hand, None
        if message is not None:
            with contextlib.suppress(*_GONE):
                await tell(message)

    def _ours(self) -> list[Msg]:
        return [*([self._in_hand] if self._in_hand else []), *self._arrived]

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._consumer.ack_wait_s / 3)
            for message in self._ours():
                with contextlib.suppress(*_GONE):
                    await message.in_progress()

    async def _fetch(self) -> list[Msg]:
        """Give the first message that comes within some seconds, or as many as are known to be there.

        Never more than that: the package holds back what it has until all it asked for is there, or the time is over.
        """
        count = min(self._consumer.batch, max(self._expected, 1))
        self._expected = 0
        async with _order(self._connection, self._consumer.durable, _PULL_S + _ORDER_S) as jetstream:
            subscription = await self._bound(jetstream)
            try:
                messages = await subscription.fetch(count, timeout=_PULL_S if count == 1 else _GATHER_S)
            except TimeoutError:  # the fetch's own; that of the order arrives here as a cancellation
                return []
        if messages:
            self._expected = messages[-1].metadata.num_pending
        return messages

    async def _bound(self, jetstream: JetStreamContext) -> JetStreamContext.PullSubscription:
        """Give the subscription on which messages arrive; each client needs its own."""
        if self._subscription is None or self._context is not jetstream:
            bind = jetstream.pull_subscribe_bind
            self._subscription = await bind(self._consumer.durable, stream=self._consumer.stream)
            self._context = jetstream
        return self._subscription

    async def _ensure(self) -> None:
        """Make sure that there is a consumer, and a stream for it. Raises: Unavailable, JetStreamRefused."""
        try:
            await ensure_consumer(self._connection, self._consumer)
        except JetStreamRefused as refused:
            config = self._connection.companion(_Streams).configs.get(self._consumer.stream)
            if refused.code != _NO_STREAM or config is None:
                raise
            await _recreate(self._connection, config)
            await ensure_consumer(self._connection, self._consumer)

    async def _mend(self) -> None:
        """After a refusal: wait, longer and longer, and make sure that there is a consumer."""
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, _LAST_PAUSE_S)
        try:
            await self._ensure()
        except JetStreamRefused as refused:
            if str(refused) != self._complaint:
                self._complaint = str(refused)
                observe(BrokerComplained(f"consumer {self._consumer.durable}: {refused}"))
        except Closed:
            raise
        except Unavailable:
            pass  # the connection tells it


class _Streams:
    """The streams that this process keeps: what each was made with, so that one that vanished can be made again.

    A stream vanishes when an operator deletes it, or with the disk of a broker. What it held is lost; what comes is not, and
    nothing has to be restarted for it.
    """

    def __init__(self, connection: Connection) -> None:
        del connection
        self.configs: dict[str, api.StreamConfig] = {}

    def keeping(self, subject: str) -> api.StreamConfig | None:
        """Return the configuration of the stream that keeps a subject."""
        for config in self.configs.values():
            if any(_covers(pattern, subject) for pattern in config.subjects or ()):
                return config
        return None

    async def close(self) -> None:
        """Hold nothing that has to be closed."""


class _NoStream(Unavailable):
    """Nothing keeps this subject: the stream is gone, or JetStream does not answer."""


def _covers(pattern: str, subject: str) -> bool:
    return pattern == subject or (pattern.endswith(".>") and subject.startswith(pattern[:-1]))


async def _ensure(connection: Connection, config: api.StreamConfig) -> None:
    """Make a stream, or change it to these limits. Raises: Unavailable, JetStreamRefused."""
    try:
        async with _order(connection, f"stream {config.name}") as jetstream:
            await jetstream.add_stream(config)
    except JetStreamRefused as refused:
        if refused.code != _NAME_IN_USE:
            raise without_room(refused, config.name or "", config.max_bytes or -1) from None
        async with _order(connection, f"stream {config.name}") as jetstream:
            await jetstream.update_stream(config)


async def _recreate(connection: Connection, config: api.StreamConfig) -> None:
    """Make a stream that vanished again. Raises: Unavailable, JetStreamRefused."""
    await _ensure(connection, config)
    observe(StreamRecreated(config.name or ""))


async def _publish(
    connection: Connection, subject: str, payload: bytes, headers: dict[str, str] | None, timeout: float
) -> int:
    async with _order(connection, subject, timeout) as jetstream:
        try:
            kept = await jetstream.publish(subject, payload, timeout=timeout, headers=headers)
        except (ValueError, TypeError, KeyError):  # something that is no stream answered
            raise Unavailable(f"the answer on {subject} is not one of a stream") from None
    return kept.seq


@contextlib.asynccontextmanager
async def _order(
    connection: Connection, what: str, timeout: float = _ORDER_S
) -> AsyncIterator[JetStreamContext]:
    """Give JetStream for one order. Raises: Unavailable, JetStreamRefused, for all that the package raises."""
    try:
        async with connection.companion(Durable).use(timeout) as jetstream:
            yield jetstream
    except APIError as error:
        if error.err_code is None:  # not JetStream's word: nobody listens there
            raise _NoStream(f"nobody answers for {what}") from None
        raise JetStreamRefused(error.err_code, error.description or "") from None
    except (NoStreamResponseError, nats.errors.NoRespondersError):
        raise _NoStream(f"nobody answers for {what}") from None
    except TimeoutError:
        raise Unavailable(f"nobody answered for {what} in time") from None
    except _GONE as error:
        raise Unavailable(f"the broker cannot be asked for {what} ({type(error).__name__})") from None
