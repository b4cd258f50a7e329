"""Publish into one stream in strict order, pipelined, each message exactly once, across failures of the broker.

Each message has an id, and ids grow (`order` compares them). Each message names its predecessor in the stream
(`Nats-Expected-Last-Msg-Id`; after a failure the sequence number). So when the stream misses one message it rejects
all that follow it, and no message can be stored out of order. Up to `_WINDOW` messages are underway without an
acknowledgement.

On any failure (a rejection, a lost connection, no acknowledgement within `_ACK_S`) nothing new is sent. The stream's
last id is queried; messages up to it are stored, and the others are sent again in order. Danger: this assumes a
single writer. A second one breaks the chain of predecessors.

Each message carries a mark, a number that grows; `confirmed` is the mark up to which everything is in the stream.
Measured: 7 us of CPU for a message of 200 bytes (57,000 a second); `publish_async` of nats-py takes 22 us.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec

from broker.backoff import Backoff
from broker.jetstream.api import JetStreamFault, decode_ack
from broker.jetstream.errors import JetStreamError
from broker.jetstream.streams import NO_STREAM, stream_state
from broker.nats import protocol
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.observability.observations import BrokerComplained
from broker.observability.observe import observe
from schemas.errors import Unavailable

_WINDOW = 512
_WINDOW_BYTES = 8 * 1024 * 1024
_ACK_S = 1.0
_AFTER_CHANGE_S = 0.1
"""How long after a change of the cluster an earlier message may still be acknowledged."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 0.5
_ORDER_FAULTS = (10070, 10071)
"""Wrong last message id, wrong last sequence: an earlier message is missing, or one that was sent again arrived twice."""
HEADER_BYTES = 512
"""Bytes of a message that its headers may take."""
_ID_CHARACTERS = re.compile(r"[!-~]{1,100}")


@dataclass(slots=True)
class _PendingMessage:
    """A message that is not known to be in the stream."""

    id: str
    subject: str
    payload: bytes = field(repr=False)
    mark: int
    is_done: bool = False
    inbox: str = ""
    sent_at: float = 0.0


class OrderedPublisher:
    """Writes into a stream as its only writer: `async with OrderedPublisher(...) as publisher`.

    `last_seq` and `last_id` are those of the stream now. `failed` is done when the publisher cannot continue: the
    stream is gone. `on_stored` is called for each stored message, `on_rejected` for each rejection except those for
    the order, and `on_unanswered` when the server answers queries about the stream but does not acknowledge messages.
    """

    def __init__(
        self,
        connection: NatsConnection,
        stream: str,
        *,
        order: Callable[[str], Any],
        last_seq: int,
        last_id: str,
        confirmed: int,
        on_confirmed: Callable[[int], None] = lambda _: None,
        on_stored: Callable[[], None] = lambda: None,
        on_rejected: Callable[[int, str], None] = lambda code, description: None,
        on_unanswered: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection, self._stream, self._order = connection, stream, order
        self._loop = asyncio.get_running_loop()
        self._sequence: int | None = last_seq
        self._previous = last_id
        self.confirmed = confirmed
        self._on_confirmed, self._on_stored = on_confirmed, on_stored
        self._on_rejected, self._on_unanswered = on_rejected, on_unanswered
        self._stalled_at = -1
        self._stalls = Backoff(2 * _FIRST_PAUSE_S, _LAST_PAUSE_S, jitter=0.0)
        self._pending: deque[_PendingMessage] = deque()
        self._bytes = 0
        self._capacity = asyncio.Event()
        self._capacity.set()
        self._is_broken = self._is_closed = False
        self._repairing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._complaint = ""
        self._checking: asyncio.TimerHandle | None = None
        self.failed: asyncio.Future[None] = self._loop.create_future()

    async def __aenter__(self) -> Self:
        self._connection.on_cluster_change.append(self._check_soon)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        self._connection.on_cluster_change.remove(self._check_soon)
        self._close_inboxes()
        if self._checking is not None:
            self._checking.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._repairing is not None:
            self._repairing.cancel()
            await asyncio.gather(self._repairing, return_exceptions=True)
        if self.failed.done():
            self.failed.exception()  # mark it as retrieved
        else:
            self.failed.cancel()

    @property
    def unconfirmed(self) -> int:
        """The number of messages that are not known to be in the stream."""
        return len(self._pending)

    @property
    def max_payload(self) -> int:
        """The largest payload of a message in bytes."""
        return self._connection.max_payload - HEADER_BYTES

    async def publish(self, subject: str, payload: bytes, *, id: str, mark: int) -> None:
        """Send a message; wait while too many are underway. It is stored unless the publisher is closed before.

        Raises: ValueError for an id that a header cannot hold; protocol.MessageTooLong; Unavailable when it has failed.
        """
        if not _ID_CHARACTERS.fullmatch(id):
            raise ValueError("an id is one word")
        if len(payload) > self.max_payload:
            raise protocol.MessageTooLong(len(payload), self.max_payload)
        while self._is_broken or len(self._pending) >= _WINDOW or self._bytes >= _WINDOW_BYTES:
            self._capacity.clear()
            await self._capacity.wait()
            if self.failed.done():
                self.failed.result()
        entry = _PendingMessage(id, subject, payload, mark)
        self._pending.append(entry)
        self._bytes += len(payload)
        self._send(entry)

    def advance(self, mark: int) -> None:
        """Raise the mark of the last published message: when it is stored, everything up to `mark` is confirmed."""
        if self._pending:
            self._pending[-1].mark = max(self._pending[-1].mark, mark)
        else:
            self._confirm(mark)

    async def settled(self) -> None:
        """Wait until every published message is in the stream. Raises: Unavailable when the publisher has failed."""
        while self._pending:
            self._capacity.clear()
            await self._capacity.wait()
            if self.failed.done():
                self.failed.result()

    def _send(self, entry: _PendingMessage) -> None:
        head = [f"NATS/1.0\r\nNats-Msg-Id: {entry.id}\r\n"]
        if self._sequence is not None:
            head.append(f"Nats-Expected-Last-Sequence: {self._sequence}\r\n")
        else:
            head.append(f"Nats-Expected-Last-Msg-Id: {self._previous}\r\n")
        head.append("\r\n")
        entry.inbox = self._connection.inbox.open(partial(self._take_ack, entry))
        entry.sent_at = self._loop.time()
        self._previous, self._sequence = entry.id, None
        if self._timer is None:
            self._timer = self._loop.call_later(_ACK_S, self._check_oldest)
        try:
            self._connection.publish(entry.subject, entry.payload, entry.inbox, "".join(head).encode())
        except Unavailable:
            self._break()

    def _take_ack(self, entry: _PendingMessage, message: NatsMessage) -> None:
        self._connection.inbox.close(entry.inbox)
        entry.inbox = ""
        try:
            ack = decode_ack.decode(message.payload) if not message.status else None
        except msgspec.MsgspecError:
            ack = None
        if ack is None or ack.error is not None or not ack.seq:
            if ack is not None and ack.error is not None and ack.error.err_code not in _ORDER_FAULTS:
                self._on_rejected(ack.error.err_code, ack.error.description)
                self._report(ack.error)
            self._break()
            return
        entry.is_done = True
        self._on_stored()
        self._take_done()

    def _take_done(self) -> None:
        mark = -1
        while self._pending and self._pending[0].is_done:
            entry = self._pending.popleft()
            self._bytes -= len(entry.payload)
            mark = entry.mark
        if mark >= 0:
            self._complaint = ""
            self._confirm(mark)
            self._capacity.set()

    def _confirm(self, mark: int) -> None:
        if mark > self.confirmed:
            self.confirmed = mark
            self._on_confirmed(mark)

    def _check_oldest(self) -> None:
        """Start a repair when the oldest message has waited too long for its acknowledgement."""
        self._timer = None
        if not self._pending or self._is_broken:
            return
        due = self._pending[0].sent_at + _ACK_S
        if due <= self._loop.time():
            self._break()
        else:
            self._timer = self._loop.call_at(due, self._check_oldest)

    def _check_soon(self) -> None:
        """After a change of the cluster: a message that was sent to a leader that is gone will not be acknowledged."""
        if self._checking is not None:
            self._checking.cancel()
        self._checking = self._loop.call_later(_AFTER_CHANGE_S, self._check, self._loop.time())

    def _check(self, changed_at: float) -> None:
        self._checking = None
        if self._pending and self._pending[0].sent_at <= changed_at:
            self._break()

    def _report(self, fault: JetStreamFault) -> None:
        if fault.description != self._complaint:
            self._complaint = fault.description
            observe(BrokerComplained(f"stream {self._stream}: {fault.description}"))

    def _break(self) -> None:
        """Stop sending and start a repair: messages underway count as lost until the stream's last id is known."""
        if self._is_broken or self._is_closed:
            return
        self._is_broken = True
        self._close_inboxes()
        if (
            self._repairing is None or self._repairing.done()
        ):  # a running repair sees the flag and repeats its loop
            self._repairing = self._loop.create_task(self._repair())
            self._repairing.add_done_callback(self._repaired)

    def _close_inboxes(self) -> None:
        for entry in self._pending:
            if entry.inbox:
                self._connection.inbox.close(entry.inbox)
                entry.inbox = ""

    def _repaired(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled() or self.failed.done():
            return
        if (error := task.exception()) is not None:
            self.failed.set_exception(error)
            self._capacity.set()

    async def _repair(self) -> None:
        """Query the stream's last id and send the remaining messages again, until that succeeds."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while self._is_broken:
            await self._connection.connected()
            try:
                await self._send_again()
            except JetStreamError as error:
                if error.code == NO_STREAM:
                    raise
                await backoff.wait()
            except Unavailable:
                await backoff.wait()
        self._capacity.set()

    async def _send_again(self) -> None:
        await (
            self._connection.flush()
        )  # messages underway have arrived now, or were lost with their connection
        state = await stream_state(self._connection, self._stream)
        if state is None:
            raise JetStreamError(NO_STREAM, "the stream is gone")
        await self._wait_if_stalled(state.last_seq)
        if state.last_id:
            last = self._order(state.last_id)
            for entry in self._pending:
                entry.is_done = entry.is_done or self._order(entry.id) <= last
            self._take_done()
        self._sequence, self._previous = state.last_seq, state.last_id
        self._is_broken = False
        for entry in self._pending:
            entry.is_done = False
            self._send(entry)
            if self._is_broken:
                return

    async def _wait_if_stalled(self, last_seq: int) -> None:
        """Wait before the messages are sent again, if the stream has stored nothing since the last repair.

        A stream whose store is broken does not answer the first message and rejects the following ones at once,
        because their predecessor is missing. Without a pause the repair loop would run as fast as the server answers.
        """
        if last_seq != self._stalled_at or not self._pending:
            self._stalled_at = last_seq
            self._stalls.reset()
            return
        self._on_unanswered()
        await self._stalls.wait()
