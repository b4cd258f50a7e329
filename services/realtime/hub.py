"""Which channels of this process are in which room, and the way of messages to them.

The broker is listened to only for rooms with members here. A message to a room becomes one frame for each version of the
protocol, whatever the number of members. Stored messages (`messages.>`) come in the order of their commits; one that was
published twice, after the worker that reads the log has changed, is known by its place and passed over.
"""

import asyncio
import contextlib
from itertools import count
from typing import Protocol

from broker import subjects
from broker.codec import Decoder, Undecodable
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import Message as Arrived
from broker.observability.observe import observe
from schemas.changes import Sent
from schemas.errors import Unavailable
from services.realtime.frames import Vsn
from services.realtime.observed import MessageLost, MessageUnreadable
from services.realtime.rooms import Assembler, Form, Message, packets

_decode_sent = Decoder(Sent)


class Member(Protocol):
    """A channel that is in a room."""

    vsn: Vsn

    def hear(self, message: Message, frame: bytes) -> None:
        """Take a message to the room."""
        ...


class Room:
    """The members of one room in this process."""

    __slots__ = ("members", "opening", "subscriptions")

    def __init__(self) -> None:
        self.members: set[Member] = set()
        self.subscriptions: list[Subscription] = []
        self.opening: asyncio.Task[None] | None = None
        """Ends when the broker has heard that we listen."""

    def deliver(self, message: Message, sender: Member | None = None) -> None:
        """Hand a message to every member but its sender."""
        made: dict[Vsn, bytes | None] = {}
        for member in tuple(self.members):  # who is too slow leaves at once
            if member is sender:
                continue
            vsn = member.vsn
            if vsn not in made:
                made[vsn] = message.frame(vsn)
            if (frame := made[vsn]) is not None:
                member.hear(message, frame)


class Hub:
    """The rooms of this process."""

    def __init__(self, connection: Connection, edge: str, max_payload: int) -> None:
        self._connection = connection
        self._edge = edge
        self._max_payload = max_payload
        self._rooms: dict[tuple[str, bool], Room] = {}
        self._assembler = Assembler(edge)
        self._numbers = count()
        self._last_sent = (0, -1)

    async def enter(self, member: Member, topic: str, *, is_private: bool) -> None:
        """Take a place in a room; what is sent to it after this returned arrives, as far as the broker is there."""
        room = self._rooms.get((topic, is_private))
        if room is None:
            room = self._rooms[topic, is_private] = self._open(topic, is_private)
        room.members.add(member)
        if room.opening is not None:
            await asyncio.shield(room.opening)
            room.opening = None

    def leave(self, member: Member, topic: str, *, is_private: bool) -> None:
        """Give up a place, if there is one."""
        room = self._rooms.get((topic, is_private))
        if room is None:
            return
        room.members.discard(member)
        if not room.members:
            del self._rooms[topic, is_private]
            for subscription in room.subscriptions:
                subscription.unsubscribe()

    def send(self, message: Message, sender: Member | None = None) -> None:
        """Send a message to the members of its room everywhere, but for its sender."""
        self._deliver(message, sender)
        subject = subjects.room(message.topic, is_private=message.is_private).name
        for packet in packets(self._edge, next(self._numbers), message):
            if not self._connection.tell(subject, packet):
                observe(MessageLost(len(packet)))
                return

    @property
    def size(self) -> int:
        """How many rooms have members here."""
        return len(self._rooms)

    def _open(self, topic: str, is_private: bool) -> Room:
        room = Room()
        listen = self._connection.subscribe
        room.subscriptions = [
            listen(subjects.room(topic, is_private=is_private).name, self._hear),
            listen(subjects.messages(topic, is_private=is_private).name, self._hear_sent),
        ]
        room.opening = asyncio.get_running_loop().create_task(self._flush())
        return room

    async def _flush(self) -> None:
        with contextlib.suppress(Unavailable):
            await self._connection.flush()

    def _deliver(self, message: Message, sender: Member | None = None) -> None:
        room = self._rooms.get((message.topic, message.is_private))
        if room is not None:
            room.deliver(message, sender)

    def _hear(self, arrived: Arrived) -> None:
        try:
            message = self._assembler.take(arrived.payload)
        except Undecodable as error:
            observe(MessageUnreadable(arrived.subject, error.reason))
            return
        if message is not None:
            self._deliver(message)

    def _hear_sent(self, arrived: Arrived) -> None:
        try:
            sent = _decode_sent(arrived.payload)
        except Undecodable as error:
            observe(MessageUnreadable(arrived.subject, error.reason))
            return
        place = (sent.lsn, sent.number)
        if place <= self._last_sent or len(sent.payload) > self._max_payload:
            return
        self._last_sent = place
        form = Form.BINARY if sent.is_binary else Form.JSON
        self._deliver(Message(sent.topic, sent.is_private, sent.event, sent.payload, form, sent.id))
