"""Send the log lines of this process to the stream LOGS, in batches that the stream acknowledges.

One batch is underway at a time. It is sent again under the same id until the stream has stored it; the stream drops a second
copy (`Nats-Msg-Id`), and the store does so by the batch's number, however late the copy comes. Meanwhile lines wait in the
buffer, which drops and counts them when it is full. Nothing here blocks the process: a batch costs one compression and one
message.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol

import msgspec

from broker.backoff import Backoff
from broker.compression import compress
from broker.jetstream.api import decode_ack
from broker.jetstream.errors import JetStreamError
from broker.nats.connection import NatsConnection
from broker.nats.protocol import MessageTooLong, headers
from broker.observability.log_buffer import LogBuffer
from broker.observability.observations import Observation
from broker.observability.observe import gauge, log_buffer, member_name, observe
from broker.subjects import log_lines
from schemas.errors import Unavailable
from schemas.logs import LogBatch

_EVERY_S = 1.0
_ANSWER_S = 5.0
_AGAIN_S = 1.5
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.2, 5.0
_LAST_MOMENT_S = 2.0


class LogLinesDropped(Observation, frozen=True):
    """Log lines of this process were not stored, because more were written than could be sent; its log file has them."""

    level: ClassVar[str] = "warning"
    count: int


class LogFeed:
    """Sends what a buffer holds from `start` to `close`."""

    def __init__(self, connection: NatsConnection, buffer: LogBuffer, every_s: float = _EVERY_S) -> None:
        self._connection, self._buffer, self._every_s = connection, buffer, every_s
        self._subject = log_lines(connection.servers[0].user)
        self._unsent: LogBatch | None = None
        self._task: asyncio.Task[None] | None = None
        self._reported = 0
        self._has_sent = False
        self._remove_gauges = [
            gauge("headwater_log_lines_waiting", "Log lines that wait to be sent.", lambda: buffer.waiting),
            gauge(
                "headwater_log_lines_dropped",
                "Log lines that were dropped since the start of the process.",
                lambda: buffer.dropped_total,
            ),
        ]  # fmt: skip

    def start(self) -> None:
        """Start to send."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="log feed")

    async def close(self) -> None:
        """Send what is there, for at most two seconds, and stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(TimeoutError, Unavailable):
            async with asyncio.timeout(_LAST_MOMENT_S):
                await self._send_all()
        for remove in self._remove_gauges:
            remove()

    async def _run(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while True:
            await asyncio.sleep(self._every_s)
            self._report_dropped()
            try:
                await self._send_all()
                backoff.reset()
            except Unavailable:  # the connection reports it; the lines wait
                await backoff.wait()

    async def _send_all(self) -> None:
        """Send batches until the buffer is empty. Raises: Unavailable, JetStreamError."""
        while True:
            if self._unsent is None:
                self._unsent = self._buffer.take(member_name())
            if self._unsent is None:
                return
            try:
                await self._send(self._unsent)
            except MessageTooLong:  # a server with a small max_payload, and lines that hardly compress
                self._buffer.drop(len(self._unsent.lines))
            self._unsent, self._has_sent = None, True

    async def _send(self, batch: LogBatch) -> None:
        """Send one batch and wait until the stream has stored it. Raises: Unavailable, JetStreamError."""
        head = headers({"Nats-Msg-Id": f"{batch.run}-{batch.number}"})
        payload = compress(msgspec.msgpack.encode(batch))
        reply = await self._connection.request(
            self._subject.name, payload, _ANSWER_S, again_s=_AGAIN_S, head=head
        )
        try:
            ack = decode_ack.decode(reply.payload)
        except msgspec.MsgspecError:
            raise Unavailable("the answer to log lines is not one of a stream") from None
        if ack.error is not None:
            raise JetStreamError(ack.error.err_code, ack.error.description)

    def _report_dropped(self) -> None:
        """Observe dropped lines; where no store ever took a line (no pool management runs), only the first time."""
        dropped = self._buffer.dropped_total - self._reported
        if dropped and (self._has_sent or not self._reported):
            self._reported += dropped
            observe(LogLinesDropped(dropped))


class Drainable(Protocol):
    """A process that runs steps before it stops."""

    def on_drain(self, step: Callable[[], Awaitable[object]]) -> None: ...


def send_lines(process: Drainable, connection: NatsConnection) -> None:
    """Send the log lines of this process over a connection until it drains, if they are stored."""
    buffer = log_buffer()
    if buffer is not None:
        feed = LogFeed(connection, buffer)
        process.on_drain(feed.close)
        feed.start()
