"""The channels of this process by topic, and the delivery of broadcast messages to them.

The hub subscribes to the subjects of a topic only while channels of this process have joined it. A message becomes one frame
for each version of the protocol, whatever the number of channels. Stored messages (`messages.>`) arrive in commit order. One
that is published twice, after another worker took over replication, has a place that was seen before and is skipped.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol

from broker import subjects
from broker.codec import InvalidMessage, MessageDecoder
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage as BrokerMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observe import observe
from schemas.changes import StoredBroadcast
from schemas.errors import Unavailable
from services.realtime.observations import MessageLost, MessageUnreadable
from services.realtime.protocol.frames import Vsn
from services.realtime.topics.messages import MessageAssembler, PayloadForm, TopicMessage, packets

_decode_stored = MessageDecoder(StoredBroadcast)


class TopicMember(Protocol):
    """A channel that joined a topic."""

    vsn: Vsn

    def receive(self, message: TopicMessage, frame: bytes) -> None:
        """Receive a message to the topic, and its frame."""
        ...


class LocalTopic:
    """The channels of one topic in this process."""

    __slots__ = ("members", "opening", "subscriptions")

    def __init__(self) -> None:
        self.members: set[TopicMember] = set()
        self.subscriptions: list[NatsSubscription] = []
        self.opening: asyncio.Task[None] | None = None
        """Completes when the broker has processed our subscriptions."""

    def deliver(self, message: TopicMessage, sender: TopicMember | None = None) -> None:
        """Deliver a message to every member but its sender. Hot path: one frame for each version."""
        frames: dict[Vsn, bytes | None] = {}
        for member in tuple(self.members):  # a copy: a member that is too slow leaves during the loop
            if member is sender:
                continue
            vsn = member.vsn
            if vsn not in frames:
                frames[vsn] = message.frame(vsn)
            if (frame := frames[vsn]) is not None:
                member.receive(message, frame)


_REPEATED_S = 60.0
"""A new leader publishes the last messages again. One from an earlier place that comes this long after the last one is of another
history instead: the database was restored to a moment before it."""


class TopicHub:
    """The broadcast topics of this process."""

    def __init__(
        self,
        connection: NatsConnection,
        edge: str,
        max_payload: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._edge = edge
        self._max_payload = max_payload
        self._topics: dict[tuple[str, bool], LocalTopic] = {}
        self._assembler = MessageAssembler(edge)
        self._numbers = count()
        self._clock = clock
        self._last_stored = (0, -1)
        self._stored_at = 0.0

    async def join(self, member: TopicMember, topic: str, *, is_private: bool) -> None:
        """Add a channel to a topic. Messages that are sent after this returned arrive, while the broker is reachable."""
        local = self._topics.get((topic, is_private))
        if local is None:
            local = self._topics[topic, is_private] = self._open(topic, is_private)
        local.members.add(member)
        if local.opening is not None:
            await asyncio.shield(local.opening)
            local.opening = None

    def leave(self, member: TopicMember, topic: str, *, is_private: bool) -> None:
        """Remove a channel from a topic, if it joined it."""
        local = self._topics.get((topic, is_private))
        if local is None:
            return
        local.members.discard(member)
        if not local.members:
            del self._topics[topic, is_private]
            for subscription in local.subscriptions:
                subscription.unsubscribe()

    def send(self, message: TopicMessage, sender: TopicMember | None = None) -> None:
        """Send a message to the channels of its topic on all edges, except its sender."""
        self._deliver(message, sender)
        subject = subjects.broadcasts(message.topic, is_private=message.is_private).name
        for packet in packets(self._edge, next(self._numbers), message):
            if not self._connection.try_publish(subject, packet):
                observe(MessageLost(len(packet)))
                return

    @property
    def size(self) -> int:
        """Return how many topics have channels in this process."""
        return len(self._topics)

    def _open(self, topic: str, is_private: bool) -> LocalTopic:
        local = LocalTopic()
        subscribe = self._connection.subscribe
        local.subscriptions = [
            subscribe(subjects.broadcasts(topic, is_private=is_private).name, self._receive_packet),
            subscribe(subjects.messages(topic, is_private=is_private).name, self._receive_stored),
        ]
        local.opening = asyncio.get_running_loop().create_task(self._flush())
        return local

    async def _flush(self) -> None:
        with contextlib.suppress(Unavailable):
            await self._connection.flush()

    def _deliver(self, message: TopicMessage, sender: TopicMember | None = None) -> None:
        local = self._topics.get((message.topic, message.is_private))
        if local is not None:
            local.deliver(message, sender)

    def _receive_packet(self, received: BrokerMessage) -> None:
        try:
            message = self._assembler.take(received.payload)
        except InvalidMessage as error:
            observe(MessageUnreadable(received.subject, error.reason))
            return
        if message is not None:
            self._deliver(message)

    def _receive_stored(self, received: BrokerMessage) -> None:
        try:
            stored = _decode_stored(received.payload)
        except InvalidMessage as error:
            observe(MessageUnreadable(received.subject, error.reason))
            return
        place, now = (stored.lsn, stored.number), self._clock()
        is_repeated = place <= self._last_stored and now - self._stored_at < _REPEATED_S
        if is_repeated or len(stored.payload) > self._max_payload:
            return
        self._last_stored, self._stored_at = place, now
        form = PayloadForm.BINARY if stored.is_binary else PayloadForm.JSON
        self._deliver(
            TopicMessage(stored.topic, stored.is_private, stored.event, stored.payload, form, stored.id)
        )
