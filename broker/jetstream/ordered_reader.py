"""Read a stream in order from a sequence number on, over the hot-path connection: stored messages first, then new ones.

A reader creates an ephemeral consumer on the server, without acknowledgements, and pulls a window of messages from
it. It pulls more only as fast as they are taken, so a backlog stays in the stream and not in this process. Every
message carries its number in the stream and in the consumer. The consumer is created again behind the last taken
message when a number is missing, when the server is silent, when the connection is lost, or when the consumer's
server left the cluster. So a message is neither lost nor repeated while the stream has it. When the stream no longer
has it, `MessagesLost` is raised.

Needed rights: `$JS.API.` STREAM.INFO, STREAM.MSG.GET, CONSUMER.CREATE, CONSUMER.INFO, CONSUMER.MSG.NEXT,
CONSUMER.DELETE of that stream. Source: NATS documentation, "JetStream wire API"; ADR-13 (pull requests), ADR-37
(ordered consumers).
"""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial
from itertools import count

import msgspec
from msgspec import Struct, field

from broker.jetstream.api import JetStreamFault, jetstream_request
from broker.jetstream.errors import JetStreamError
from broker.jetstream.streams import StreamHead, stream_head
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NO_RESPONDERS, NatsMessage
from broker.nats.subscription import NatsSubscription
from schemas.errors import Unavailable

WINDOW = 256
"""Messages that one pull request asks for."""
WINDOW_BYTES = 8 * 1024 * 1024
_HEARTBEAT_S = 0.25
_SILENCE_S = 0.3
"""After so long without a message or a heartbeat the consumer is checked: it exists on one server of a cluster only."""
_SERVED_S = 0.2
_EXPIRES_S = 30.0
_UNUSED_S = 60.0
_NS = 1_000_000_000
_HEARTBEAT = 100


class MessagesLost(Exception):
    """Messages left the stream before they were read. A reader that continues gets the remaining ones.

    `is_another`: the stream was deleted and created again, and its numbers start again.
    """

    def __init__(self, *, is_another: bool) -> None:
        super().__init__("messages left the stream before they were read")
        self.is_another = is_another


class StoredMessage(Struct, frozen=True, gc=False):
    """A message of the stream; `pending` more were stored when it was sent."""

    seq: int
    payload: bytes
    pending: int


class _Delivered(Struct, frozen=True):
    consumer_seq: int = 0


class _ConsumerResponse(Struct, frozen=True):
    error: JetStreamFault | None = None
    num_pending: int = 0
    delivered: _Delivered = field(default_factory=_Delivered)


_RESPONSE = msgspec.json.Decoder(_ConsumerResponse)


class StreamReader:
    """Reads the messages of some subjects of a stream in order, starting behind the sequence number `after`.

    `after` grows with the messages that were taken. Use it from one task.
    """

    def __init__(self, connection: NatsConnection, stream: str, subjects: Sequence[str], after: int) -> None:
        self._connection, self._stream = connection, stream
        self._subjects = list(subjects)
        self.after = after
        self._created = ""
        self._name = ""
        self._taken = self._received = 0
        self._arrived: list[StoredMessage] = []
        self._pulls: dict[str, int] = {}
        self._numbers = count(1)
        self._subscription: NatsSubscription | None = None
        self._is_silent = False
        self._has_expired = False
        self._is_behind = self._is_doubtful = False
        self._wake = asyncio.Event()
        connection.on_lost.append(self._break)
        connection.on_cluster_change.append(self._doubt)

    def watch(self, subjects: Sequence[str]) -> None:
        """Change the subjects: from now on everything above `after` on these is read."""
        if list(subjects) != self._subjects:
            self._subjects = list(subjects)
            self._break()

    async def next(self) -> list[StoredMessage]:
        """Wait for messages and return those that have arrived; an empty list when a pull request expired without one.

        Raises: MessagesLost once, after which reading goes on with what there is; Unavailable, JetStreamError.
        """
        return await self._next(ends_when_empty=False)

    async def rest(self) -> list[StoredMessage]:
        """Return messages that have arrived; an empty list when all that were stored before this call were returned.

        Raises: as `next`.
        """
        return await self._next(ends_when_empty=True)

    async def _next(self, *, ends_when_empty: bool) -> list[StoredMessage]:
        while True:
            if self._is_silent or not self._name:
                await self._create_consumer()
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
            if self._has_expired and not ends_when_empty:
                self._has_expired = False
                await self._advance()
                return []
            self._pull()
            self._wake.clear()
            if self._is_silent or self._is_doubtful:  # set between the check above and `clear`
                continue
            if ends_when_empty and await self._is_at_end():
                return []
            try:
                async with asyncio.timeout(_SILENCE_S):
                    await self._wake.wait()
            except TimeoutError:
                self._is_doubtful = True

    async def close(self) -> None:
        """Stop reading, and delete the consumer from the server."""
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
            self._connection.try_publish(f"$JS.API.CONSUMER.DELETE.{self._stream}.{name}", b"")
        if self._subscription is not None:
            self._subscription.unsubscribe()
            self._subscription = None

    def _take(self) -> list[StoredMessage]:
        messages, self._arrived = self._arrived, []
        self._taken += len(messages)
        self._is_behind = messages[-1].pending > 0
        self.after = max(self.after, messages[-1].seq)
        self._pull()
        return messages

    async def _create_consumer(self) -> None:
        """Create a consumer behind the last taken message. Raises: MessagesLost, Unavailable, JetStreamError."""
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
        await _request(
            self._connection,
            f"CONSUMER.CREATE.{self._stream}.{name}",
            {"stream_name": self._stream, "config": config, "action": "create"},
        )
        self._name, self._taken, self._received = name, 0, 0
        # The server sends messages under their own subjects, so the shared inbox could not tell which reader they are for.
        self._subscription = self._connection.subscribe(
            f"{self._connection.inbox.prefix}{name}.*", partial(self._receive, name)
        )
        self._is_silent = self._has_expired = False
        head = await stream_head(self._connection, self._stream)
        self._check(head)
        if subjects is not self._subjects:  # `watch` has changed them meanwhile
            self._break()

    def _check(self, head: StreamHead) -> None:
        """Compare the numbers of the stream with the next one to read. Raises: MessagesLost."""
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
        """Send a pull request when less than half a window is underway or waits to be taken."""
        if self._is_silent or not self._name:
            return
        if sum(self._pulls.values()) + len(self._arrived) > WINDOW // 2:
            return
        self._is_behind |= (
            not self._pulls
        )  # without a pull request nothing was sent, and messages may have left the stream meanwhile
        inbox = f"{self._connection.inbox.prefix}{self._name}.{next(self._numbers)}"
        self._pulls[inbox] = WINDOW
        request = {
            "batch": WINDOW,
            "max_bytes": WINDOW_BYTES,
            "expires": int(_EXPIRES_S * _NS),
            "idle_heartbeat": int(_HEARTBEAT_S * _NS),
        }
        try:
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
            self._connection.publish(subject, msgspec.json.encode(request), inbox)
        except Unavailable:
            self._break()

    def _receive(self, name: str, message: NatsMessage) -> None:
        if name != self._name or not self._pulls:
            return
        if message.status == 0 and message.reply:
            inbox, left = next(iter(self._pulls.items()))  # the server answers the oldest request first
            if left > 1:
                self._pulls[inbox] = left - 1
            else:
                del self._pulls[inbox]
            self._add(message)
        elif message.status == NO_RESPONDERS:
            self._break()
        elif message.status != _HEARTBEAT:  # the pull request is over: its time, its bytes, or its consumer
            self._has_expired = self._pulls.pop(message.subject, 0) == WINDOW
        self._wake.set()

    def _add(self, message: NatsMessage) -> None:
        seq, number, pending = _numbers_of(message.reply)
        if number != self._received + 1:  # a message was lost on the way: read again from the last one taken
            self._break()
            return
        self._received = number
        self._arrived.append(StoredMessage(seq, message.payload, pending))

    async def _is_at_end(self) -> bool:
        """Return whether everything that was stored before this call was taken. Raises: Unavailable."""
        try:
            info = await _request(self._connection, f"CONSUMER.INFO.{self._stream}.{self._name}", {})
        except JetStreamError:
            self._break()
            return False
        is_sound = not self._is_silent and not self._arrived
        return is_sound and info.num_pending == 0 and info.delivered.consumer_seq == self._taken

    async def _is_served(self) -> bool:
        """Return whether the consumer still exists on a server. Creating one would have to wait for the cluster's leader."""
        subject = f"$JS.API.CONSUMER.INFO.{self._stream}.{self._name}"
        try:
            reply = await self._connection.request(subject, b"", _SERVED_S, again_s=_SERVED_S / 3)
            return _RESPONSE.decode(reply.payload).error is None
        except (Unavailable, msgspec.MsgspecError):
            return False

    async def _advance(self) -> None:
        """After a pull request without messages: move `after` to the end of the stream, so that older messages may leave it."""
        head = await stream_head(self._connection, self._stream)
        if head.created == self._created and not self._arrived and await self._is_at_end():
            self.after = max(self.after, head.last_seq)

    def _doubt(self) -> None:
        """After a change of the cluster: check the consumer, whose server may be the one that left."""
        self._is_doubtful = True
        self._wake.set()

    def _break(self) -> None:
        """Drop messages that were not taken; a new consumer delivers them again."""
        self._pulls.clear()
        self._arrived.clear()
        self._is_silent = True
        self._wake.set()


def _numbers_of(reply: str) -> tuple[int, int, int]:
    """Parse stream number, consumer number and pending count from `$JS.ACK...` (with or without a domain)."""
    parts = reply.split(".")
    at = 5 if len(parts) < 11 else 7
    return int(parts[at]), int(parts[at + 1]), int(parts[at + 3])


async def _request(
    connection: NatsConnection, operation: str, parameters: dict[str, object]
) -> _ConsumerResponse:
    return await jetstream_request(connection, operation, parameters, _RESPONSE)
