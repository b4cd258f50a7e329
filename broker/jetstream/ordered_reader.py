"""Read a stream of JetStream in order, over our own connection: from a sequence number on, what is there and what comes.

A reader has a consumer of its own on the server, without acknowledgements, and asks it for a window of messages; it asks
for more only as fast as they are taken, so that a backlog stays in the stream and never in this process. Every message
tells its number in the stream and in the consumer: when one is missing, when the server falls silent, the connection is
lost or its server left the cluster, the consumer is created again behind the last message that was taken. So nothing is lost or doubled as long as the
stream has it; when it has not, `MessagesLost` says so.

Needed rights: `$JS.API.` STREAM.INFO, STREAM.MSG.GET, CONSUMER.CREATE, CONSUMER.INFO, CONSUMER.MSG.NEXT, CONSUMER.DELETE
of that stream. Source: NATS documentation, "JetStream wire API"; ADR-13 (pull requests), ADR-37 (ordered consumers).
"""

import asyncio
import base64
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from broker.jetstream.api import OrderError, give_order
from broker.jetstream.errors import JetStreamRefused
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import NO_RESPONDERS, Message
from schemas.errors import Unavailable

WINDOW = 256
"""Messages that are asked for at once."""
WINDOW_BYTES = 8 * 1024 * 1024
_NO_MESSAGE = 10037
_HEARTBEAT_S = 0.25
_SILENCE_S = 0.3
"""Without a message or a heartbeat for so long the consumer is asked for: it lives on one server of a cluster."""
_SERVED_S = 0.2
_EXPIRES_S = 30.0
_UNUSED_S = 60.0
_NS = 1_000_000_000
_ID = b"Nats-Msg-Id:"
_HEARTBEAT = 100

T = TypeVar("T")


class MessagesLost(Exception):
    """The stream does not have everything any more that should come next. Who goes on reads what there is.

    `is_another`: the stream was made anew, and its numbers begin anew.
    """

    def __init__(self, *, is_another: bool) -> None:
        super().__init__("messages left the stream before they were read")
        self.is_another = is_another


class Kept(Struct, frozen=True, gc=False):
    """A message of the stream; `pending` more were there when it was sent."""

    seq: int
    payload: bytes
    pending: int


class Head(Struct, frozen=True):
    """Where a stream stands. `first_seq` is above `last_seq` when it is empty."""

    first_seq: int
    last_seq: int
    created: str
    """When the stream was made: another text is another stream."""


class _Counts(Struct, frozen=True):
    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0


class _Stored(Struct, frozen=True):
    hdrs: str = ""
    seq: int = 0


class _Delivered(Struct, frozen=True):
    consumer_seq: int = 0


class _Answer(Struct, frozen=True):
    error: OrderError | None = None
    created: str = ""
    state: _Counts = field(default_factory=_Counts)
    message: _Stored = field(default_factory=_Stored)
    num_pending: int = 0
    delivered: _Delivered = field(default_factory=_Delivered)


_ANSWER = msgspec.json.Decoder(_Answer)


async def stream_head(connection: Connection, stream: str) -> Head:
    """Give where a stream stands. Raises: Unavailable; JetStreamRefused, also if there is no such stream."""
    found = await _order(connection, f"STREAM.INFO.{stream}", {})
    first, last = found.state.first_seq, found.state.last_seq
    return Head(first if found.state.messages else last + 1, last, found.created)


async def next_id(connection: Connection, stream: str, seq: int) -> tuple[int, str] | None:
    """Give number and id of the first message at or after a number; None if there is none. Raises: Unavailable."""
    asked: dict[str, object] = {"seq": max(seq, 1), "next_by_subj": ">"}
    try:
        found = await _order(connection, f"STREAM.MSG.GET.{stream}", asked)
    except JetStreamRefused as refused:
        if refused.code == _NO_MESSAGE:
            return None
        raise
    for line in base64.b64decode(found.message.hdrs).split(b"\r\n"):
        if line.startswith(_ID):
            return found.message.seq, line[len(_ID) :].strip().decode(errors="replace")
    return found.message.seq, ""


async def last_up_to(
    connection: Connection, stream: str, head: Head, order: Callable[[str], T], most: T
) -> int:
    """Give the number of the last message whose id is not above `most` in the order of ids (binary search).

    It is the number before the first message when all of them are above. Raises: Unavailable.
    """
    low, high = head.first_seq - 1, head.last_seq
    while low < high:
        middle = (low + high + 1) // 2
        found = await next_id(connection, stream, middle)
        if found is None or found[0] > high or order(found[1]) > most:  # type: ignore[operator]  # ids have an order
            high = middle - 1
        else:
            low = found[0]
    return low


class StreamReader:
    """Gives the messages of some subjects of a stream in order, from the one after `after` on.

    `after` grows with what was taken: no message of these subjects up to it is still to come. Use it from one task.
    """

    def __init__(self, connection: Connection, stream: str, subjects: Sequence[str], after: int) -> None:
        self._connection, self._stream = connection, stream
        self._subjects = list(subjects)
        self.after = after
        self._created = ""
        self._name = ""
        self._taken = self._received = 0
        self._arrived: list[Kept] = []
        self._pulls: dict[str, int] = {}
        self._numbers = count(1)
        self._subscription: Subscription | None = None
        self._is_silent = False
        self._has_expired = False
        self._is_behind = self._is_doubtful = False
        self._something = asyncio.Event()
        connection.on_lost.append(self._break)
        connection.on_cluster_change.append(self._doubt)

    def watch(self, subjects: Sequence[str]) -> None:
        """Read these subjects from now on: everything above `after`."""
        if list(subjects) != self._subjects:
            self._subjects = list(subjects)
            self._break()

    async def next(self) -> list[Kept]:
        """Wait for messages and give those that have arrived; nothing now and then, when nothing comes for long.

        Raises: MessagesLost once, after which reading goes on with what there is; Unavailable, JetStreamRefused.
        """
        return await self._next(is_end_told=False)

    async def rest(self) -> list[Kept]:
        """Give messages that have arrived; nothing when everything that stood in the stream before this call was given.

        Raises: as `next`.
        """
        return await self._next(is_end_told=True)

    async def _next(self, *, is_end_told: bool) -> list[Kept]:
        while True:
            if self._is_silent or not self._name:
                await self._begin()
            if self._is_doubtful:
                self._is_doubtful = False
                if not await self._is_served():
                    self._break()
                    continue
            if self._arrived:
                if self._is_behind:
                    self._check(await stream_head(self._connection, self._stream))
                    if not self._arrived:
                        continue
                return self._take()
            if self._has_expired and not is_end_told:
                self._has_expired = False
                await self._advance()
                return []
            self._pull()
            self._something.clear()
            if self._is_silent or self._is_doubtful:  # set before this could be woken by it
                continue
            if is_end_told and await self._is_at_end():
                return []
            try:
                async with asyncio.timeout(_SILENCE_S):
                    await self._something.wait()
            except TimeoutError:
                self._is_doubtful = True

    async def close(self) -> None:
        """Read nothing more; the consumer is dropped from the server."""
        for hook, hooks in (
            (self._break, self._connection.on_lost),
            (self._doubt, self._connection.on_cluster_change),
        ):
            if hook in hooks:
                hooks.remove(hook)
        self._drop()

    def _drop(self) -> None:
        self._break()
        name, self._name = self._name, ""
        if name:
            self._connection.tell(f"$JS.API.CONSUMER.DELETE.{self._stream}.{name}", b"")
        if self._subscription is not None:
            self._subscription.unsubscribe()
            self._subscription = None

    def _take(self) -> list[Kept]:
        taken, self._arrived = self._arrived, []
        self._taken += len(taken)
        self._is_behind = taken[-1].pending > 0
        self.after = max(self.after, taken[-1].seq)
        self._pull()
        return taken

    async def _begin(self) -> None:
        """Make a consumer behind what was taken. Raises: MessagesLost, Unavailable, JetStreamRefused."""
        self._drop()
        name = f"edge-{secrets.token_hex(8)}"
        subjects = self._subjects
        config: dict[str, object] = {
            "name": name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self.after + 1,
            "ack_policy": "none",
            "replay_policy": "instant",
            "filter_subjects": subjects,
            "inactive_threshold": int(_UNUSED_S * _NS),
            "mem_storage": True,
            "num_replicas": 1,
        }
        await _order(
            self._connection,
            f"CONSUMER.CREATE.{self._stream}.{name}",
            {"stream_name": self._stream, "config": config, "action": "create"},
        )
        self._name, self._taken, self._received = name, 0, 0
        # The server sends a stream's messages under their own subjects, so the common inbox cannot tell whose they are.
        self._subscription = self._connection.subscribe(
            f"{self._connection.inbox.prefix}{name}.*", partial(self._hear, name)
        )
        self._is_silent = self._has_expired = False
        head = await stream_head(self._connection, self._stream)
        self._check(head)
        if subjects is not self._subjects:  # others are wanted by now
            self._break()

    def _check(self, head: Head) -> None:
        """Compare what the stream has with what should come next. Raises: MessagesLost."""
        is_another = bool(self._created) and head.created != self._created
        self._created = head.created
        if is_another:
            self.after = 0
        elif head.first_seq > self.after + 1:
            self.after = head.first_seq - 1
        elif head.last_seq < self.after:
            self.after = head.last_seq
        else:
            return
        self._break()
        raise MessagesLost(is_another=is_another)

    def _pull(self) -> None:
        """Ask for more when less than half a window is underway or here."""
        if self._is_silent or not self._name:
            return
        if sum(self._pulls.values()) + len(self._arrived) > WINDOW // 2:
            return
        self._is_behind |= (
            not self._pulls
        )  # what came in between may have left the stream: not asked for, not sent
        inbox = f"{self._connection.inbox.prefix}{self._name}.{next(self._numbers)}"
        self._pulls[inbox] = WINDOW
        asked = {
            "batch": WINDOW,
            "max_bytes": WINDOW_BYTES,
            "expires": int(_EXPIRES_S * _NS),
            "idle_heartbeat": int(_HEARTBEAT_S * _NS),
        }
        try:
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
            self._connection.publish(subject, msgspec.json.encode(asked), inbox)
        except Unavailable:
            self._break()

    def _hear(self, name: str, message: Message) -> None:
        if name != self._name or not self._pulls:
            return
        if message.status == 0 and message.reply:
            inbox, left = next(iter(self._pulls.items()))  # the server serves the oldest first
            if left > 1:
                self._pulls[inbox] = left - 1
            else:
                del self._pulls[inbox]
            self._receive(message)
        elif message.status == NO_RESPONDERS:
            self._break()
        elif message.status != _HEARTBEAT:  # the request is over: its time, its bytes, or its consumer
            self._has_expired = self._pulls.pop(message.subject, 0) == WINDOW
        self._something.set()

    def _receive(self, message: Message) -> None:
        seq, number, pending = _place(message.reply)
        if number != self._received + 1:
            self._break()
            return
        self._received = number
        self._arrived.append(Kept(seq, message.payload, pending))

    async def _is_at_end(self) -> bool:
        """Tell whether everything that stood in the stream before this call was taken. Raises: Unavailable."""
        try:
            found = await _order(self._connection, f"CONSUMER.INFO.{self._stream}.{self._name}", {})
        except JetStreamRefused:
            self._break()
            return False
        is_sound = not self._is_silent and not self._arrived
        return is_sound and found.num_pending == 0 and found.delivered.consumer_seq == self._taken

    async def _is_served(self) -> bool:
        """Return whether the consumer still has a server. A new one would have to wait for the cluster's own leader."""
        subject = f"$JS.API.CONSUMER.INFO.{self._stream}.{self._name}"
        try:
            reply = await self._connection.ask(subject, b"", _SERVED_S, again_s=_SERVED_S / 3)
            return _ANSWER.decode(reply.payload).error is None
        except (Unavailable, msgspec.MsgspecError):
            return False

    async def _advance(self) -> None:
        """After a silence: everything up to the end of the stream is known, so that it may leave the stream."""
        head = await stream_head(self._connection, self._stream)
        if head.created == self._created and not self._arrived and await self._is_at_end():
            self.after = max(self.after, head.last_seq)

    def _doubt(self) -> None:
        """After a change of the cluster: the server of the consumer may be the one that left."""
        self._is_doubtful = True
        self._something.set()

    def _break(self) -> None:
        """Forget what was not taken: it comes again from a new consumer."""
        self._pulls.clear()
        self._arrived.clear()
        self._is_silent = True
        self._something.set()


def _place(reply: str) -> tuple[int, int, int]:
    """Read number in the stream, number in the consumer and what is pending from `$JS.ACK...` (with a domain or without)."""
    parts = reply.split(".")
    at = 5 if len(parts) < 11 else 7
    return int(parts[at]), int(parts[at + 1]), int(parts[at + 3])


async def _order(connection: Connection, what: str, asked: dict[str, object]) -> _Answer:
    return await give_order(connection, what, asked, _ANSWER)
