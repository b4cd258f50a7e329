"""JetStream: messages that the broker keeps until they are handled. Its JSON interface over our one connection.

Source: docs.nats.io, "JetStream wire API". Requests and answers are JSON on `$JS.API.`; a message of a consumer
arrives on a subscription of ours under its own subject, its reply field is where it is acknowledged; statuses are those of its NATS headers.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from broker.connection import Connection
from broker.wire import Message
from schemas.errors import Unavailable

_API = "$JS.API."
_NAME_IN_USE = 10058
_NS = 1_000_000_000
_PULL_S = 20.0
_PAUSE_S = 0.25

ACK, REJECT, PROGRESS = b"+ACK", b"+TERM", b"+WPI"


class JetStreamRefused(Unavailable):
    """JetStream refused an order; `code` is its own number for the reason."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"JetStream refused: {description}")
        self.code = code


class _Error(Struct):
    err_code: int = 0
    description: str = ""


class _Reply(Struct):
    error: _Error | None = None
    seq: int = 0


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
    config = {
        "name": name,
        "subjects": list(subjects),
        "retention": "limits",
        "discard": "old",
        "storage": "memory" if in_memory else "file",
        "max_age": int(max_age_s * _NS),
        "max_bytes": max_bytes,
        "duplicate_window": int(min(duplicate_window_s, max_age_s or duplicate_window_s) * _NS),
    }
    try:
        await _order(connection, f"STREAM.CREATE.{name}", config)
    except JetStreamRefused as refused:
        if refused.code != _NAME_IN_USE:
            raise
        await _order(connection, f"STREAM.UPDATE.{name}", config)


async def publish(
    connection: Connection, subject: str, payload: bytes, *, id: str = "", timeout: float = 5.0
) -> int:
    """Publish and wait until the stream has it; give its sequence number.

    Two messages with the same `id` within the stream's window are kept once. Raises: Unavailable, JetStreamRefused;
    then the message may be kept or not.
    """
    headers = f"NATS/1.0\r\nNats-Msg-Id: {_one_line(id)}\r\n\r\n".encode() if id else b""
    answer = await connection.ask(subject, payload, timeout, headers)
    return _checked(answer.payload).seq


async def ensure_consumer(
    connection: Connection,
    stream: str,
    durable: str,
    subject: str,
    *,
    ack_wait_s: float,
    only_new: bool,
    max_unacknowledged: int,
) -> None:
    """Make a durable consumer: its place in the stream outlives us and is shared by all that pull from it.

    Raises: Unavailable, JetStreamRefused.
    """
    config = {
        "durable_name": durable,
        "filter_subject": subject,
        "ack_policy": "explicit",
        "ack_wait": int(ack_wait_s * _NS),
        "max_ack_pending": max_unacknowledged,
        "max_deliver": -1,
        "deliver_policy": "new" if only_new else "all",
        "replay_policy": "instant",
    }
    await _order(
        connection, f"CONSUMER.DURABLE.CREATE.{stream}.{durable}", {"stream_name": stream, "config": config}
    )


class Pull:
    """Gets the messages of a durable consumer, over reconnects of either side, until closed.

    Those that are here and not done yet are kept ours: JetStream is told in time that they are being worked on.
    """

    def __init__(
        self, connection: Connection, stream: str, durable: str, batch: int, ack_wait_s: float
    ) -> None:
        self._connection = connection
        self._subject = f"{_API}CONSUMER.MSG.NEXT.{stream}.{durable}"
        self._batch = batch
        self._arrived: deque[Message] = deque()
        self._wake = asyncio.Event()
        self._in_hand: Message | None = None
        self._due = 0
        self._keep_s = ack_wait_s / 3
        self._inbox = connection.inbox.apart()
        self._listening = connection.subscribe(self._inbox, self._take)
        connection.on_lost.append(self._lose)
        self._timer = asyncio.get_running_loop().call_later(self._keep_s, self._keep)

    async def next(self) -> Message:
        """Give the next message. It comes again unless it is told to be done."""
        while not self._arrived:
            self._wake.clear()
            if self._due <= 0:
                await self._order_more()
            try:
                async with asyncio.timeout(_PULL_S + 2):
                    await self._wake.wait()
            except TimeoutError:
                self._due = 0
        self._in_hand = self._arrived.popleft()
        return self._in_hand

    def done(self, message: Message, verdict: bytes) -> None:
        """Tell JetStream what became of a message: `ACK`, `REJECT` or `again(...)`."""
        self._in_hand = None
        self._connection.tell(message.reply, verdict)

    def close(self) -> None:
        """Hear nothing more. What is here and not done comes again."""
        self._timer.cancel()
        self._listening.unsubscribe()
        self._connection.on_lost.remove(self._lose)

    def _keep(self) -> None:
        for message in (*self._arrived, *([self._in_hand] if self._in_hand else [])):
            self._connection.tell(message.reply, PROGRESS)
        self._timer = asyncio.get_running_loop().call_later(self._keep_s, self._keep)

    async def _order_more(self) -> None:
        order = msgspec.json.encode({"batch": self._batch, "expires": int(_PULL_S * _NS)})
        while not self._connection.tell(self._subject, order, self._inbox):
            await self._connection.connected()
        self._due = self._batch

    def _take(self, message: Message) -> None:
        if not message.status:
            self._due -= 1
            self._arrived.append(message)
            self._wake.set()
        elif message.status in (404, 408):  # the order is over: nothing there, or not in time
            self._due = 0
            self._wake.set()
        elif message.status >= 400:  # the order is over: the consumer moves or is gone
            self._due = 0
            asyncio.get_running_loop().call_later(_PAUSE_S, self._wake.set)

    def _lose(self) -> None:
        """After a disconnect: what is here comes again, and has to be ordered anew."""
        self._arrived.clear()
        self._due = 0
        self._wake.set()


def again(delay_s: float) -> bytes:
    """Give the acknowledgement that asks for the message once more after a while."""
    return b"-NAK " + msgspec.json.encode({"delay": int(delay_s * _NS)})


async def _order(connection: Connection, what: str, detail: dict[str, Any]) -> None:
    answer = await connection.ask(_API + what, msgspec.json.encode(detail))
    _checked(answer.payload)


def _checked(payload: bytes) -> _Reply:
    try:
        reply = msgspec.json.decode(payload, type=_Reply)
    except msgspec.DecodeError:
        raise Unavailable("JetStream answered in a form that is not understood") from None
    if reply.error is not None:
        raise JetStreamRefused(reply.error.err_code, reply.error.description)
    return reply


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
